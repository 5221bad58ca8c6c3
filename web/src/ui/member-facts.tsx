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

const isPlain = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";

/** As people read it: texts without quotes, lists of them on a line. */
const Prose = ({ value }: { readonly value: unknown }): ReactElement => {
  if (isPlain(value)) return <Foreign text={String(value)} />;
  return Array.isArray(value) && value.length > 0 && value.every(isPlain) ? (
    <Foreign text={value.join(", ")} />
  ) : (
    <JsonValue value={value} />
  );
};

/** The members of an object of others, each on its line; of those that `hides` only that they are hidden. */
export const MemberFacts = ({
  value,
  hides,
  isProse = false,
}: {
  readonly value: unknown;
  readonly isProse?: boolean;
  readonly hides?: (name: string) => string | undefined;
}): ReactElement => {
  const Value = isProse ? Prose : JsonValue;
  if (value !== undefined && value !== null && !isObject(value)) return <Value value={value} />;
  const members = Object.entries(value ?? {});
  if (members.length === 0) return <p className="sp-dim">{words.common.none}</p>;
  return (
    <FactList>
      {members.map(([name, member]) => {
        const hidden = hides?.(name);
        return (
          <Fact key={name} name={visibleText(name)}>
            {hidden === undefined ? <Value value={member} /> : <span className="sp-dim">{hidden}</span>}
          </Fact>
        );
      })}
    </FactList>
  );
};
