import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { explain } from "../../api/tools.ts";
import { idText } from "../../shell/search.ts";
import { toolWords } from "../../strings/tools.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ExplanationView } from "./explanation-view.tsx";

const Answer = ({ tool }: { readonly tool: string }): ReactElement => {
  const client = useClient();
  const query = useQuery({ queryKey: ["tools", "explain", tool, ""], queryFn: async () => await explain(client, { tool }) });
  return (
    <QueryView query={query} service="crud">
      {(explanation) => <ExplanationView explanation={explanation} />}
    </QueryView>
  );
};

/** Why is it not in my list? Each door's answer for a tool by name. */
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
