import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { readWaiting } from "#contract/waiting.ts";
import { useEndpoint } from "../api/use-endpoint.ts";
import { WaitingCounts } from "./waiting-counts.ts";

/** What time alone moves, such as a delegation that is about to end. */
const EVERY_MS = 300_000;

/** Reads what waits for the person in one request, again when the streams tell of it. */
export const WaitingProvider = ({ children }: { readonly children: ReactNode }): ReactElement => {
  const { data } = useQuery({ ...useEndpoint(readWaiting).query(), staleTime: 60_000, refetchInterval: EVERY_MS });
  return <WaitingCounts value={data ?? {}}>{children}</WaitingCounts>;
};
