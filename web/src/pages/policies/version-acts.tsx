import { Button } from "@mantine/core";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { PolicyReport } from "#contract/policies.ts";
import { deleteRollout, promoteRollout, type Rollout } from "#contract/rollouts.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { policyWords } from "../../strings/policies.ts";
import { ActivateDialog, PolicyDialog, RollBackDialog } from "./version-dialogs.tsx";

const route = getRouteApi("/policies/versions/$version");
const text = policyWords.acts;

type Act = "shadow" | "unshadow" | "activate" | "rollback" | "delete";

/** What may be done with a version that stands there. A version that is faulty or fails a case is no candidate. */
const actsOf = ({ state, report }: Rollout & { readonly report: PolicyReport }): readonly Act[] => {
  const isFit = report.valid && report.cases.failed.length === 0;
  switch (state) {
    case "draft":
      return isFit ? ["shadow", "activate", "delete"] : ["delete"];
    case "shadow":
      return ["activate", "unshadow"];
    case "retired":
      return ["rollback"];
    case "active":
      return [];
  }
};

const labels: Readonly<Record<Act, string>> = {
  shadow: text.shadow,
  unshadow: text.unshadow,
  activate: text.activate,
  rollback: text.rollback,
  delete: text.remove,
};

/** The acts on a version, each behind its own question. The open dialog is in the address: it is there again after a sign-in. */
export const VersionActs = ({
  version,
  onFact,
}: {
  readonly version: Rollout & { readonly report: PolicyReport };
  readonly onFact: (fact: string) => void;
}): ReactElement => {
  const { act } = route.useSearch();
  const navigate = route.useNavigate();
  const leave = useNavigate();
  const promote = useEndpoint(promoteRollout);
  const drop = useEndpoint(deleteRollout);
  const acts = actsOf(version);
  const open = (next: Act | undefined): void => void navigate({ search: (before) => ({ ...before, act: next ?? "" }), replace: true });
  const shared = { version: version.version, onDone: onFact, onClose: () => open(undefined) };
  const dialog = acts.find((candidate) => candidate === act);
  return (
    <>
      <Gate ask={{ type: "policies", action: "edit" }}>
        <Link className="sp-link" to="/policies/versions/new" search={{ from: version.version }}>
          {policyWords.oneVersion.change}
        </Link>
        {acts.includes("delete") ? (
          <Button variant="default" onClick={() => open("delete")}>
            {labels.delete}
          </Button>
        ) : null}
        {dialog === "delete" ? (
          <PolicyDialog
            {...shared}
            title={text.removeTitle}
            sentence={text.removeSentence}
            verb={text.remove}
            isDangerous
            act={async () => await drop.ask({ params: { version: version.version } })}
            fact={text.dropped(version.version)}
            onDone={() => void leave({ to: "/policies" })}
          />
        ) : null}
      </Gate>
      <Gate ask={{ type: "policies", action: "activate" }}>
        {acts
          .filter((candidate) => candidate !== "delete")
          .map((candidate) => (
            <Button key={candidate} variant={candidate === "activate" ? "filled" : "default"} onClick={() => open(candidate)}>
              {labels[candidate]}
            </Button>
          ))}
        {dialog === "activate" ? <ActivateDialog {...shared} /> : null}
        {dialog === "rollback" ? <RollBackDialog {...shared} /> : null}
        {dialog === "shadow" ? (
          <PolicyDialog
            {...shared}
            title={text.shadowTitle}
            sentence={text.shadowSentence}
            verb={text.shadow}
            act={async () => await promote.ask({ params: { version: version.version }, body: { to: "shadow" } })}
            fact={text.shadowed(version.version)}
          />
        ) : null}
        {dialog === "unshadow" ? (
          <PolicyDialog
            {...shared}
            title={text.unshadowTitle}
            sentence={text.unshadowSentence}
            verb={text.unshadow}
            act={async () => await promote.ask({ params: { version: version.version }, body: { to: "draft" } })}
            fact={text.unshadowed(version.version)}
          />
        ) : null}
      </Gate>
    </>
  );
};
