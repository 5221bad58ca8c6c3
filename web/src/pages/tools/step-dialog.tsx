import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { MissingStep } from "#contract/tools.ts";
import { deleteKillSwitch } from "#contract/kill-switches.ts";
import { patchGraphNode } from "#contract/graph-edit.ts";
import { useClient } from "../../api/client-context.ts";
import { useGiveTool } from "../../api/give-tool.ts";
import { nameOnSecret, secretNodeQuery } from "../../api/secret-use.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { useSession } from "../../session/session-context.ts";
import { visibleText } from "../../strings/format.ts";
import { toolWords } from "../../strings/tools.ts";
import { ActDialog } from "../../ui/act-dialog.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ReasonedDialog } from "./reasoned-dialog.tsx";

const text = toolWords.steps;

/** Steps that are done by a button of the page itself. */
export const ownSteps = ["grant", "capability", "switch_on", "application", "secret_use"] as const;
export type OwnStep = (typeof ownSteps)[number];
export const isOwnStep = (step: MissingStep["step"]): step is OwnStep => (ownSteps as readonly string[]).includes(step);

export interface StepDialogProps {
  readonly tool: string;
  /** What the step is done to, where that is not the tool. */
  readonly on: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const SecretUse = ({ system, on, onDone, onClose }: Omit<StepDialogProps, "tool"> & { readonly system: string }): ReactElement => {
  const client = useClient();
  const { tenant } = useSession();
  const secret = on.split("#", 1)[0] ?? on;
  const query = useQuery({ ...secretNodeQuery(client, secret), staleTime: 0 });
  const node = query.data;
  return (
    <ReasonedDialog
      title={text.useTitle(system, visibleText(secret))}
      sentence={text.useSentence}
      verb={text.ways.secret_use}
      isReady={node !== undefined}
      act={async (reason) => await nameOnSecret(client, { secret, system, tenant, reason, node: node ?? null })}
      onDone={onDone}
      onClose={onClose}
    >
      <QueryView query={query} service="membership">
        {(found) => {
          const used = found?.attributes["used_by"];
          return typeof used === "string" && used !== system ? (
            <p className="sp-notice" role="alert">
              <Foreign text={text.useTaken(used)} />
            </p>
          ) : null;
        }}
      </QueryView>
    </ReasonedDialog>
  );
};

/** One step, with what it means and why it is done. */
export const StepDialog = ({
  step,
  to,
  digest,
  ...props
}: StepDialogProps & {
  readonly step: OwnStep;
  /** The person, or the agent, that it is done for. */
  readonly to: string;
  /** The definition that a capability is pinned to. */
  readonly digest: string;
}): ReactElement => {
  const switchOn = useEndpoint(deleteKillSwitch);
  const change = useEndpoint(patchGraphNode);
  const giveTool = useGiveTool();
  const { id: me } = useSession().subject;
  const { tool, on, onDone, onClose } = props;
  const verb = text.ways[step];
  switch (step) {
    case "secret_use":
      return <SecretUse {...props} system={tool.split(".").slice(0, 2).join(".")} />;
    case "switch_on":
      return (
        <ActDialog
          title={text.switchOnTitle(on)}
          sentence={text.switchOnSentence}
          verb={verb}
          rereads="tools"
          act={async () => await switchOn.ask({ params: { scope: on } })}
          onDone={onDone}
          onClose={onClose}
        />
      );
    case "application":
      return (
        <ReasonedDialog
          title={text.activeTitle(on)}
          sentence={text.activeSentence}
          verb={verb}
          act={async (reason) => await change.ask({ params: { id: on }, headers: { "if-match": "*" }, body: { state: "active", reason } })}
          onDone={onDone}
          onClose={onClose}
        />
      );
    case "grant":
    case "capability":
      return (
        <ReasonedDialog
          title={text.giveTitle(tool, to)}
          sentence={text.giveSentence[step]}
          verb={verb}
          act={async (reason) =>
            await giveTool({ kind: step === "grant" ? "GRANTS_ACCESS" : "HAS_CAPABILITY", to, tool, by: me, reason, digest })
          }
          onDone={onDone}
          onClose={onClose}
        />
      );
  }
};
