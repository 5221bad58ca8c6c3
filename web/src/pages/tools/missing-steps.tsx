import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { MissingStep, ToolExplanation } from "#contract/tools.ts";
import { Gate } from "../../decisions/use-can.ts";
import { useSession } from "../../session/session-context.ts";
import { toolWords } from "../../strings/tools.ts";
import { Foreign } from "../../ui/foreign.tsx";
import type { ExplainFor } from "./check-for.ts";
import { isOwnStep, StepDialog, type OwnStep } from "./step-dialog.tsx";

const text = toolWords.steps;

interface WayProps {
  readonly missing: MissingStep;
  readonly about: ToolExplanation["about"];
  readonly tool: string;
  readonly agentId: string | undefined;
  readonly onOpen: (step: OwnStep, on: string) => void;
}

/** Where a step is done, or the button that does it. */
const Way = ({ missing: { step, on }, about, tool, agentId, onOpen }: WayProps): ReactElement | null => {
  const system = about.system ?? "";
  if (isOwnStep(step)) {
    // Who may not know of the secret is told of the step, and by whom it is done.
    if (step === "secret_use" && on === undefined) return null;
    return (
      <Gate ask={step === "switch_on" ? { type: "kill_switch", action: "set" } : { type: "graph", action: "edit" }}>
        <Button variant="default" size="compact-xs" onClick={() => onOpen(step, on ?? tool)}>
          {text.ways[step]}
        </Button>
      </Gate>
    );
  }
  // Only what servers of others define is approved by itself; anything else with its system.
  if (step === "register" || step === "network" || (step === "approve" && about.state !== "quarantined"))
    return (
      <Link className="sp-link" to="/systems/$name" params={{ name: system }} search={{ act: "publish" }}>
        {text.ways.publish}
      </Link>
    );
  switch (step) {
    case "secret": {
      const [uri = "", key] = (on ?? "").split("#", 2);
      if (on === undefined) return null;
      return (
        <Link className="sp-link" to="/secrets/one" search={{ uri, act: "write", ...(key === undefined ? {} : { key }) }}>
          {text.ways.secret}
        </Link>
      );
    }
    case "approve":
      return (
        <Link className="sp-link" to="/definitions" search={{ tool }}>
          {text.ways.approve}
        </Link>
      );
    case "delegate":
      return (
        <Link className="sp-link" to="/delegations/new" search={{ tool, ...(agentId === undefined ? {} : { agent: agentId }) }}>
          {text.ways.delegate}
        </Link>
      );
  }
};

/** What is still missing on the way to a call, who can do it, and the place where it is done. */
export const MissingSteps = ({
  explanation: { tool, about, missing },
  asked,
  onDone,
}: {
  readonly explanation: ToolExplanation;
  readonly asked: ExplainFor;
  readonly onDone: () => void;
}): ReactElement => {
  const { id: me } = useSession().subject;
  const [open, setOpen] = useState<{ readonly step: OwnStep; readonly on: string }>();
  const person = asked.user_id ?? me;
  return (
    <section aria-label={text.title}>
      <h3>{text.title}</h3>
      <ol className="sp-list">
        {missing.map((one) => (
          <li key={`${one.step} ${one.on}`}>
            {text.of[one.step]} <span className="sp-dim">{text.by}</span> <Foreign text={one.who} />{" "}
            <Way missing={one} about={about} tool={tool} agentId={asked.agent_id} onOpen={(step, on) => setOpen({ step, on })} />
            <div className="sp-small sp-dim">
              <Foreign text={one.how} />
            </div>
          </li>
        ))}
      </ol>
      {open === undefined ? null : (
        <StepDialog
          {...open}
          tool={tool}
          to={open.step === "capability" ? (asked.agent_id ?? "") : person}
          digest={about.digest}
          onDone={() => {
            setOpen(undefined);
            onDone();
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </section>
  );
};
