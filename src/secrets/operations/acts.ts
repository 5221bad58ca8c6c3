import { Problem } from "#contract/problem.ts";
import { secretOperations } from "#contract/secret-operations.ts";
import type { SecretAsk } from "#secrets/pipeline/pipeline.ts";
import type { RemovedSecret, SecretProvider, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import { parseSecretUri } from "#secrets/model/secret-uri.ts";
import { isSecretMap, parseSecretData } from "#secrets/model/secret-value.ts";
import { isAble } from "#contract/secret-schemes.ts";
import type { SchemeTable } from "#secrets/model/uri-schemes.ts";

/** What is done, read from a request: everything of the wish but who has it. */
export type Act<R> = Pick<SecretAsk<R>, "operation" | "uri" | "change" | "cas" | "act">;

interface Valued {
  readonly uri?: unknown;
  readonly value?: unknown;
  readonly cas?: number | undefined;
}

const changeOf = (body: Valued & { readonly replace?: boolean | undefined }, hasKey: boolean) => {
  if (body.value === undefined) throw new Problem("invalid_body", { errors: [{ path: "/value", message: "is required" }] });
  const change = { value: parseSecretData(body.value), replace: body.replace ?? false };
  if (!hasKey && !isSecretMap(change.value)) throw new Problem("value_shape", { detail: "Without a key in the URI the value is a map." });
  return change;
};

/** `If-Match: "3"`: the version that must stand there; a stale one is 412. */
const readIfMatch = (text: string | null): number | undefined => {
  if (text === null) return undefined;
  const version = /^"([1-9][0-9]{0,9})"$/.exec(text)?.[1];
  if (version === undefined) throw new Problem("stale_version");
  return Number(version);
};

/** The version that is changed and no other; two that differ are none. With another one there nothing is done: 409 where `cas` named it, 412 where `If-Match` did. */
const pinned = <R>({ act, ...rest }: Act<R>, cas: number | undefined, ifMatch: string | null): Act<R> => {
  if (ifMatch === null) return { ...rest, act, cas };
  if (!isAble(rest.uri.scheme, "versions")) throw new Problem("not_supported", { detail: "This store keeps no versions." });
  const version = readIfMatch(ifMatch);
  if (cas !== undefined && cas !== version)
    throw new Problem("invalid_body", {
      errors: [{ path: "/cas", message: `must be the version that If-Match names, ${String(version)}` }],
    });
  return {
    ...rest,
    cas: version,
    act: (...how) =>
      act(...how).catch((error: unknown) => {
        if (error instanceof Problem && error.code === "cas_mismatch") throw new Problem("stale_version", { cause: error });
        throw error;
      }),
  };
};

export const writeAct = (
  schemes: SchemeTable,
  body: Valued & { readonly replace?: boolean | undefined },
  ifMatch: string | null = null,
): Act<WrittenSecret> => {
  const uri = parseSecretUri(body.uri, schemes);
  if (uri.version !== undefined) throw new Problem("uri_version_not_allowed");
  const change = changeOf(body, uri.key !== undefined);
  const act: Act<WrittenSecret>["act"] = (provider, ref, permit, { intend, cas, stands }) =>
    provider.write(ref, change, { decided: permit.nodes, cas, stands, intend });
  return pinned({ operation: secretOperations.write, uri, change, act }, body.cas, ifMatch);
};

/** The file has the new value in the place of one that is there; a store of versions makes the next one, of what is not there the first. */
export const rotateAct = (schemes: SchemeTable, body: Valued, ifMatch: string | null = null): Act<WrittenSecret> => {
  const uri = parseSecretUri(body.uri, schemes);
  const change = { ...changeOf(body, uri.key !== undefined), replace: uri.key === undefined };
  const act: Act<WrittenSecret>["act"] = (provider, ref, permit, { intend, cas, stands }) =>
    provider.write(ref, change, { decided: permit.nodes, cas, stands, intend, mustExist: !provider.can.has("versions") });
  return pinned({ operation: secretOperations.rotate, uri, change, act }, body.cas, ifMatch);
};

export const removeAct = (
  schemes: SchemeTable,
  { uri, cas }: Pick<Valued, "uri" | "cas">,
  hard: boolean,
  ifMatch: string | null = null,
): Act<RemovedSecret> =>
  pinned(
    {
      operation: hard ? secretOperations.destroy : secretOperations.delete,
      uri: parseSecretUri(uri, schemes),
      act: (provider, ref, permit, { intend, cas: at, stands }) =>
        provider.remove(ref, { hard, decided: permit.nodes, intend, cas: at, stands }),
    },
    cas,
    ifMatch,
  );

const readVersions = (versions: unknown): readonly number[] => {
  const isVersion = (one: unknown): one is number => typeof one === "number" && Number.isSafeInteger(one) && one >= 1;
  if (
    !Array.isArray(versions) ||
    versions.length < 1 ||
    versions.length > 100 ||
    !versions.every(isVersion) ||
    new Set(versions).size < versions.length
  )
    throw new Problem("versions_required");
  return versions;
};

export const settleAct = (
  schemes: SchemeTable,
  body: Pick<Valued, "uri" | "cas"> & { readonly versions?: unknown },
  how: "undelete" | "destroy",
  ifMatch: string | null = null,
): Act<Awaited<ReturnType<SecretProvider["settle"]>>> => {
  const uri = parseSecretUri(body.uri, schemes);
  const versions = readVersions(body.versions);
  const operation = how === "undelete" ? secretOperations.undelete : secretOperations.destroyVersions;
  const act: Act<Awaited<ReturnType<SecretProvider["settle"]>>>["act"] = (provider, ref, _permit, { intend, cas }) =>
    provider.settle(ref, versions, how, { intend, cas });
  return pinned({ operation, uri, act }, body.cas, ifMatch);
};
