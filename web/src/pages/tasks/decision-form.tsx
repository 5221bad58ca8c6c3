import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazyRouteComponent } from "@tanstack/react-router";
import { useRef, type ReactElement, type ReactNode } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { formSchema } from "#contract/forms.ts";
import { completeTask, type TaskDetail } from "#contract/tasks.ts";
import { useSuggestFor } from "../../api/form-suggestions.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import type { Data } from "../../forms/schema-places.ts";
import { useForm } from "../../forms/use-form.ts";
import { GatewayError, hasCode } from "../../model/gateway-error.ts";
import { useDraft } from "../../session/use-draft.ts";
import { taskWords } from "../../strings/tasks.ts";
import { visibleText } from "../../strings/format.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Late } from "../../ui/late.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { useName } from "./person.tsx";

const SchemaForm = lazyRouteComponent(async () => await import("../../forms/schema-form.tsx"), "SchemaForm");

const text = taskWords;
const PRIMARY = new Set(["approve", "submit"]);
const textShape = { read: (found: unknown) => (typeof found === "string" ? found : undefined) };

interface Answer {
  readonly decision: string;
  readonly data?: Data | undefined;
}

/** Another was first, or the task changed: who, and what stays here. */
const Conflict = ({ task }: { readonly task: TaskDetail }): ReactElement => {
  const last = task.decisions.at(-1);
  const name = useName(last?.sub ?? null);
  const said =
    last === undefined
      ? task.status === "PENDING"
        ? text.changed
        : text.over
      : text.first(name ?? last.sub, text.done[last.decision] ?? last.decision);
  return (
    <p className="sp-notice" role="alert">
      {visibleText(said)}
    </p>
  );
};

/** The same words sent again have the same key: a lost answer decides nothing twice. */
const useKeys = () => {
  const last = useRef({ body: "", key: "" });
  return (body: object): string => {
    const now = JSON.stringify(body);
    if (last.current.body !== now) last.current = { body: now, key: crypto.randomUUID() };
    return last.current.key;
  };
};

const isConflict = (error: unknown): boolean => error instanceof GatewayError && [409, 412].includes(error.problem.status);

/** Sends a decision as of the version that was read; afterwards the task and its run are read again. */
const useSending = (task: TaskDetail, comment: string, onSent: () => void) => {
  const complete = useEndpoint(completeTask);
  const queries = useQueryClient();
  const keyOf = useKeys();
  return useMutation({
    mutationFn: async ({ decision, data }: Answer) => {
      const body = { decision, data, comment: comment.trim() || undefined, state_version: task.state_version };
      return await complete.ask({ params: { id: task.id }, body: { ...body, idempotency_key: keyOf(body) } });
    },
    onSuccess: onSent,
    onSettled: async () => await Promise.all(["tasks", "workflows"].map((root) => queries.invalidateQueries({ queryKey: [root] }))),
  });
};

interface FormProps {
  readonly task: TaskDetail;
  readonly onSent: () => void;
  readonly onHandOver?: (() => void) | undefined;
}

