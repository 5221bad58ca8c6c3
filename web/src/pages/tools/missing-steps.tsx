import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { MissingStep, ToolExplanation } from "#contract/tools.ts";
import { useClient } from "../../api/client-context.ts";
import { giveTool } from "../../api/give-tool.ts";
import { Gate } from "../../decisions/gate.tsx";
import { useSession } from "../../session/session-context.ts";
import { toolWords } from "../../strings/tools.ts";
import { Foreign } from "../../ui/foreign.tsx";
import type { ExplainFor } from "./check-for.ts";
import { ReasonedDialog } from "../systems/reasoned-dialog.tsx";

const text = toolWords.steps;

/** Where a step is done, or the button that does it. */
const Way = ({
  step,
  tool,
  agentId,
  onOpen,
}: {
  readonly step: MissingStep["step"];
  readonly tool: string;
  readonly agentId: string | undefined;
  readonly onOpen: (step: "grant" | "capability") => void;
}): ReactElement | null => {
  const system = tool.split(".").slice(0, 2).join(".");
  switch (step) {
    case "register":
      return (
        <Link className="sp-link" to="/systems/$name" params={{ name: system }}>
          {text.ways.register}
        </Link>
      );
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
    case "grant":
    case "capability":
      return (
        <Gate ask={{ type: "graph", action: "edit" }}>
          <Button variant="default" size="compact-xs" onClick={() => onOpen(step)}>
            {text.ways[step]}
          </Button>
        </Gate>
      );
    case "application":
      return null;
  }
};

/** What is still missing on the way to a call, who can do it, and the place where it is done. */
export const MissingSteps = ({
  explanation: { tool, missing },
  asked,
  onDone,
}: {
  readonly explanation: ToolExplanation;
  readonly asked: ExplainFor;
  readonly onDone: () => void;
}): ReactElement => {
  const client = useClient();
  const { id: me } = useSession().subject;
  const [open, setOpen] = useState<"grant" | "capability">();
  const person = asked.user_id ?? me;
  const to = open === "capability" ? (asked.agent_id ?? "") : person;
  return (
    <section aria-label={text.title}>
      <h3>{text.title}</h3>
      <ol className="sp-list">
        {missing.map(({ step, who, how }) => (
          <li key={step}>
            {text.of[step]} <span className="sp-dim">{text.by}</span> <Foreign text={who} />{" "}
            <Way step={step} tool={tool} agentId={asked.agent_id} onOpen={setOpen} />
            <div className="sp-small sp-dim">
              <Foreign text={how} />
            </div>
          </li>
        ))}
      </ol>
      {open === undefined ? null : (
        <ReasonedDialog
          title={text.giveTitle(tool, to)}
          sentence={text.giveSentence[open]}
          verb={text.ways[open]}
          act={async (reason) => await giveTool(client, open === "grant" ? "GRANTS_ACCESS" : "HAS_CAPABILITY", to, tool, me, reason)}
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
