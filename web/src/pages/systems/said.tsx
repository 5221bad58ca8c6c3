import { skipToken, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, type ReactElement } from "react";
import { systemWords } from "../../strings/systems.ts";
import { Foreign } from "../../ui/foreign.tsx";
import { DoneNotice } from "../../ui/page.tsx";

/** How an act on a system ended, and what who did it is to know. */
export interface Said {
  readonly sentence: string;
  readonly warnings?: readonly string[];
}

const keyOf = (name: string) => ["said", name] as const;

/** Says it on the system's page, where a page that publishes leads to. */
export const useSay = (): ((name: string, said: Said) => void) => {
  const queries = useQueryClient();
  return (name, said) => void queries.setQueryData(keyOf(name), said);
};

/** What was said of a system last; forgotten as its page is left. */
export const SaidNotice = ({ name }: { readonly name: string }): ReactElement | null => {
  const queries = useQueryClient();
  const { data: said } = useQuery<Said>({ queryKey: keyOf(name), queryFn: skipToken });
  useEffect(() => () => queries.removeQueries({ queryKey: keyOf(name) }), [queries, name]);
  if (said === undefined) return null;
  const { sentence, warnings = [] } = said;
  return (
    <>
      <DoneNotice>{sentence}</DoneNotice>
      {warnings.length === 0 ? null : (
        <section className="sp-panel" aria-label={systemWords.report.warnings}>
          <h2>{systemWords.report.warnings}</h2>
          <ul className="sp-list">
            {warnings.map((warning) => (
              <li key={warning}>
                <Foreign text={warning} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
};
