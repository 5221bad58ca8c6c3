import { Problem } from "#contract/problem.ts";
import { asProblem } from "#http/problem-body.ts";
import { requireDecided, type SecretPermit } from "#secrets/pipeline/authorize-secret.ts";
import { secretStores } from "#contract/secret-schemes.ts";
import { secretOperations, type SecretOperation } from "#contract/secret-operations.ts";
import type { OperationPipeline, Performed, Who } from "#secrets/pipeline/pipeline.ts";
import type {
  Intend,
  ReadSecret,
  SecretChange,
  SecretProvider,
  WriteExpectation,
  WrittenSecret,
} from "#secrets/providers/secret-provider.ts";
import { formatPrefix, type SecretPrefix, type SecretUri } from "#secrets/model/secret-uri.ts";
import { isSameData, isSecretMap, SecretValue, type SecretData } from "#secrets/model/secret-value.ts";
import { isBelow, type SecretRef } from "#secrets/model/tenant-guard.ts";

/** One secret, or a key of it, to another place. */
export interface Carry {
  readonly from: SecretUri;
  readonly to: SecretUri;
  readonly overwrite: boolean;
  /** The version at the target that is overwritten, where one was looked at before. */
  readonly cas: number | undefined;
  readonly who: Who;
}

/** Both are, or are keys of, one secret: what is written to one makes the next version of the other. */
export const isOnePath = (from: SecretUri, to: SecretUri): boolean => formatPrefix(from) === formatPrefix(to);

/** The path to what is addressed, in a store where a key that holds a map and a path to that map are one thing. */
const stepsOf = ({ scheme, mount, segments }: SecretUri, key: string | undefined): SecretPrefix => ({
  scheme,
  mount,
  segments: key === undefined ? segments : [...segments, key],
});

/** Whether one holds the other in their store: taking the one away, or putting something in its place, would take the other. */
const overlap = (from: SecretUri, to: SecretUri): boolean => {
  if (secretStores[from.scheme].grammar.nestsSecrets !== true) return false;
  const [source, target] = [stepsOf(from, from.key), stepsOf(to, to.key ?? from.key)];
  return isBelow(source, target) || isBelow(target, source);
};

/** Throws `same_resource` (400), `copy_shape` (422) before anybody is asked. */
export const requireCarriable = ({ from, to }: Carry): void => {
  // A key keeps its name at a path: also where that is its own.
  if (from.id === to.id || (isOnePath(from, to) && to.key === undefined)) throw new Problem("same_resource");
  if (overlap(from, to)) throw new Problem("same_resource", { detail: "In the file one of the two holds the other." });
  if (to.version !== undefined) throw new Problem("uri_version_not_allowed");
  if (from.key === undefined && to.key !== undefined) throw new Problem("copy_shape");
};

/** A map takes the place of the target's; a key without one at the target keeps its name there. */
const changeOf = ({ from, to }: Carry, value: SecretData): SecretChange => {
  if (from.key === undefined && !isSecretMap(value)) throw new Problem("copy_shape");
  return from.key !== undefined && to.key === undefined
    ? { value: new Map([[from.key, value]]), replace: false }
    : { value, replace: from.key === undefined };
};

const writeTo = ({ to, cas, who }: Carry) => ({ operation: secretOperations.write, uri: to, cas, argument: "toUri", ...who });

/** Whether the caller may write the target at all, and what lies there now, before the source is read. */
export const lookAtTarget = (perform: OperationPipeline, carry: Carry): ReturnType<OperationPipeline["look"]> =>
  perform.look({ ...writeTo(carry), change: changeOf(carry, carry.from.key === undefined ? new Map() : "") });

/** The source's part of a copy or a move. */
export const sourceOf = (operation: SecretOperation, { from, who }: Carry) => ({ operation, uri: from, argument: "fromUri", ...who });

/** Whether anything is there: a read whose value goes nowhere. */
const isThere = async (provider: SecretProvider, ref: SecretRef): Promise<boolean> => {
  try {
    await provider.read(ref);
    return true;
  } catch (error) {
    const { status } = asProblem(error);
    if (status !== 404 && status !== 410) throw error;
    return false;
  }
};

class Reached extends Error {}

