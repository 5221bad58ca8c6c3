import { Button, SegmentedControl } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazyRouteComponent } from "@tanstack/react-router";
import { useMemo, useState, type ReactElement } from "react";
import { explainTool, type ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { callTool, type Called } from "../../api/tools.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { readStepUp } from "../../session/step-up.ts";
import { useStepUp } from "../../ui/step-up-provider.tsx";
import { useDraft } from "../../session/use-draft.ts";
import { grantWords } from "../../strings/grant.ts";
import { toolWords } from "../../strings/tools.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ArgumentsForm } from "./arguments-form.tsx";
import { readOutcome } from "./call-result.ts";
import { askOf, type CheckFor } from "./check-for.ts";
import { CheckForFields } from "./check-for-fields.tsx";
import { asClientEntry, asCurl, asRpc } from "./copy-as.ts";
import { ExplanationView } from "./explanation-view.tsx";
import { ResultView } from "./result-view.tsx";
import { formModel, type FieldIssue } from "./schema-form.ts";
import { isReadOnly } from "./tool-filter.ts";
import { collect, draftShape, emptyTry, switchMode } from "./try-draft.ts";
import { Late } from "../../ui/late.tsx";

const ConfirmCall = lazyRouteComponent(async () => await import("./confirm-call.tsx"), "ConfirmCall");

const issuesOfCall = (called: Called | undefined): readonly { readonly path: string; readonly message: string }[] => {
  const outcome = called === undefined ? undefined : readOutcome(called.response);
  return outcome?.kind === "refused" ? outcome.issues : [];
};

/** The form of a tool's arguments with its two buttons: ask every check, or really call. */
export const TryIt = ({ tool }: { readonly tool: ToolDescriptor }): ReactElement => {
  const client = useClient();
  const explain = useEndpoint(explainTool);
  const queries = useQueryClient();
  const askStepUp = useStepUp();
  const model = useMemo(() => formModel(tool.inputSchema), [tool.inputSchema]);
  const initial = useMemo(() => emptyTry(model), [model]);
  const shape = useMemo(() => draftShape(model), [model]);
  const draft = useDraft(`try.${tool.name}`, initial, shape);
  const [own, setOwn] = useState<readonly FieldIssue[]>([]);
  const [checkFor, setCheckFor] = useState<CheckFor>({ userId: "", agentId: "" });
  const [confirming, setConfirming] = useState<Readonly<Record<string, unknown>>>();

  const calling = useMutation({
    mutationFn: async (args: Readonly<Record<string, unknown>>) => await callTool(client, tool.name, args),
    onSuccess: (called) => {
      const outcome = readOutcome(called.response);
      const stepUp = outcome?.kind === "refused" ? readStepUp(outcome.data) : undefined;
      if (stepUp !== undefined) askStepUp(stepUp);
    },
    onSettled: async () => await queries.invalidateQueries({ queryKey: ["decisions"] }),
  });
  const checking = useMutation({
    mutationFn: async () => await explain.ask({ query: { tool: tool.name, ...askOf(checkFor) } }),
  });

  const read = (): Readonly<Record<string, unknown>> | undefined => {
    const collected = collect(model, draft.value);
    setOwn("issues" in collected ? collected.issues : []);
    return "value" in collected ? collected.value : undefined;
  };
  const call = (): void => {
    const args = read();
    if (args === undefined || calling.isPending) return;
    if (isReadOnly(tool)) calling.mutate(args);
    else setConfirming(args);
  };
  const argumentsNow = (): Readonly<Record<string, unknown>> => {
    const collected = collect(model, draft.value);
    return "value" in collected ? collected.value : {};
  };

  /** Issues that were shown go as soon as what they were of is mended; no new ones come before the next press. */
  const change = (next: typeof draft.value): void => {
    draft.change(next);
    if (own.length === 0) return;
    const collected = collect(model, next);
    const left = "issues" in collected ? collected.issues : [];
    setOwn(own.filter((issue) => left.some(({ path, code }) => path === issue.path && code === issue.code)));
  };
  // What was said of other arguments than these is over.
  const isOfThese = JSON.stringify(calling.variables) === JSON.stringify(argumentsNow());

  return (
    <div className="sp-stack">
      <Panel
        title={toolWords.tryTitle}
        aside={
          model.kind === "raw" ? null : (
            <SegmentedControl
              aria-label={toolWords.tryTitle}
              value={draft.value.mode}
              data={[
                { value: "fields", label: toolWords.asFields },
                { value: "json", label: toolWords.asJson },
              ]}
              onChange={(mode) => {
                setOwn([]);
                draft.change(switchMode(model, draft.value, mode === "json" ? "json" : "fields"));
              }}
            />
          )
        }
      >
        <form
          className="sp-stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            call();
          }}
        >
          <p className="sp-dim">{toolWords.tryLead}</p>
          {model.kind === "raw" ? <p className="sp-dim sp-small">{toolWords.rawReason[model.reason]}</p> : null}
          <ArgumentsForm
            model={model}
            value={draft.value}
            onChange={change}
            own={own}
            reported={isOfThese ? issuesOfCall(calling.data) : []}
          />
          <div className="sp-actions">
            <ActButton type="submit" isBusy={calling.isPending}>
              {toolWords.call}
            </ActButton>
            <ActButton variant="default" isBusy={checking.isPending} onClick={() => checking.mutate()}>
              {toolWords.check}
            </ActButton>
            <span className="sp-small sp-dim">{toolWords.checkHint}</span>
          </div>
          <Gate ask={{ type: "tool", action: "explain" }}>
            <CheckForFields value={checkFor} onChange={setCheckFor} />
          </Gate>
        </form>
      </Panel>
      {checking.isError ? <Failure error={checking.error} onRetry={() => checking.mutate()} /> : null}
      {checking.data === undefined ? null : (
        <Panel title={toolWords.checkTitle}>
          <ExplanationView explanation={checking.data} asked={askOf(checkFor)} onDone={() => checking.mutate()} />
        </Panel>
      )}
      <div aria-live="polite" className="sp-stack">
        {calling.isError ? <Failure error={calling.error} /> : null}
        {calling.data === undefined ? null : <ResultView called={calling.data} />}
      </div>
      <div className="sp-actions">
        <CopyButton label={toolWords.copyCurl} text={() => asCurl(location.origin, tool.name, argumentsNow())} />
        <CopyButton label={toolWords.copyRpc} text={() => asRpc(tool.name, argumentsNow())} />
        <CopyButton label={toolWords.copyMcp} text={() => asClientEntry(location.origin)} />
        <span className="sp-small sp-dim">{toolWords.tokenHint}</span>
        <Button variant="subtle" onClick={draft.forget}>
          {grantWords.discard}
        </Button>
      </div>
      {confirming === undefined ? null : (
        <Late>
          <ConfirmCall
            name={tool.name}
            args={confirming}
            onClose={() => setConfirming(undefined)}
            onCall={() => {
              setConfirming(undefined);
              calling.mutate(confirming);
            }}
          />
        </Late>
      )}
    </div>
  );
};
