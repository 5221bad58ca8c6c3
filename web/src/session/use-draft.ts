import { useCallback, useState } from "react";
import { readDraft, writeDraft } from "./drafts.ts";
import { useSession } from "./session-context.ts";

export interface Draft<T> {
  readonly value: T;
  readonly change: (next: T) => void;
  readonly forget: () => void;
  /** The value was there from before. */
  readonly wasRestored: boolean;
}

export interface DraftShape<T> {
  /** What was kept, if it still has the right form. */
  readonly read: (kept: unknown) => T | undefined;
  /** What may be kept: without secret fields. */
  readonly keep?: (value: T) => unknown;
}

/** State of a form that survives a reload or a sign-in, in this tab, for this person. */
export const useDraft = <T>(name: string, initial: T, shape: DraftShape<T>): Draft<T> => {
  const { subject } = useSession();
  const [kept] = useState(() => {
    const found = readDraft(sessionStorage, subject.id, name);
    return found === undefined ? undefined : shape.read(found);
  });
  const [value, setValue] = useState<T>(kept ?? initial);
  const { keep } = shape;
  const change = useCallback(
    (next: T) => {
      setValue(next);
      writeDraft(sessionStorage, subject.id, name, keep === undefined ? next : keep(next));
    },
    [subject.id, name, keep],
  );
  const forget = useCallback(() => {
    writeDraft(sessionStorage, subject.id, name, undefined);
    setValue(initial);
  }, [subject.id, name, initial]);
  return { value, change, forget, wasRestored: kept !== undefined };
};
