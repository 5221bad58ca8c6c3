import { z } from "zod";
import type { Redis, RedisReply } from "#store/redis.ts";
import { createChangeFeed } from "./change-feed.ts";
import { guardStore } from "./guard-store.ts";
import * as scripts from "./redis-session-scripts.ts";
import { isRef, reasonOfExpiry, type SessionRecord, type SessionStore, type SessionsWhere } from "./session-store.ts";

/** The part of a session that never changes, as Redis keeps it. */
const fixed = z.object({
  ref: z.string(),
  generation: z.number(),
  subject: z.string(),
  tenant: z.string(),
  issuer: z.string(),
  idpSid: z.string().optional(),
  idpSub: z.string().optional(),
  acr: z.string().optional(),
  amr: z.array(z.string()),
  authTime: z.number().optional(),
  claims: z.object({ name: z.string(), user_agent: z.string() }),
  uaHash: z.string().optional(),
  netHash: z.string().optional(),
  createdAt: z.number(),
});

const FIELDS = ["r", "seen", "idle", "absolute", "access", "tokens", "generation"] as const;
/** Past its limits a session is ended and told by a sweep; if nobody sweeps for a day, Redis forgets it by itself. */
const KEPT_AFTER_MS = 86_400_000;
const SWEPT_AT_ONCE = 500;

/** The shape leaves out every other member: never a token beside them. */
const encodeFixed = (record: SessionRecord): string => JSON.stringify(fixed.parse({ ...record, createdAt: record.createdAt.getTime() }));

const msOf = (date: Date): string => String(date.getTime());

/** `undefined`: there is no such session. */
const recordOf = (sidHash: string, reply: RedisReply): SessionRecord | undefined => {
  const [r, seen, idle, absolute, access, tokens, generation] = reply as readonly (string | null)[];
  if (r === undefined || r === null) return undefined;
  const { createdAt, ...kept } = fixed.parse(JSON.parse(r));
  const dateOf = (text: string | null | undefined): Date => new Date(Number(text));
  return {
    sidHash,
    ...kept,
    createdAt: new Date(createdAt),
    lastSeenAt: dateOf(seen),
    idleExpiresAt: dateOf(idle),
    absoluteExpiresAt: dateOf(absolute),
    accessExpiresAt: access === "" || access === null || access === undefined ? undefined : dateOf(access),
    tokens: new Uint8Array(Buffer.from(tokens ?? "", "base64")),
    tokenGeneration: Number(generation),
  };
};

const recordsOf = (reply: RedisReply): readonly SessionRecord[] =>
  (reply as readonly (readonly [string, RedisReply])[]).flatMap(([sidHash, values]) => recordOf(sidHash, values) ?? []);

/** What the ending script is asked. */
const whereOf = (which: SessionsWhere): readonly string[] => {
  if ("sidHash" in which) return ["hash", which.sidHash];
  if ("idpSid" in which) return ["index", `idp-sid:${which.issuer} ${which.idpSid}`];
  if ("idpSub" in which) return ["index", `idp-sub:${which.issuer} ${which.idpSub}`];
  if (which.ref !== undefined) return ["ref", which.ref, which.tenant, which.subject ?? ""];
  return ["index", which.subject === undefined ? `tenant:${which.tenant}` : `person:${which.tenant} ${which.subject}`];
};

