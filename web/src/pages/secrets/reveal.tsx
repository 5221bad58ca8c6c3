import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, type FormEvent, type ReactElement } from "react";
import { readSecretValue } from "#contract/secrets.ts";
import { ACTS } from "../../api/secrets.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { secretWords } from "../../strings/secrets.ts";
import { visibleText } from "../../strings/format.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { FactList, TextFact } from "../../ui/fact-list.tsx";
import { Failure } from "../../ui/failure.tsx";
import { useClock } from "../../ui/timers.ts";

const text = secretWords.reveal;
const LOGGED_MS = 1_500;
const SHOWN_MS = 30_000;
/** What a header can carry. */
const PURPOSE = /^[\x20-\x7e\u00a0-\u00ff]{10,200}$/;

interface Shown {
  readonly value: string;
  readonly auditId: string;
  readonly until: number;
}

const Value = ({ shown, onHide }: { readonly shown: Shown; readonly onHide: () => void }): ReactElement => {
  const now = useClock(500);
  const left = Math.max(0, Math.ceil((shown.until - now.getTime()) / 1000));
  return (
    <div className="sp-stack">
      <pre className="sp-code" tabIndex={0} aria-label={text.title}>
        {shown.value === "" ? text.empty : visibleText(shown.value)}
      </pre>
      <div className="sp-actions">
        <Button data-hide="" variant="default" autoFocus onClick={onHide}>
          {text.hide}
        </Button>
        <span className="sp-small sp-dim">{text.left(left)}</span>
      </div>
      <FactList isSmall>
        <TextFact name={text.audit} text={shown.auditId} isCode />
      </FactList>
    </div>
  );
};

/**
 * The one way to a value: asked for with a purpose, held by this component alone, gone after 30 seconds, when the window is left, and with
 * the component. It is in no cache, no address and no draft.
 */
export const Reveal = ({ uri, version }: { readonly uri: string; readonly version: string | undefined }): ReactElement => {
  const read = useEndpoint(readSecretValue);
  const { canReveal } = useSession();
  const [purpose, setPurpose] = useState("");
  const [hasIssue, setIssue] = useState(false);
  const [shown, setShown] = useState<Shown>();
  const queries = useQueryClient();
  // The answer is handed to the component, so that what is remembered of the call holds no value.
  const asking = useMutation({
    gcTime: 0,
    mutationFn: async (): Promise<void> => {
      const { value, audit_id } = await read.ask({ query: { uri, version }, headers: { "x-purpose": purpose.trim() } });
      if (document.visibilityState === "hidden") return;
      setShown({
        value: typeof value === "string" ? value : JSON.stringify(value, undefined, 2),
        auditId: audit_id,
        until: Date.now() + SHOWN_MS,
      });
    },
    // That it was seen, or refused, is on record in a moment: acts are read from a log that is written behind.
    onSettled: () => void setTimeout(() => void queries.invalidateQueries({ queryKey: ACTS }), LOGGED_MS),
  });
  useEffect(() => {
    if (shown === undefined) return undefined;
    const hide = (): void => setShown(undefined);
    const timer = setTimeout(hide, SHOWN_MS);
    window.addEventListener("blur", hide);
    window.addEventListener("pagehide", hide);
    document.addEventListener("visibilitychange", hide);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("blur", hide);
      window.removeEventListener("pagehide", hide);
      document.removeEventListener("visibilitychange", hide);
    };
  }, [shown]);
  if (!canReveal) return <p className="sp-dim">{text.off}</p>;
  if (shown !== undefined) return <Value shown={shown} onHide={() => setShown(undefined)} />;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const isFine = PURPOSE.test(purpose.trim());
    setIssue(!isFine);
    if (isFine && !asking.isPending) asking.mutate();
  };
  return (
    <form className="sp-form" onSubmit={submit} noValidate>
      <TextInput
        label={text.purpose}
        description={text.purposeHint}
        required
        maxLength={200}
        value={purpose}
        autoComplete="off"
        error={hasIssue ? text.purposeIssue : undefined}
        onChange={(event) => setPurpose(event.currentTarget.value)}
      />
      {asking.isError ? <Failure error={asking.error} /> : null}
      <div>
        <ActButton type="submit" isBusy={asking.isPending}>
          {text.go}
        </ActButton>
      </div>
    </form>
  );
};
