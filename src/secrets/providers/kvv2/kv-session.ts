import { readFile } from "node:fs/promises";
import { Problem } from "#contract/problem.ts";
import type { StorePosition } from "#secrets/model/store-position.ts";
import type { KvServer } from "./kv-settings.ts";

/** What signing in and renewing ask the server; `undefined` = it refused. Throws `provider_unavailable`. */
export type AskForToken = (path: string, body: unknown, token: string | undefined) => Promise<Record<string, unknown> | undefined>;

/** What is kept of one server, whichever scheme it is asked by. */
export interface KvMemory {
  /** The farthest that it has answered, here or to another process: a node must have come so far before it answers. */
  position?: StorePosition;
  /** Since when each answer comes from farther back, in ms. */
  behindSince?: number;
  /** It does not take `X-Vault-Inconsistent`: what is behind is asked again. */
  isPlain?: boolean;
  /** Had once from its wrapping token. */
  secretId?: Promise<string>;
}

interface Lease {
  readonly token: string;
  readonly canRenew: boolean;
  /** When two thirds of its life are over, by the clock of this machine. */
  readonly renewAt: number;
}

const readLease = (auth: unknown, now: number): Lease | undefined => {
  if (typeof auth !== "object" || auth === null) return undefined;
  const { client_token: token, lease_duration: seconds, renewable } = auth as Record<string, unknown>;
  if (typeof token !== "string" || typeof seconds !== "number") return undefined;
  // Replicas that started together shall not renew together.
  const part = (2 / 3) * (0.9 + Math.random() * 0.2);
  return { token, canRenew: renewable === true, renewAt: seconds === 0 ? Number.POSITIVE_INFINITY : now + seconds * 1000 * part };
};

const readSecretFile = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (cause) {
    throw new Problem("provider_unavailable", { detail: "The file with the store's credential cannot be read.", cause });
  }
};

/**
 * The token of one server: had by whatever the settings name, renewed in time, had anew when it is refused. One sign-in or renewal at
 * a time: whoever needs a token meanwhile waits for that one.
 */
export const createKvSession = (server: KvServer, ask: AskForToken, now: () => number, memory: KvMemory) => {
  let lease: Lease | undefined;
  let underWay: Promise<Lease> | undefined;

  /** A wrapping token that says another origin was made by somebody else; one that is gone was opened by somebody else. */
  const unwrap = async (wrapped: string): Promise<string> => {
    const refuse = (detail: string): never => {
      throw new Problem("provider_denied", { detail });
    };
    const origin = (await ask("sys/wrapping/lookup", { token: wrapped }, undefined))?.["data"] as { creation_path?: unknown } | undefined;
    if (origin === undefined) return refuse("The wrapped secret id was opened already, or is too old.");
    const path = `auth/${server.approleMount}/role/`;
    const made = typeof origin.creation_path === "string" ? origin.creation_path : "";
    if (!made.startsWith(path) || !/^[^/]+\/secret-id$/.test(made.slice(path.length)))
      return refuse("What is wrapped is no secret id of this AppRole.");
    const { secret_id: id } = ((await ask("sys/wrapping/unwrap", {}, wrapped))?.["data"] ?? {}) as { secret_id?: unknown };
    return typeof id === "string" ? id : refuse("The wrapped secret id was opened already, or is too old.");
  };
  const unwrapOnce = (wrapped: string): Promise<string> => {
    const opened = memory.secretId ?? unwrap(wrapped);
    memory.secretId = opened;
    // A store that did not answer may be asked again; what was refused stays so.
    opened.catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== "provider_denied") delete memory.secretId;
    });
    return opened;
  };
  const secretIdOf = (): Promise<string> | string =>
    server.secretId ??
    (server.secretIdWrapped === undefined ? readSecretFile(server.secretIdFile ?? "") : unwrapOnce(server.secretIdWrapped));

  const signIn = async (): Promise<Lease> => {
    if (server.roleId === undefined) {
      const token = server.token ?? (await readSecretFile(server.tokenFile ?? ""));
      const renewed = await ask("auth/token/renew-self", {}, token);
      // A token that cannot be renewed, a root token among them, is used as it is.
      return readLease(renewed?.["auth"], now()) ?? { token, canRenew: false, renewAt: Number.POSITIVE_INFINITY };
    }
    const secretId = await secretIdOf();
    const answer = await ask(`auth/${server.approleMount}/login`, { role_id: server.roleId, secret_id: secretId }, undefined);
    const made = readLease(answer?.["auth"], now());
    if (made === undefined) throw new Problem("provider_unavailable", { detail: "The store refused Sallyport's sign-in." });
    return made;
  };
  const renew = async (old: Lease): Promise<Lease> => {
    if (!old.canRenew) return signIn();
    const next = readLease((await ask("auth/token/renew-self", {}, old.token))?.["auth"], now());
    // At the end of its longest life a renewal adds nothing: the same token would be renewed without end.
    return next === undefined || next.renewAt < now() + 1000 ? signIn() : next;
  };
  const once = (work: () => Promise<Lease>): Promise<Lease> => {
    underWay ??= work()
      .then((made) => (lease = made))
      .finally(() => (underWay = undefined));
    return underWay;
  };

  return {
    token: async (): Promise<string> => {
      const held = lease;
      if (held === undefined) return (await once(signIn)).token;
      return held.renewAt > now() ? held.token : (await once(() => renew(held))).token;
    },
    /** The server refused this token; `false`: there is no other to be had. */
    refused: async (token: string): Promise<boolean> => {
      if (lease?.token !== token) return true;
      if (server.roleId === undefined && server.tokenFile === undefined) return false;
      const made = await once(signIn);
      return made.token !== token;
    },
  };
};
