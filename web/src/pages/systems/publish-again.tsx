import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { ConfigWritten } from "#contract/configs.ts";
import { useClient } from "../../api/client-context.ts";
import { publishOver, SYSTEMS, tryQuery, type ReadSystem } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { ActDialog } from "../../ui/act-dialog.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import { ConfigIssues } from "./config-issues.tsx";
import { EffectsView } from "./effects-view.tsx";

const text = systemWords.one;

/** Publishes what serves already once more: the identity graph is told of its tools again, and no version is made. */
export const PublishAgain = ({
  system: { name, text: document, etag },
  onDone,
  onClose,
}: {
  readonly system: ReadSystem;
  readonly onDone: (written: ConfigWritten) => void;
  readonly onClose: () => void;
}): ReactElement => {
  const client = useClient();
  const query = useQuery(tryQuery(client, name, document));
  return (
    <ActDialog
      title={text.againTitle(name)}
      sentence={text.againSentence}
      verb={text.again}
      size="xl"
      rereads={SYSTEMS}
      isReady={query.data?.valid === true}
      act={async () => await publishOver(client, name, document, undefined, etag)}
      onDone={onDone}
      onClose={onClose}
    >
      <QueryView query={query} service="crud">
        {(tried) => (tried.valid === false ? <ConfigIssues issues={tried.errors ?? []} /> : <EffectsView written={tried} />)}
      </QueryView>
    </ActDialog>
  );
};
