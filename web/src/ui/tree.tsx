import type { ReactElement } from "react";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { pointerTo } from "./json-pointer.ts";

const isParent = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

const summaryOf = (value: Readonly<Record<string, unknown>>): string =>
  Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;

/** Any JSON value, foldable; the first levels open. Deeper than 12 levels it is written out as text. */
export const Tree = ({
  value,
  name,
  depth = 0,
  path = "",
  mark,
}: {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
  /** RFC 6901, `*` for every item of a list. */
  readonly path?: string;
  /** What stands in place of a value at a path; nothing: the value. */
  readonly mark?: ((path: string, value: unknown) => ReactElement | undefined) | undefined;
}): ReactElement => {
  const label = name === undefined ? null : <span className="sp-dim">{words.common.named(visibleText(name))}</span>;
  const marked = mark?.(path, value);
  if (marked !== undefined)
    return (
      <div>
        {label}
        {marked}
      </div>
    );
  if (!isParent(value) || depth > 12)
    return (
      <div className={depth === 0 ? "sp-tree" : undefined}>
        {label}
        <bdi>{visibleText(typeof value === "string" ? value : JSON.stringify(value))}</bdi>
      </div>
    );
  const entries = Object.entries(value);
  return (
    <details open={depth < 2} className={depth === 0 ? "sp-tree" : undefined}>
      <summary>
        {label}
        <span className="sp-dim">{summaryOf(value)}</span>
      </summary>
      <ul>
        {entries.slice(0, 200).map(([key, inner]) => (
          <li key={key}>
            <Tree value={inner} name={key} depth={depth + 1} path={pointerTo(path, key, Array.isArray(value))} mark={mark} />
          </li>
        ))}
        {entries.length > 200 ? <li className="sp-dim">{`+ ${entries.length - 200}`}</li> : null}
      </ul>
    </details>
  );
};
