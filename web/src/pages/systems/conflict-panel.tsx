import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../api/client-context.ts";
import { versionTextQuery, type ReadSystem } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { DiffView } from "../../ui/diff-view.tsx";
import { Foreign } from "../../ui/foreign.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";

const text = systemWords.conflict;

/** Another version was published while somebody wrote: what the others changed, and whose text it goes on with. */
export const ConflictPanel = ({
  system,
  from,
  onKeep,
  onDrop,
}: {
  readonly system: ReadSystem;
  /** The version that the draft is over. */
  readonly from: number;
  readonly onKeep: () => void;
  readonly onDrop: () => void;
}): ReactElement => {
  const query = useQuery(versionTextQuery(useClient(), system.name, from));
  return (
    <Panel title={text.title}>
      <div className="sp-stack" role="alert">
        <p>{text.sentence(from, system.version)}</p>
        <p>
          <Foreign text={text.by(system.author, system.reason)} />
        </p>
        <QueryView query={query} service="crud">
          {(before) => <DiffView label={text.diff(from, system.version)} before={before} after={system.text} />}
        </QueryView>
        <div className="sp-actions">
          <Button onClick={onKeep}>{text.keep(system.version)}</Button>
          <Button variant="default" onClick={onDrop}>
            {text.drop}
          </Button>
        </div>
      </div>
    </Panel>
  );
};
