import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { importTryQuery, publishImport, SYSTEMS, type ImportTarget, type ImportWritten } from "../../api/systems.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActButton } from "../../ui/act-button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ConfigIssues } from "../systems/config-issues.tsx";
import { EffectsView, NameList } from "../systems/effects-view.tsx";

const text = systemWords.importing;

/** What publishing would do, and the button that does it. */
export const CheckStep = ({
  target,
  onBack,
  onPublished,
}: {
  readonly target: ImportTarget;
  readonly onBack: () => void;
  readonly onPublished: (written: ImportWritten) => void;
}): ReactElement => {
  const client = useClient();
  const queries = useQueryClient();
  const query = useQuery(importTryQuery(client, target));
  const publishing = useMutation({
    mutationFn: async () => await publishImport(client, target),
    onSuccess: onPublished,
    onSettled: async () => await queries.invalidateQueries({ queryKey: [SYSTEMS], refetchType: "none" }),
  });
  return (
    <div className="sp-stack">
      <h3>{"body" in target ? text.effects : text.updatesEffects}</h3>
      <QueryView query={query} service="crud" rows={5}>
        {(written) => (
          <div className="sp-stack">
            {written.valid === false ? (
              <>
                <p role="alert">{text.issuesOf}</p>
                <ConfigIssues issues={written.errors ?? []} />
              </>
            ) : (
              <EffectsView written={written} />
            )}
            <NameList title={text.gone} names={written.gone ?? []} />
            <NameList title={text.fresh} names={written.fresh ?? []} />
          </div>
        )}
      </QueryView>
      {publishing.isError ? <Failure error={publishing.error} /> : null}
      <div className="sp-actions">
        <Button variant="default" onClick={onBack}>
          {words.common.back}
        </Button>
        <ActButton
          isBusy={publishing.isPending}
          disabled={query.data === undefined || query.isError || query.data.valid === false}
          onClick={() => publishing.mutate()}
        >
          {text.publish}
        </ActButton>
      </div>
    </div>
  );
};
