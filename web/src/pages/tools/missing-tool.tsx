import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazyRouteComponent } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { explainTool } from "#contract/tools.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Gate } from "../../decisions/use-can.ts";
import { idText } from "#contract/page-search.ts";
import { toolWords } from "../../strings/tools.ts";
import { Late } from "../../ui/late.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { askOf, type CheckFor } from "./check-for.ts";
import { ExplanationView } from "./explanation-view.tsx";

const CheckForFields = lazyRouteComponent(async () => await import("./check-for-fields.tsx"), "CheckForFields");

const Answer = ({ tool }: { readonly tool: string }): ReactElement => {
  const [checkFor, setCheckFor] = useState<CheckFor>({ userId: "", agentId: "" });
  const asked = askOf(checkFor);
  const query = useQuery(useEndpoint(explainTool).query({ query: { tool, ...asked } }));
  return (
    <div className="sp-stack">
      <Gate ask={{ type: "tool", action: "explain" }}>
        <Late>
          <CheckForFields value={checkFor} onChange={setCheckFor} />
        </Late>
      </Gate>
      <QueryView query={query} service="crud">
        {(explanation) => <ExplanationView explanation={explanation} asked={asked} onDone={() => void query.refetch()} />}
      </QueryView>
    </div>
  );
};

/** Why is it not in my list? Each check's answer for a tool by name. */
export const MissingTool = ({
  asked,
  onAsk,
}: {
  readonly asked: string | undefined;
  readonly onAsk: (tool: string) => void;
}): ReactElement => {
  const [name, setName] = useState(asked ?? "");
  return (
    <div className="sp-below">
      <Panel title={toolWords.missing}>
        <form
          className="sp-filters"
          onSubmit={(event) => {
            event.preventDefault();
            if (idText.test(name.trim())) onAsk(name.trim());
          }}
        >
          <TextInput
            label={toolWords.missingLabel}
            description={toolWords.missingHint}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" className="sp-narrow">
            {toolWords.missingGo}
          </Button>
        </form>
        {asked === undefined ? null : <Answer tool={asked} />}
      </Panel>
    </div>
  );
};
