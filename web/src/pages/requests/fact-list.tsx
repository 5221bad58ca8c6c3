import type { ReactElement, ReactNode } from "react";

/** Names with values; rows without a value are left out. */
export const FactList = ({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }): ReactElement => (
  <dl className="sp-facts">
    {rows
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
