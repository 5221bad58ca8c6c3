import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { explainTool } from "#contract/tools.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { standingWords } from "../../strings/tool-standing.ts";
import { MissingTool } from "./missing-tool.tsx";

/** A tool that is not in the person's list. Whoever is told of its checks knows that it is there. */
export const NotMine = ({ tool }: { readonly tool: string }): ReactElement => {
  const isThere = useQuery({ ...useEndpoint(explainTool).query({ query: { tool } }), retry: false }).data !== undefined;
  return (
    <div className="sp-stack">
      <div className="sp-state sp-failure" data-tone="quiet">
        <strong>{isThere ? standingWords.notYet : standingWords.notMine}</strong>
        <p>{isThere ? standingWords.notYetSentence : standingWords.notMineSentence}</p>
      </div>
      <MissingTool asked={tool} onAsk={() => undefined} />
    </div>
  );
};