/** A comment and a button for each decision that is allowed; what wants data is sent by the form around it. */
const useDecision = ({ task, onSent, onHandOver }: FormProps, needsData: (decision: string) => boolean, forgetForm: () => void) => {
  const comment = useDraft(`comment.${task.id}`, "", textShape);
  const sending = useSending(task, comment.value, () => {
    comment.forget();
    forgetForm();
    onSent();
  });
  const send = (answer: Answer): void => {
    if (!sending.isPending) sending.mutate(answer);
  };
  const isOver = task.status !== "PENDING" || !task.you_may;
  const issues = hasCode(sending.error, "unprocessable") ? (sending.error.problem.options.errors ?? []) : [];
  const primary = task.allowed_decisions.find((decision) => PRIMARY.has(decision));
  const button = (decision: string): ReactElement => (
    <ActButton
      key={decision}
      variant={decision === primary ? "filled" : "default"}
      className={decision === "reject" ? "sp-danger" : undefined}
      isBusy={sending.isPending && sending.variables.decision === decision}
      {...(needsData(decision) || decision === primary
        ? { type: "submit" as const, value: decision }
        : { onClick: () => send({ decision }) })}
    >
      {text.decisions[decision] ?? visibleText(decision)}
    </ActButton>
  );
  const problem = (): ReactNode => {
    if (isConflict(sending.error)) return <Conflict task={task} />;
    if (sending.isError && issues.length === 0) return <Failure error={sending.error} />;
    return isOver && task.why_not !== null ? <p className="sp-notice">{text.whyNot[task.why_not]}</p> : null;
  };
  const foot = (
    <>
      <Textarea
        label={text.comment}
        placeholder={text.commentHint}
        rows={2}
        maxLength={1000}
        value={comment.value}
        onChange={(event) => comment.change(event.currentTarget.value)}
      />
      {problem()}
      {isOver ? null : (
        <div className="sp-actions sp-decide">
          {task.allowed_decisions.map(button)}
          {onHandOver === undefined ? null : (
            <Button variant="default" onClick={onHandOver}>
              {text.handOver}
            </Button>
          )}
        </div>
      )}
    </>
  );
  const reported = { of: sending.variables?.data, issues: issues.map((one) => ({ ...one, path: one.path.replace(/^\/data/, "") })) };
  return { foot, primary, reported, isOver, send };
};

const WithoutForm = (props: FormProps): ReactElement => {
  const { foot, primary, isOver, send } = useDecision(
    props,
    () => false,
    () => undefined,
  );
  return (
    <form
      className="sp-stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (primary !== undefined && !isOver) send({ decision: primary });
      }}
    >
      {foot}
    </form>
  );
};

const WithForm = ({
  form: { schema, ui, fields, data },
  ...props
}: FormProps & { readonly form: ReplyOf<typeof formSchema> }): ReactElement => {
  const form = useForm({ name: `task.${props.task.id}`, schema, fields, data });
  const suggest = useSuggestFor({ task: props.task.id }, form.read);
  const { foot, primary, reported, isOver, send } = useDecision(props, (decision) => decision !== "reject", form.forget);
  return (
    <Late>
      <SchemaForm
        form={form}
        ui={ui}
        suggest={suggest}
        reported={reported}
        onSubmit={(filled, via) => {
          const decision = via ?? primary;
          if (decision !== undefined && !isOver) send({ decision, data: filled });
        }}
      >
        {foot}
      </SchemaForm>
    </Late>
  );
};

const outputSchema = { type: "object" };

/** What a call gave of which nobody knows whether it was done: only with `succeeded`. */
const WithOutput = (props: FormProps): ReactElement => {
  const form = useForm({ name: `task.${props.task.id}`, schema: outputSchema });
  const { foot, reported, isOver, send } = useDecision(props, (decision) => decision === "succeeded", form.forget);
  return (
    <Late>
      <SchemaForm
        form={form}
        reported={reported}
        onSubmit={(data, via) => {
          if (via !== undefined && !isOver) send({ decision: via, data });
        }}
      >
        {foot}
      </SchemaForm>
    </Late>
  );
};

/** The answer of one person to a task: its form where it has one, a comment, the decisions. */
export const DecisionForm = (props: FormProps): ReactElement => {
  const { task } = props;
  const query = useQuery({
    ...useEndpoint(formSchema).query({ query: { task: task.id } }),
    enabled: task.form !== null,
    staleTime: Infinity,
  });
  if (task.kind === "unknown_outcome") return <WithOutput {...props} />;
  if (task.form === null) return <WithoutForm {...props} />;
  return (
    <QueryView query={query} service="crud">
      {(form) => <WithForm {...props} form={form} />}
    </QueryView>
  );
};
