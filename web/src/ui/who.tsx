import type { ReactElement } from "react";
import { Foreign } from "./foreign.tsx";

/** Somebody by name, with the id under it where there is room; by the id alone where nobody knows the name. */
export const Who = ({
  id,
  name,
  isShort = false,
}: {
  readonly id: string;
  readonly name?: string | undefined;
  readonly isShort?: boolean;
}): ReactElement =>
  name === undefined || name === id ? (
    <Foreign text={id} isCode />
  ) : isShort ? (
    <span title={id}>
      <Foreign text={name} />
    </span>
  ) : (
    <>
      <Foreign text={name} /> <Foreign text={id} isCode />
    </>
  );
