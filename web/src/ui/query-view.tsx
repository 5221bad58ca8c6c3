import { Button, Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { GatewayError } from "../model/gateway-error.ts";
import { words } from "../strings/en.ts";
import { Failure } from "./failure.tsx";
import { useDelayed } from "./timers.ts";

/** Lines in the shape of what is coming; nothing for the first tenth of a second. */
export const Waiting = ({
  rows = 3,
  service,
  onCancel,
}: {
  readonly rows?: number;
  readonly service?: string;
  readonly onCancel?: () => void;
}): ReactElement | null => {
  const isVisible = useDelayed(true, 100);
  const isLong = useDelayed(true, 3_000);
  if (!isVisible) return null;
  return (
    <div className="sp-stack" aria-busy="true">
      {Array.from({ length: rows }, (_nothing, index) => (
        <Skeleton key={index} height={22} />
      ))}
      <span className="sp-small sp-dim" role="status">
        {isLong && service !== undefined ? words.common.waitingFor(service) : words.common.loading}
        {isLong && onCancel !== undefined ? (
          <>
            {" "}
            <Button variant="subtle" size="compact-xs" onClick={onCancel}>
              {words.common.cancel}
            </Button>
          </>
        ) : null}
      </span>
    </div>
  );
};

/** The states of something that is read: waiting, failed, there. What is there stays while it is read again. */
export const QueryView = <T,>({
  query,
  service,
  rows,
  onCancel,
  children,
}: {
  readonly query: UseQueryResult<T>;
  readonly service: string;
  readonly rows?: number;
  readonly onCancel?: () => void;
  readonly children: (value: T) => ReactNode;
}): ReactElement => {
  const again = (): void => void query.refetch();
  if (query.data !== undefined && !isFinal(query.error)) {
    return (
      <>
        {query.isError ? <Failure error={query.error} onRetry={again} /> : null}
        {children(query.data)}
      </>
    );
  }
  if (query.isError) return <Failure error={query.error} onRetry={again} />;
  return <Waiting rows={rows} service={service} onCancel={onCancel} />;
};

/** After these nothing that was shown before may stay: it is no longer for this person. */
const isFinal = (error: unknown): boolean => error instanceof GatewayError && [401, 403, 404].includes(error.problem.status);
