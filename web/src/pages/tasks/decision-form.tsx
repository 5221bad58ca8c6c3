import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState, type ReactElement } from "react";
import { z } from "zod";
import { formSchema } from "#contract/forms.ts";
import type { Issue } from "#contract/problem.ts";
import { completeTask, type TaskDetail } from "#contract/tasks.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { GatewayError, hasCode } from "../../model/gateway-error.ts";
import { useDraft, type DraftShape } from "../../session/use-draft.ts";
import { taskWords } from "../../strings/tasks.ts";
import { visibleText } from "../../strings/format.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ArgumentsForm } from "../tools/arguments-form.tsx";
import { formModel, valuesOf, type FieldIssue, type FormModel } from "../tools/schema-form.ts";
import { collect, draftShape, emptyTry, type TryValue } from "../tools/try-draft.ts";
import { useName } from "./person.tsx";

const text = taskWords;
const PRIMARY = new Set(["approve", "submit"]);

/** Another was first, or the task changed: who, and what stays here. */
const Conflict = ({ task }: { readonly task: TaskDetail }): ReactElement => {
  const last = task.decisions.at(-1);
  const name = useName(last?.sub ?? null);
  if (last === undefined) return <p role="alert">{task.status === "PENDING" ? text.changed : text.over}</p>;
  return <p role="alert">{text.first(visibleText(name ?? last.sub), text.done[last.decision] ?? visibleText(last.decision))}</p>;
};

interface Draft {
  readonly form: TryValue;
  readonly comment: string;
}

const shapeOf = (model: FormModel): DraftShape<Draft> => {
  const form = draftShape(model);
  return {
    read: (found) => {
      const read = z.object({ form: z.unknown(), comment: z.string() }).safeParse(found).data;
      const value = form.read(read?.form);
      return read === undefined || value === undefined ? undefined : { form: value, comment: read.comment };
    },
    keep: ({ form: value, comment }) => ({ form: form.keep?.(value) ?? value, comment }),
  };
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

const issuesOf = (error: unknown): readonly Issue[] =>
  hasCode(error, "unprocessable")
    ? (error.problem.options.errors ?? []).map((one) => ({ ...one, path: one.path.replace(/^\/data/, "") }))
    : [];

const isConflict = (error: unknown): boolean => error instanceof GatewayError && [409, 412].includes(error.problem.status);

/** What a person answers a task with: its form, a comment, and a button for each decision that is allowed. */
const Answer = ({
  task,
  model,
  initial,
  onSent,
  children,
}: {
  readonly task: TaskDetail;
  readonly model: FormModel | undefined;
  readonly initial: Readonly<Record<string, unknown>>;
  readonly onSent: () => void;
  readonly children?: ReactElement | undefined;
}): ReactElement => {
  const complete = useEndpoint(completeTask);
  const queries = useQueryClient();
  const keyOf = useKeys();
  const used = model ?? { kind: "fields", fields: [] };
  const first = useMemo((): Draft => {
    const form = emptyTry(used);
    if (used.kind === "fields") return { form: { ...form, values: { ...form.values, ...valuesOf(used.fields, initial) } }, comment: "" };
    return { form: Object.keys(initial).length === 0 ? form : { ...form, json: JSON.stringify(initial, undefined, 2) }, comment: "" };
  }, [model, initial]);
  const draft = useDraft(
    `task.${task.id}`,
    first,
    useMemo(() => shapeOf(used), [model]),
  );
  const [own, setOwn] = useState<readonly FieldIssue[]>([]);
  const sending = useMutation({
    mutationFn: async ({ decision, data }: { readonly decision: string; readonly data: unknown }) => {
      const body = {
        decision,
        ...(data === undefined ? {} : { data }),
        comment: draft.value.comment.trim() || undefined,
        state_version: task.state_version,
      };
      return await complete.ask({ params: { id: task.id }, body: { ...body, idempotency_key: keyOf(body) } });
    },
    onSuccess: () => {
      draft.forget();
      onSent();
    },
    onSettled: async () => await Promise.all(["tasks", "workflows"].map((root) => queries.invalidateQueries({ queryKey: [root] }))),
  });
  const send = (decision: string): void => {
    if (sending.isPending) return;
    if (model === undefined || decision === "reject" || (task.kind === "unknown_outcome" && decision !== "succeeded"))
      return sending.mutate({ decision, data: undefined });
    const collected = collect(model, draft.value.form);
    setOwn("issues" in collected ? collected.issues : []);
    if ("value" in collected) sending.mutate({ decision, data: collected.value });
  };
  const isOver = task.status !== "PENDING" || !task.you_may;
  const primary = task.allowed_decisions.find((decision) => PRIMARY.has(decision));
  const issues = issuesOf(sending.error);
  return (
    <form
      className="sp-stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (primary !== undefined && !isOver) send(primary);
      }}
    >
      {model === undefined ? null : (
        <ArgumentsForm
          model={model}
          value={draft.value.form}
          onChange={(form) => {
            setOwn([]);
            draft.change({ ...draft.value, form });
          }}
          own={own}
          reported={issues}
        />
      )}
      <Textarea
        label={text.comment}
        placeholder={text.commentHint}
        rows={2}
        maxLength={1000}
        value={draft.value.comment}
        onChange={(event) => draft.change({ ...draft.value, comment: event.currentTarget.value })}
      />
      {isConflict(sending.error) ? (
        <Conflict task={task} />
      ) : sending.isError && issues.length === 0 ? (
        <Failure error={sending.error} />
      ) : null}
      {isOver ? null : (
        <div className="sp-actions sp-decide">
          {task.allowed_decisions.map((decision) => (
            <ActButton
              key={decision}
              type={decision === primary ? "submit" : "button"}
              variant={decision === primary ? "filled" : "outline"}
              color={decision === primary ? undefined : decision === "reject" ? "red.9" : "gray"}
              isBusy={sending.isPending && sending.variables.decision === decision}
              {...(decision === primary ? {} : { onClick: () => send(decision) })}
            >
              {text.decisions[decision] ?? visibleText(decision)}
            </ActButton>
          ))}
          {children}
        </div>
      )}
    </form>
  );
};

/** The answer of one person to a task, where the task wants data with its form. */
export const DecisionForm = ({
  task,
  onSent,
  onHandOver,
}: {
  readonly task: TaskDetail;
  readonly onSent: () => void;
  readonly onHandOver?: (() => void) | undefined;
}): ReactElement => {
  const hasForm = task.form !== null;
  const form = useQuery({ ...useEndpoint(formSchema).query({ query: { task: task.id } }), enabled: hasForm, staleTime: Infinity });
  const props = {
    task,
    onSent,
    children: onHandOver && (
      <Button variant="default" onClick={onHandOver}>
        {text.handOver}
      </Button>
    ),
  };
  if (!hasForm)
    return <Answer {...props} model={task.kind === "unknown_outcome" ? { kind: "raw", reason: "none" } : undefined} initial={{}} />;
  return (
    <QueryView query={form} service="crud">
      {({ schema, data }) => <Answer {...props} model={formModel(schema)} initial={data} />}
    </QueryView>
  );
};