/** Sessions in a Redis that all replicas share. Each change is one script, which also tells it. */
export const createRedisSessionStore = (redis: Redis): SessionStore => {
  const run = (script: Parameters<Redis["script"]>[0], values: readonly (string | number)[]) =>
    guardStore(() => redis.script(script, [], values));
  const feed = createChangeFeed({
    publish: (message) => redis.publish(scripts.CHANNEL, message),
    subscribe: (received, regained) => redis.subscribe(scripts.CHANNEL, received, regained),
    isConnected: () => redis.isListening(),
    isAlone: false,
  });
  const endExpired: SessionStore["endExpired"] = async (now) => {
    const records = recordsOf(await run(scripts.END_EXPIRED, [msOf(now)]));
    feed.spreadEnds(records, (record) => reasonOfExpiry(record, now));
    const ended = records.map((record) => ({ record, reason: reasonOfExpiry(record, now) }));
    return records.length < SWEPT_AT_ONCE ? ended : [...ended, ...(await endExpired(now))];
  };
  const read: SessionStore["read"] = async (sidHash) =>
    recordOf(sidHash, await guardStore(() => redis.run("read", ["HMGET", `${scripts.PREFIX}at:${sidHash}`, ...FIELDS])));

  return {
    read,
    create: async (record, replaces) => {
      const reply = await run(scripts.CREATE, [
        record.sidHash,
        encodeFixed(record),
        msOf(record.lastSeenAt),
        msOf(record.idleExpiresAt),
        msOf(record.absoluteExpiresAt),
        record.accessExpiresAt === undefined ? "" : msOf(record.accessExpiresAt),
        Buffer.from(record.tokens).toString("base64"),
        record.tokenGeneration,
        msOf(record.createdAt),
        record.absoluteExpiresAt.getTime() - record.createdAt.getTime() + KEPT_AFTER_MS,
        replaces ?? "",
      ]);
      const replaced = reply === null || replaces === undefined ? undefined : recordOf(replaces, reply);
      if (replaced !== undefined) feed.spreadEnds([replaced], () => "replaced");
      return replaced;
    },
    touch: async (sidHash, lastSeenAt, idleExpiresAt) => {
      await run(scripts.TOUCH, [sidHash, msOf(lastSeenAt), msOf(idleExpiresAt)]);
    },
    lease: async (sidHash, ask) => {
      const kind = await run(scripts.LEASE, [sidHash, ask.generation, ask.owner, ask.milliseconds]);
      if (kind === "held" || kind === "unknown") return { kind: "held", afterUnknown: kind === "unknown" };
      return { kind: kind === "taken" ? "taken" : "moved" };
    },
    release: async (sidHash, owner, outcome) => {
      await run(scripts.RELEASE, [sidHash, owner, outcome]);
    },
    replaceTokens: async (sidHash, expectedGeneration, next) => {
      const sealed = Buffer.from(next.tokens).toString("base64");
      const access = next.accessExpiresAt === undefined ? "" : msOf(next.accessExpiresAt);
      const ref = await run(scripts.REPLACE_TOKENS, [sidHash, expectedGeneration, sealed, access]);
      if (typeof ref === "string") feed.spread([{ ref, kind: "changed" }]);
      return typeof ref === "string";
    },
    end: async (which, reason) => {
      if ("ref" in which && which.ref !== undefined && !isRef(which.ref)) return [];
      const records = recordsOf(await run(scripts.END, [reason, ...whereOf(which)]));
      feed.spreadEnds(records, () => reason);
      return records;
    },
    endExpired,
    list: async (of, { now, limit, after }) => {
      if (of.ref !== undefined) {
        if (!isRef(of.ref)) return [];
        const sidHash = await guardStore(() => redis.run("read_ref", ["GET", `${scripts.PREFIX}ref:${of.ref}`]));
        const record = typeof sidHash === "string" ? await read(sidHash) : undefined;
        const isLiving = record !== undefined && record.idleExpiresAt > now && record.absoluteExpiresAt > now;
        const isMeant = record?.tenant === of.tenant && (of.subject === undefined || record.subject === of.subject);
        return isLiving && isMeant ? [record] : [];
      }
      const place = after === undefined ? ["", ""] : [msOf(after.createdAt), after.ref];
      return recordsOf(await run(scripts.LIST, [whereOf(of)[1] ?? "", msOf(now), limit, ...place]));
    },
    isShared: async ({ issuer, idpSid, idpSub }, now) => {
      const indexes = [idpSid && whereOf({ issuer, idpSid })[1], idpSub && whereOf({ issuer, idpSub })[1]];
      return (await run(scripts.SHARED, [msOf(now), ...indexes.map((index) => index ?? "")])) === 1;
    },
    count: async (now) =>
      Number(await guardStore(() => redis.run("count", ["ZCOUNT", `${scripts.PREFIX}expiry`, `(${msOf(now)}`, "+inf"]))),
    changes: (received, regained) => guardStore(() => feed.changes(received, regained)),
    ready: () => guardStore(() => redis.ready()),
  };
};
