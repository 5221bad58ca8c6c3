import { Problem, type ProblemCode } from "#contract/problem.ts";
import { digitsOf, isRawNumber, keepDigits } from "#contract/exact-numbers.ts";
import { isSameData, isSecretMap, markOf, type SecretData, type SecretMap } from "#secrets/model/secret-value.ts";
import type { RemovedSecret, SecretChange, Standing, WriteExpectation, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { parseVault, type Vault } from "./vault-document.ts";
import { applyChange, printVault, removeAt } from "./vault-edit.ts";
import { VaultFileError } from "./vault-file-error.ts";
import { MAX_FILE_BYTES } from "./vault-file.ts";
import { lookUp, nodesChanged, nodesRead } from "./vault-tree.ts";

/** What shall become of a file's text. */
export type VaultWish =
  | { readonly kind: "read" }
  | { readonly kind: "write"; readonly ref: SecretRef; readonly change: SecretChange; readonly expect: WriteExpectation }
  | {
      readonly kind: "remove";
      readonly ref: SecretRef;
      readonly decided: ReadonlySet<string>;
      readonly cas?: number;
      readonly onlyIf?: SecretData;
      readonly stands?: readonly Standing[];
    };

/** `text` is absent where the file stays as it is. */
export interface VaultDone {
  readonly root: SecretMap;
  readonly text?: string;
  readonly result?: WrittenSecret | RemovedSecret;
}

/** A refusal in words that go to another thread. */
export type VaultRefusal = { readonly issue: string } | { readonly problem: ProblemCode; readonly detail?: string };

const rebuilt = (data: SecretData, number: (data: SecretData) => SecretData): SecretData => {
  if (isSecretMap(data)) return new Map([...data].map(([name, item]) => [name, rebuilt(item, number)]));
  if (Array.isArray(data)) return data.map((item: SecretData) => rebuilt(item, number));
  return typeof data === "object" && data !== null ? number(data) : data;
};
/** A number that is kept by its digits is an object that no thread takes from another: it travels as plain text under a name. */
export const pack = <D extends SecretData>(data: D): D =>
  rebuilt(data, (number) => (isRawNumber(number) ? ({ rawJSON: digitsOf(number) } as SecretData) : number)) as D;
export const unpack = <D extends SecretData>(data: D): D =>
  rebuilt(data, (number) => keepDigits((number as { rawJSON: string }).rawJSON)) as D;

/** The wish with its data packed or unpacked. */
export const wishWith = (wish: VaultWish, how: (data: SecretData) => SecretData): VaultWish =>
  wish.kind === "write"
    ? { ...wish, change: { ...wish.change, value: how(wish.change.value) } }
    : wish.kind === "remove" && wish.onlyIf !== undefined
      ? { ...wish, onlyIf: how(wish.onlyIf) }
      : wish;

/** Throws `secret_not_found`, `key_not_found`. */
export const valueAt = (root: SecretMap, ref: SecretRef): SecretData => {
  const node = lookUp(root, ref.segments);
  if (!isSecretMap(node)) throw new Problem("secret_not_found");
  if (ref.key === undefined) return node;
  const value = node.get(ref.key);
  if (value === undefined) throw new Problem("key_not_found");
  return value;
};

const requireNoVersion = (cas: number | undefined): void => {
  if (cas !== undefined && cas !== 0) throw new Problem("not_supported", { detail: "The file keeps no versions: only cas 0." });
};
/** How these places stand in the file. */
const standingIn = (root: SecretMap, places: readonly Standing[]): readonly Standing[] =>
  places.map(({ place }) => {
    const node = lookUp(root, place.segments);
    return { place, mark: markOf(isSecretMap(node) ? node : undefined) };
  });

const requireStanding = (root: SecretMap, expected: readonly Standing[] = []): void => {
  const marks = standingIn(root, expected);
  if (!expected.every(({ mark }, at) => mark === marks[at]?.mark))
    throw new Problem("cas_mismatch", { detail: "The secret was changed after it was looked at." });
};

const taken = (): Problem => new Problem("cas_mismatch", { detail: "There is something at this path already." });

const requireUsable = (expect: WriteExpectation, present: SecretMap, ref: SecretRef, change: SecretChange): void => {
  requireStanding(present, expect.stands);
  requireNoVersion(expect.cas);
  if (expect.cas === 0 && isSecretMap(lookUp(present, ref.segments))) throw taken();
  if (!nodesChanged(present, ref, change).every((node) => expect.decided.has(node.id)))
    throw new Problem("busy", { detail: "The file changed after the decision." });
};

const write = (vault: Vault, { ref, change, expect }: VaultWish & { kind: "write" }): WrittenSecret => {
  requireUsable(expect, vault.root, ref, change);
  const node = lookUp(vault.root, ref.segments);
  const existed = ref.key === undefined ? isSecretMap(node) : isSecretMap(node) && node.has(ref.key);
  if (expect.mustNotExist === true && existed) throw new Problem("target_exists");
  if (expect.mustExist === true) valueAt(vault.root, ref);
  applyChange(vault.document, ref, change);
  return { created: !existed, isFirst: !isSecretMap(node), changed: true };
};

const remove = (vault: Vault, { ref, decided, cas, onlyIf, stands }: VaultWish & { kind: "remove" }): RemovedSecret => {
  requireStanding(vault.root, stands);
  requireNoVersion(cas);
  const found = valueAt(vault.root, ref);
  if (cas === 0) throw taken();
  if (!nodesRead(vault.root, ref).every((node) => decided.has(node.id)))
    throw new Problem("busy", { detail: "The file changed after the decision." });
  if (onlyIf !== undefined && !isSameData(found, onlyIf)) throw new Problem("source_changed");
  removeAt(vault.document, ref);
  return { result: "removed" };
};

/** What was made must be a file that this provider would read. */
const readBack = (text: string): SecretMap => {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Problem("value_too_large", { detail: "The secrets file would be too large." });
  try {
    return parseVault(text).root;
  } catch (cause) {
    throw new Problem("value_too_deep", { detail: "The secrets file would be nested too deeply.", cause });
  }
};

/** Reads a file's text, or makes the one that is wished of it. Throws `VaultFileError` for the text, a `Problem` for the wish. Cost: O(n). */
export const alterText = (text: string, wish: VaultWish): VaultDone => {
  const vault = parseVault(text);
  if (wish.kind === "read") return { root: vault.root };
  const result = wish.kind === "write" ? write(vault, wish) : remove(vault, wish);
  const made = printVault(vault.document);
  const root = readBack(made);
  const expected = wish.kind === "write" ? wish.expect.stands : wish.stands;
  const changed = markOf(root) !== markOf(vault.root);
  const stands = expected === undefined ? {} : { stands: standingIn(root, expected) };
  return { root, ...(changed ? { text: made } : {}), result: { ...result, ...(wish.kind === "write" ? { changed } : {}), ...stands } };
};

/** `undefined`: not of the kinds that are answered. */
export const refusalOf = (error: unknown): VaultRefusal | undefined => {
  if (error instanceof VaultFileError) return { issue: error.message };
  if (!(error instanceof Problem)) return undefined;
  return { problem: error.code, ...(error.options.detail === undefined ? {} : { detail: error.options.detail }) };
};
export const errorOf = (refusal: VaultRefusal): Error =>
  "issue" in refusal ? new VaultFileError(refusal.issue) : new Problem(refusal.problem, { detail: refusal.detail });
