import type { ReactElement, ReactNode } from "react";
import { Foreign } from "./foreign.tsx";

/** Names with values, each a `Fact`. */
export const FactList = ({ children, isSmall }: { readonly children: ReactNode; readonly isSmall?: boolean }): ReactElement => (
  <dl className={isSmall === true ? "sp-facts sp-small" : "sp-facts"}>{children}</dl>
);

/** One of them; without a value it is left out. */
export const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement | null =>
  children === undefined ? null : (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );

/** One whose value is text of others. */
export const TextFact = ({
  name,
  text,
  isCode,
}: {
  readonly name: string;
  readonly text: string | undefined;
  readonly isCode?: boolean;
}): ReactElement => <Fact name={name}>{text === undefined ? undefined : <Foreign text={text} isCode={isCode} />}</Fact>;

/** One whose values are ids, one a line; or that there is none, where that is to be said. */
export const CodesFact = ({
  name,
  texts,
  none,
}: {
  readonly name: string;
  readonly texts: readonly string[];
  readonly none?: string;
}): ReactElement => (
  <Fact name={name}>
    {texts.length === 0 ? (
      none && <span className="sp-dim">{none}</span>
    ) : (
      <ul className="sp-list">
        {texts.map((text) => (
          <li key={text}>
            <Foreign text={text} isCode />
          </li>
        ))}
      </ul>
    )}
  </Fact>
);
