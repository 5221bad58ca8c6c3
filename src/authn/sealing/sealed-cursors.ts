import { Problem, type ProblemCode } from "#contract/problem.ts";
import { createSealer, type InstanceSecrets } from "./seal.ts";

/** Where lists go on. Sealed, so nobody can read or make one; bound to the list, its filters and its reader; good for a while. */
export interface SealedCursors<Position> {
  /** `bound` and the position are JSON. */
  seal(position: Position, bound: unknown): string;
  /** Throws the refusal for one that is tampered with, another's, or old. */
  open(cursor: string, bound: unknown): Position;
}

/** A page out of rows of which one more than `limit` was asked for, and its last row where others follow. */
export const pageOf = <Row>(rows: readonly Row[], limit: number): { readonly page: readonly Row[]; readonly last: Row | undefined } => ({
  page: rows.slice(0, limit),
  last: rows.length > limit ? rows[limit - 1] : undefined,
});

export interface SealedCursorsParts {
  readonly secrets: InstanceSecrets;
  /** Whose cursors: those of another purpose do not open. */
  readonly purpose: string;
  readonly now: () => Date;
  /** 10 unless said. */
  readonly lifeMinutes?: number;
  /** `invalid_cursor` unless a protocol has its own word. */
  readonly refusal?: ProblemCode;
}

export const createSealedCursors = <Position>(parts: SealedCursorsParts): SealedCursors<Position> => {
  const sealer = createSealer(parts.secrets, parts.purpose);
  const lifeMs = (parts.lifeMinutes ?? 10) * 60_000;
  return {
    seal: (position, bound) =>
      Buffer.from(sealer.seal(JSON.stringify([parts.now().getTime() + lifeMs, position]), JSON.stringify(bound))).toString("base64url"),
    open: (cursor, bound) => {
      // Only the spelling that was given out: base64url has others for the same bytes.
      const bytes = Buffer.from(cursor, "base64url");
      const text = bytes.toString("base64url") === cursor ? sealer.open(bytes, JSON.stringify(bound)) : undefined;
      const [until, position] = text === undefined ? [0] : (JSON.parse(text) as [number, Position]);
      if (position === undefined || until < parts.now().getTime()) throw new Problem(parts.refusal ?? "invalid_cursor");
      return position;
    },
  };
};
