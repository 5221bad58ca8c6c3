import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, type ReactElement } from "react";
import type { ConfigWritten } from "#contract/configs.ts";
import { useClient } from "../../api/client-context.ts";
import { tryQuery } from "../../api/systems.ts";
import { systemWords } from "../../strings/systems.ts";
import { Chip } from "../../ui/chip.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryView } from "../../ui/query-view.tsx";
import type { Mark } from "../../ui/source-editor.tsx";
import { useDebounced } from "../../ui/timers.ts";
import { ConfigIssues } from "./config-issues.tsx";
import { EffectsView } from "./effects-view.tsx";

const SETTLED_MS = 600;
const text = systemWords.report;

/** What was said of exactly this text. */
export interface Tried {
  readonly text: string;
  readonly written: ConfigWritten;
}

/** A dry run of what is written, when no key was pressed for a moment: every issue, and what publishing it would change. */
export const TryReport = ({
  name,
  document,
  onTried,
  onGo,
}: {
  /** Absent: a new system. */
  readonly name?: string;
  /** Absent: nothing is written. */
  readonly document: string | undefined;
  readonly onTried: (tried: Tried | undefined) => void;
  readonly onGo: (mark: Mark) => void;
}): ReactElement => {
  const settled = useDebounced(document, SETTLED_MS);
  const query = useQuery({
    ...tryQuery(useClient(), name, settled ?? ""),
    enabled: settled !== undefined && document !== undefined,
    placeholderData: keepPreviousData,
  });
  const written = document === undefined || query.isPlaceholderData || settled === undefined ? undefined : query.data;
  useEffect(
    () => onTried(written === undefined || settled === undefined ? undefined : { text: settled, written }),
    [written, settled, onTried],
  );
  const isChecking = document !== undefined && (query.isFetching || settled !== document);
  return (
    <Panel
      title={text.title}
      aside={
        <span className="sp-small sp-dim" role="status">
          {isChecking ? text.checking : ""}
        </span>
      }
    >
      {document === undefined ? (
        <p className="sp-dim">{systemWords.one.unchanged}</p>
      ) : (
        <QueryView query={query} service="crud">
          {(value) => {
            const issues = value.errors ?? [];
            return (
              <div className="sp-stack">
                <div className="sp-actions">
                  {issues.length === 0 ? (
                    <Chip tone="allow" icon="check" text={text.valid} />
                  ) : (
                    <Chip tone="deny" icon="cross" text={text.invalid} />
                  )}
                </div>
                {issues.length === 0 ? <EffectsView written={value} /> : <ConfigIssues issues={issues} onGo={onGo} />}
              </div>
            );
          }}
        </QueryView>
      )}
    </Panel>
  );
};
