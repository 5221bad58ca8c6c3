import type { ReactElement } from "react";
import type { ConfigFault } from "../../api/systems.ts";
import { words } from "../../strings/en.ts";
import { systemWords } from "../../strings/systems.ts";
import { Foreign } from "../../ui/foreign.tsx";
import type { Mark } from "../../ui/source-editor.tsx";

const text = systemWords.report;

/** Where in the editor a fault is; of a file that the document refers to nowhere. */
export const markOf = ({ line, column }: ConfigFault): Mark | undefined => (line === undefined ? undefined : { line, column });

/** Faults of a document. With `onGo` each leads to its line. */
export const ConfigFaults = ({
  faults,
  onGo,
}: {
  readonly faults: readonly ConfigFault[];
  readonly onGo?: (mark: Mark) => void;
}): ReactElement => (
  <ul className="sp-fault-list">
    {faults.map((fault, at) => {
      const mark = markOf(fault);
      const place = mark === undefined ? fault.path : text.at(mark.line, mark.column);
      return (
        <li key={`${at} ${fault.path}`}>
          {mark === undefined || onGo === undefined ? (
            <Foreign text={place} isCode />
          ) : (
            <button type="button" className="sp-text-button sp-mono" onClick={() => onGo(mark)}>
              {place}
            </button>
          )}{" "}
          <Foreign text={fault.message} />
          {fault.hint === undefined ? null : (
            <div className="sp-small sp-dim">
              {words.common.named(text.hint)}
              <Foreign text={fault.hint} />
            </div>
          )}
        </li>
      );
    })}
  </ul>
);
