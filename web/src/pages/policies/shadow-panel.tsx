import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { rolloutDifferences } from "#contract/rollouts.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { words } from "../../strings/en.ts";
import { policyWords } from "../../strings/policies.ts";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ClassList } from "./class-list.tsx";

const REREAD_MS = 2_000;

/** What a version in the shadow decides otherwise, as it comes in. */
export const ShadowPanel = ({ version }: { readonly version: string }): ReactElement => {
  const query = useQuery({ ...useEndpoint(rolloutDifferences).query({ params: { version } }), refetchInterval: REREAD_MS });
  return (
    <Panel title={policyWords.shadow.title}>
      <div className="sp-stack">
        <p className="sp-dim">{policyWords.shadow.lead}</p>
        <QueryView query={query} service="pdp">
          {({ evaluated, different, dropped, classes }) => (
            <div className="sp-stack">
              <p role="status">
                {words.common.facts(
                  policyWords.shadow.evaluated(evaluated),
                  policyWords.shadow.different(different),
                  dropped === 0 ? "" : policyWords.shadow.dropped(dropped),
                )}
              </p>
              {classes.length === 0 ? <p>{policyWords.shadow.none}</p> : <ClassList caption={policyWords.shadow.title} classes={classes} />}
            </div>
          )}
        </QueryView>
      </div>
    </Panel>
  );
};
