import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { ReplyOf } from "#contract/endpoint.ts";
import { formSchema } from "#contract/forms.ts";
import { explainTool, type ToolDescriptor } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { useSuggestFor } from "../../api/form-suggestions.ts";
import { callTool, type Called } from "../../api/tools.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate, useCan } from "../../decisions/use-can.ts";
import type { Data } from "../../forms/schema-places.ts";
import { useForm } from "../../forms/use-form.ts";
import { readStepUp } from "../../session/step-up.ts";
import { useStepUp } from "../../ui/step-up-provider.tsx";
import { grantWords } from "../../strings/grant.ts";
import { toolWords } from "../../strings/tools.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Waiting } from "../../ui/query-view.tsx";
import { readOutcome } from "./call-result.ts";
import { askOf, type CheckFor } from "./check-for.ts";
import { CheckForFields } from "./check-for-fields.tsx";
import { asClientEntry, asCurl, asRpc } from "./copy-as.ts";
import { ExplanationView } from "./explanation-view.tsx";
import { ResultView } from "./result-view.tsx";
import { isReadOnly } from "./tool-filter.ts";
import { Late } from "../../ui/late.tsx";

const SchemaForm = lazyRouteComponent(async () => await import("../../forms/schema-form.tsx"), "SchemaForm");
const ConfirmCall = lazyRouteComponent(async () => await import("./confirm-call.tsx"), "ConfirmCall");

const issuesOfCall = (called: Called | undefined): readonly { readonly path: string; readonly message: string }[] => {
  const outcome = called === undefined ? undefined : readOutcome(called.response);
  return outcome?.kind === "refused" ? outcome.issues : [];
};

/** The form of a tool's arguments with its two buttons: ask every check, or really call. For who may not see forms it is made of the schema alone. */
export const TryIt = ({ tool }: { readonly tool: ToolDescriptor }): ReactElement => {
  const may = useCan({ type: "forms", action: "view", id: tool.name });
  const query = useEndpoint(formSchema).query({ query: { tool: tool.name } });
  const form = useQuery({ ...query, enabled: may === "allowed", retry: false, staleTime: 30_000 });
  const isKnown = may === "allowed" ? !form.isPending : may !== "pending";
  return isKnown ? <TryForm key={JSON.stringify(form.data?.schema)} tool={tool} of={form.data} /> : <Waiting rows={4} />;
};

const TryForm = ({ tool, of }: { readonly tool: ToolDescriptor; readonly of: ReplyOf<typeof formSchema> | undefined }): ReactElement => {
  const client = useClient();
  const explain = useEndpoint(explainTool);
  const queries = useQueryClient();
  const askStepUp = useStepUp();
  const form = useForm({ name: `try.${tool.name}`, schema: of?.schema ?? tool.inputSchema, fields: of?.fields });
  const suggest = useSuggestFor({ tool: tool.name }, form.read);
  const [checkFor, setCheckFor] = useState<CheckFor>({ userId: "", agentId: "" });
  const [confirming, setConfirming] = useState<Data>();

  const calling = useMutation({
    mutationFn: async (args: Data) => await callTool(client, tool.name, args),
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

  const call = (args: Data): void => {
    if (calling.isPending) return;
    if (isReadOnly(tool)) calling.mutate(args);
    else setConfirming(args);
  };
  const argumentsNow = (): Data => {
    const read = form.read();
    return "data" in read ? read.data : {};
  };

  return (
    <div className="sp-stack">
      <Panel title={toolWords.tryTitle}>
        <p className="sp-dim sp-after">{toolWords.tryLead}</p>
        <Late>
          <SchemaForm
            form={form}
            ui={of?.ui}
            suggest={suggest}
            reported={{ of: calling.variables, issues: issuesOfCall(calling.data) }}
            onSubmit={call}
          >
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
          </SchemaForm>
        </Late>
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
        <Button variant="subtle" onClick={form.forget}>
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