/** An act up to where it would touch its store: what refuses it before refuses this. */
export const untilTouched = async (act: (intend: Intend) => Promise<unknown>): Promise<void> => {
  try {
    await act(async () => {
      throw new Reached();
    });
  } catch (error) {
    if (!(error instanceof Reached)) throw error;
  }
};

/** How the target is written: over what is there only where that is wanted. */
const expectOf = ({ overwrite, cas }: Carry, { nodes: decided }: SecretPermit, intend: Intend): WriteExpectation => ({
  decided,
  intend,
  ...(overwrite ? { cas } : { mustNotExist: true }),
});

/** What only looks is recorded as a read, and told nobody. */
const looking = ({ event: _event, ...operation }: SecretOperation): SecretOperation => ({ ...operation, op: secretOperations.read.op });

/** All that may refuse a copy, or a move, and nothing of it done. `removes`: what else the source must let be done. Throws as they do. */
export const lookAtCarry = async (
  perform: OperationPipeline,
  operation: SecretOperation,
  carry: Carry,
  removes?: (provider: SecretProvider, ref: SecretRef, permit: SecretPermit, read: ReadSecret) => Promise<void>,
) => {
  requireCarriable(carry);
  await lookAtTarget(perform, carry);
  const { result } = await perform({
    ...sourceOf(looking(operation), carry),
    act: async (provider, ref, permit) => {
      const read = requireDecided(await provider.read(ref), permit);
      const change = changeOf(carry, SecretValue.reveal(read.value));
      const target = await perform({
        ...writeTo(carry),
        operation: looking(secretOperations.write),
        change,
        act: async (to, at, may) => {
          await untilTouched((intend) => to.write(at, change, expectOf(carry, may, intend)));
          return { created: !(await isThere(to, at)) };
        },
      });
      await removes?.(provider, ref, permit, read);
      return { version: read.version, created: target.result.created };
    },
  });
  return { from: carry.from.canonical, to: carry.to.canonical, created: result.created, verified: false };
};

/** Reads back what was written. Throws `copy_unverified` where it is something else, or cannot be read. */
const verify = async (read: () => Promise<ReadSecret>, ref: SecretRef, change: SecretChange): Promise<void> => {
  const there = SecretValue.reveal(
    (
      await read().catch((cause: unknown) => {
        throw new Problem("copy_unverified", { detail: "The copy was written, and could not be read back.", cause });
      })
    ).value,
  );
  const isWhole = ref.key === undefined && !change.replace && isSecretMap(there) && isSecretMap(change.value);
  const same = isWhole
    ? [...(change.value as ReadonlyMap<string, never>)].every(([name, item]) => isSameData(there.get(name), item))
    : isSameData(there, change.value);
  if (!same) throw new Problem("copy_unverified", { detail: "The target was written, and holds something else now." });
};

/** Writes what was read to the target, as a write of its own with its decision and record, and reads it back when that is recorded. */
export const putAtTarget = async (perform: OperationPipeline, carry: Carry, read: ReadSecret): Promise<Performed<WrittenSecret>> => {
  const change = changeOf(carry, SecretValue.reveal(read.value));
  let readBack: (() => Promise<ReadSecret>) | undefined;
  const done = await perform({
    ...writeTo(carry),
    change,
    act: async (provider, ref, permit, { intend }) => {
      const written = await provider.write(ref, change, expectOf(carry, permit, intend));
      readBack = () => provider.read(written.version === undefined ? ref : { ...ref, version: written.version });
      return written;
    },
  });
  if (readBack !== undefined) await verify(readBack, done.ref, change);
  return done;
};

export const carriedReply = (carry: Carry, written: WrittenSecret) => ({
  from: carry.from.canonical,
  to: carry.to.canonical,
  version: written.version,
  created: written.created,
  verified: true,
});

/** Copies under two decisions, reading the source and writing the target, neither of which is touched before both. */
export const copySecretTo = async (perform: OperationPipeline, carry: Carry) => {
  requireCarriable(carry);
  await lookAtTarget(perform, carry);
  const done = await perform({
    ...sourceOf(secretOperations.copy, carry),
    act: async (provider, ref, permit) => {
      const read = requireDecided(await provider.read(ref), permit);
      return { version: read.version, put: await putAtTarget(perform, carry, read) };
    },
    isDone: ({ put }) => put.isDone,
  });
  return carriedReply(carry, done.result.put.result);
};
