import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactElement } from "react";
import { readReplay, startReplay, stopReplay } from "#contract/replay.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { formatCount } from "../../strings/format.ts";
import { policyWords } from "../../strings/policies.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ClassList } from "./class-list.tsx";
import { emptyReplay, replayAskOf, type ReplayAsk, type ReplayFields } from "./replay-ask.ts";

const route = getRouteApi("/policies/versions/$version");
const REREAD_MS = 700;
const view = { type: "policies", action: "view" };

const Form = ({ version, onStarted }: { readonly version: string; readonly onStarted: (id: string) => void }): ReactElement => {
  const [fields, setFields] = useState<ReplayFields>(emptyReplay);
  const [hasTried, setTried] = useState(false);
  const start = useEndpoint(startReplay);
  const starting = useMutation({
    mutationFn: async (ask: ReplayAsk) => await start.ask({ body: ask }),
    onSuccess: (reply) => onStarted(reply.replay_id),
  });
  const set = (more: Partial<ReplayFields>): void => setFields({ ...fields, ...more });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    const ask = replayAskOf(version, fields, new Date());
    if (ask !== undefined && !starting.isPending) starting.mutate(ask);
  };
  const hasIssue = hasTried && replayAskOf(version, fields, new Date()) === undefined;
  return (
    <form className="sp-stack" onSubmit={submit} noValidate>
      <div className="sp-filters">
        <NativeSelect
          label={policyWords.replay.since}
          value={fields.span}
          data={Object.entries(policyWords.replay.spans).map(([value, label]) => ({ value, label }))}
          onChange={(event) => set({ span: event.currentTarget.value as ReplayFields["span"] })}
        />
        <TextInput
          label={policyWords.replay.subject}
          value={fields.subject}
          onChange={(event) => set({ subject: event.currentTarget.value })}
        />
        <TextInput
          label={policyWords.replay.action}
          value={fields.action}
          onChange={(event) => set({ action: event.currentTarget.value })}
        />
        <NativeSelect
          label={policyWords.replay.verdict}
          value={fields.verdict}
          data={[
            { value: "any", label: policyWords.replay.anyVerdict },
            { value: "allowed", label: policyWords.replay.wasAllowed },
            { value: "denied", label: policyWords.replay.wasDenied },
          ]}
          onChange={(event) => set({ verdict: event.currentTarget.value as ReplayFields["verdict"] })}
        />
        <TextInput
          label={policyWords.replay.limit}
          inputMode="numeric"
          value={fields.limit}
          error={hasIssue ? policyWords.replay.limitIssue : undefined}
          onChange={(event) => set({ limit: event.currentTarget.value })}
        />
        <ActButton type="submit" isBusy={starting.isPending}>
          {policyWords.replay.start}
        </ActButton>
      </div>
      {starting.isError ? <Failure error={starting.error} /> : null}
    </form>
  );
};

const Running = ({ id, onAgain }: { readonly id: string; readonly onAgain: () => void }): ReactElement => {
  const stop = useEndpoint(stopReplay);
  const queries = useQueryClient();
  const reading = useEndpoint(readReplay).query({ params: { id } });
  const query = useQuery({ ...reading, refetchInterval: ({ state }) => (state.data?.state === "running" ? REREAD_MS : false) });
  const stopping = useMutation({
    mutationFn: async () => await stop.ask({ params: { id } }),
    onSettled: async () => await queries.invalidateQueries(reading),
  });
  const text = policyWords.replay;
  return (
    <QueryView query={query} service="pdp">
      {(replay) => (
        <div className="sp-stack">
          <p role="status">
            <strong>{text.states[replay.state]}</strong> <span className="sp-dim">{text.progress(replay.evaluated)}</span>
          </p>
          <dl className="sp-counts">
            {(
              [
                [text.newlyAllowed, replay.newly_allowed],
                [text.newlyDenied, replay.newly_denied],
                [text.changed, replay.changed],
                [text.unchanged, replay.unchanged],
                [text.notReplayable, replay.not_replayable],
              ] as const
            ).map(([name, count]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{formatCount(count)}</dd>
              </div>
            ))}
          </dl>
          {replay.classes.length === 0 ? (
            <p>{replay.state === "done" ? text.none : text.noneYet}</p>
          ) : (
            <ClassList caption={text.title} classes={replay.classes} />
          )}
          {replay.truncated ? <p className="sp-small sp-dim">{text.truncated}</p> : null}
          {stopping.isError ? <Failure error={stopping.error} /> : null}
          <Gate ask={view}>
            <div className="sp-actions">
              {replay.state === "running" ? (
                <ActButton variant="default" isBusy={stopping.isPending} onClick={() => stopping.mutate()}>
                  {text.stop}
                </ActButton>
              ) : (
                <ActButton variant="default" isBusy={false} onClick={onAgain}>
                  {text.again}
                </ActButton>
              )}
            </div>
          </Gate>
        </div>
      )}
    </QueryView>
  );
};

/** What recorded decisions would have been by this version; the replay's id is in the address, so it is found again. */
export const VersionReplayPanel = ({ version }: { readonly version: string }): ReactElement => {
  const { replay } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (id: string): void => void navigate({ search: (before) => ({ ...before, replay: id }), replace: true });
  return (
    <Panel title={policyWords.replay.title}>
      <div className="sp-stack">
        <p className="sp-dim">{policyWords.replay.lead}</p>
        {replay === undefined ? (
          <Gate ask={view}>
            <Form version={version} onStarted={show} />
          </Gate>
        ) : (
          <Running key={replay} id={replay} onAgain={() => show("")} />
        )}
      </div>
    </Panel>
  );
};
