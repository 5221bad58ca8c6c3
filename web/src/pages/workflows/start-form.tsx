import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazyRouteComponent, Link, useNavigate } from "@tanstack/react-router";
import { useRef, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { formSchema } from "#contract/forms.ts";
import { startWorkflow } from "#contract/workflows.ts";
import { useSuggestFor } from "../../api/form-suggestions.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import type { Data } from "../../forms/schema-places.ts";
import { useForm } from "../../forms/use-form.ts";
import { GatewayError, hasCode } from "../../model/gateway-error.ts";
import { grantWords } from "../../strings/grant.ts";
import { visibleText } from "../../strings/format.ts";
import { workflowWords } from "../../strings/workflows.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Late } from "../../ui/late.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { Button } from "@mantine/core";

const SchemaForm = lazyRouteComponent(async () => await import("../../forms/schema-form.tsx"), "SchemaForm");

/** What is wrong with the data, at its places in it. */
const issuesOf = (error: unknown) =>
  (error instanceof GatewayError ? (error.problem.options.errors ?? []) : []).map(({ path, message }) => ({
    path: path.replace(/^\/data(?=\/|$)/, ""),
    message,
  }));

const Fields = ({ name, of }: { readonly name: string; readonly of: ReplyOf<typeof formSchema> }): ReactElement => {
  const start = useEndpoint(startWorkflow);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm({ name: `start.${name}`, schema: of.schema, fields: of.fields, data: of.data });
  const suggest = useSuggestFor({ workflow: name }, form.read);
  /** The same data has the same key, so that pressing again after a lost answer starts nothing twice. */
  const last = useRef({ text: "", key: "" });
  const starting = useMutation({
    mutationFn: async (data: Data) => {
      const text = JSON.stringify(data);
      if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() };
      return await start.ask({ params: { name }, body: { data, idempotency_key: last.current.key } });
    },
    onSuccess: async ({ run_id: id }) => {
      form.forget();
      await navigate({ to: "/workflows/runs/$id", params: { id } });
    },
    onSettled: async () => await queries.invalidateQueries({ queryKey: ["workflows"] }),
  });
  const issues = issuesOf(starting.error);
  return (
    <SchemaForm
      form={form}
      ui={of.ui}
      suggest={suggest}
      reported={{ of: starting.variables, issues }}
      onSubmit={(data) => (starting.isPending ? undefined : starting.mutate(data))}
    >
      {starting.isError && issues.length === 0 ? <Failure error={starting.error} /> : null}
      {hasCode(starting.error, "outcome_unknown") ? <p>{workflowWords.startAgain}</p> : null}
      <div className="sp-actions">
        <ActButton type="submit" isBusy={starting.isPending}>
          {workflowWords.startNow}
        </ActButton>
        <Button variant="subtle" onClick={form.forget}>
          {grantWords.discard}
        </Button>
        <span className="sp-small sp-dim">{workflowWords.startLead}</span>
      </div>
    </SchemaForm>
  );
};

/** What a run begins with, and its start; for who may not start it, the way to why. */
export const StartForm = ({ name, mayStart }: { readonly name: string; readonly mayStart: boolean }): ReactElement => {
  const query = useQuery({ ...useEndpoint(formSchema).query({ query: { workflow: name } }), enabled: mayStart, staleTime: 30_000 });
  if (!mayStart)
    return (
      <Panel title={workflowWords.start}>
        <Empty text={workflowWords.startDenied}>
          <Link className="sp-link" to="/tools" search={{ explain: `workflow.${name}` }}>
            {workflowWords.explain}
          </Link>
        </Empty>
      </Panel>
    );
  return (
    <QueryView query={query} service="crud" rows={4}>
      {(of) => (
        <Panel title={visibleText(of.title)}>
          {of.description === undefined ? null : <p className="sp-dim sp-after">{visibleText(of.description)}</p>}
          <Late>
            <Fields key={JSON.stringify(of.schema)} name={name} of={of} />
          </Late>
        </Panel>
      )}
    </QueryView>
  );
};
