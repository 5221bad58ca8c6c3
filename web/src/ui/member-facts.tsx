import type { ReactElement } from "react";
import { isObject } from "#contract/is-object.ts";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { Fact, FactList } from "./fact-list.tsx";
import { Foreign } from "./foreign.tsx";

/** Text is shown as it is, with its hidden characters; all else as JSON, so that a number is not taken for a text. */
export const JsonValue = ({ value }: { readonly value: unknown }): ReactElement => {
  if (typeof value === "object" && value !== null)
    return (
      <pre className="sp-code" tabIndex={0}>
        {visibleText(JSON.stringify(value, undefined, 2))}
      </pre>
    );
  return <Foreign text={JSON.stringify(value) ?? ""} isCode />;
};

/** The members of an object of others, each on its line; of those that `hides` only that they are hidden. */
export const MemberFacts = ({
  value,
  hides,
}: {
  readonly value: unknown;
  readonly hides?: (name: string) => string | undefined;
}): ReactElement => {
  if (value !== undefined && value !== null && !isObject(value)) return <JsonValue value={value} />;
  const members = Object.entries(value ?? {});
  if (members.length === 0) return <p className="sp-dim">{words.common.none}</p>;
  return (
    <FactList>
      {members.map(([name, member]) => {
        const hidden = hides?.(name);
        return (
          <Fact key={name} name={visibleText(name)}>
            {hidden === undefined ? <JsonValue value={member} /> : <span className="sp-dim">{hidden}</span>}
          </Fact>
        );
      })}
    </FactList>
  );
};
