import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { until } from "#testing/until.ts";
import { hashSid, makeSid } from "./session-id.ts";
import type { SessionChange, SessionRecord, SessionStore } from "./session-store.ts";

const start = new Date("2026-01-01T10:00:00.000Z");
const later = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);

export const sampleSession = (more: Partial<SessionRecord> = {}): SessionRecord => ({
  sidHash: hashSid(makeSid()),
  ref: randomUUID(),
  generation: 1,
  subject: "person:ben",
  tenant: "tenant:acme",
  issuer: "http://localhost:8081",
  idpSid: undefined,
  idpSub: undefined,
  acr: undefined,
  amr: ["pwd"],
  authTime: 1_767_261_600,
  claims: { name: "Ben", user_agent: "Firefox on Linux" },
  uaHash: "ua",
  netHash: undefined,
  createdAt: start,
  lastSeenAt: start,
  idleExpiresAt: later(3600),
  absoluteExpiresAt: later(28_800),
  accessExpiresAt: later(300),
  tokens: Uint8Array.from([1, 2, 3]),
  tokenGeneration: 1,
  ...more,
});

const receivedWithin = async (holds: () => boolean | Promise<boolean>): Promise<void> => void (await until(holds));

/** What every session store must do. `pair` makes two stores over one keeping, as two replicas have. */
export const sessionStoreContract: readonly (readonly [
  name: string,
  run: (pair: readonly [SessionStore, SessionStore]) => Promise<void>,
])[] = [
  [
    "a session comes back as it was kept, from every replica, and only by its own hash",
    async ([one, other]) => {
      const record = sampleSession({ idpSid: "s1", idpSub: "ben@provider", acr: "strong", netHash: "net" });
      assert.equal(await one.create(record), undefined);
      assert.deepEqual(normal(await other.read(record.sidHash)), normal(record));
      assert.equal(await one.read(hashSid(makeSid())), undefined);
      const bare = sampleSession({ acr: undefined, authTime: undefined, accessExpiresAt: undefined, uaHash: undefined, amr: [] });
      await one.create(bare);
      assert.deepEqual(normal(await one.read(bare.sidHash)), normal(bare));
    },
  ],
  [
    "a new session ends the one it replaces in the same step",
    async ([one]) => {
      const old = sampleSession();
      await one.create(old);
      const fresh = sampleSession();
      assert.equal((await one.create(fresh, old.sidHash))?.ref, old.ref);
      assert.equal(await one.read(old.sidHash), undefined);
      assert.equal(await one.create(sampleSession(), hashSid(makeSid())), undefined, "nothing to replace is no fault");
    },
  ],
  [
    "the idle limit slides forwards and never back",
    async ([one]) => {
      const record = sampleSession();
      await one.create(record);
      await one.touch(record.sidHash, later(120), later(3720));
      await one.touch(record.sidHash, later(60), later(3660));
      const read = await one.read(record.sidHash);
      assert.equal(read?.lastSeenAt.getTime(), later(120).getTime());
      assert.equal(read?.idleExpiresAt.getTime(), later(3720).getTime());
      assert.equal(read?.absoluteExpiresAt.getTime(), record.absoluteExpiresAt.getTime());
    },
  ],
  [
    "of two refreshes of one generation exactly one is kept",
    async ([one, other]) => {
      const record = sampleSession();
      await one.create(record);
      const results = await Promise.all(
        [one, other, one, other].map((store, index) =>
          store.replaceTokens(record.sidHash, 1, { tokens: Uint8Array.from([index]), accessExpiresAt: later(600) }),
        ),
      );
      assert.equal(results.filter(Boolean).length, 1);
      const read = await one.read(record.sidHash);
      assert.equal(read?.tokenGeneration, 2);
      assert.deepEqual([...(read?.tokens ?? [])], [results.indexOf(true)]);
      assert.equal(await one.replaceTokens(record.sidHash, 1, { tokens: new Uint8Array(), accessExpiresAt: undefined }), false);
      assert.equal(await one.replaceTokens(record.sidHash, 2, { tokens: new Uint8Array(), accessExpiresAt: undefined }), true);
      assert.equal((await one.read(record.sidHash))?.accessExpiresAt, undefined);
    },
  ],
  [
    "ending says what ended, once, and reaches only whom it names",
    async ([one, other]) => {
      const [a, b, c, d] = [
        sampleSession(),
        sampleSession(),
        sampleSession({ subject: "person:eve" }),
        sampleSession({ tenant: "tenant:globex" }),
      ];
      for (const record of [a, b, c, d]) await one.create(record);
      assert.deepEqual(
        (await other.end({ sidHash: a.sidHash }, "logout")).map((record) => record.ref),
        [a.ref],
      );
      assert.deepEqual(await one.end({ sidHash: a.sidHash }, "logout"), []);
      assert.deepEqual(await one.end({ tenant: "tenant:acme", subject: "person:ben", ref: c.ref }, "admin"), [], "another subject's");
      assert.deepEqual(await one.end({ tenant: "tenant:acme", subject: "person:ben", ref: "no-uuid" }, "admin"), []);
      assert.deepEqual(
        (await one.end({ tenant: "tenant:acme", subject: "person:ben" }, "everywhere")).map((record) => record.ref),
        [b.ref],
      );
      assert.ok(await one.read(c.sidHash));
      assert.ok(await one.read(d.sidHash));
    },
  ],
  [
    "lists and counts hold living sessions alone, newest first, of one subject in one tenant",
    async ([one]) => {
      const old = sampleSession({ createdAt: later(-60) });
      const fresh = sampleSession({ createdAt: later(60) });
      const dead = sampleSession({ idleExpiresAt: later(-1) });
      for (const record of [old, fresh, dead, sampleSession({ subject: "person:eve" }), sampleSession({ tenant: "tenant:globex" })])
        await one.create(record);
      const of = { tenant: "tenant:acme", subject: "person:ben" };
      const page = { now: start, limit: 10 };
      const refs = async (...asked: Parameters<SessionStore["list"]>) => (await one.list(...asked)).map((record) => record.ref);
      assert.deepEqual(await refs(of, page), [fresh.ref, old.ref]);
      assert.deepEqual(await refs({ ...of, ref: old.ref }, page), [old.ref]);
      assert.deepEqual(await refs({ ...of, ref: dead.ref }, page), []);
      assert.deepEqual(await refs({ ...of, subject: "person:eve", ref: old.ref }, page), [], "another subject's");
      assert.deepEqual(await refs({ tenant: "tenant:globex", ref: old.ref }, page), [], "another tenant's");
      assert.deepEqual(await refs({ ...of, ref: "x" }, page), []);
      assert.equal((await refs({ tenant: "tenant:acme" }, page)).length, 3);
      assert.equal(await one.count(start), 4);
    },
  ],
  [
    "a session of the provider is shared while a living one came from it, or may have",
    async ([one, other]) => {
      const at = { issuer: "https://provider.example", idpSid: "s1", idpSub: "ben" };
      const is = (more: Partial<typeof at> | { idpSid: undefined } | { idpSub: undefined } = {}, now = start) =>
        other.isShared({ ...at, ...more }, now);
      assert.equal(await is(), false);
      const named = sampleSession(at);
      await one.create(named);
      assert.equal(await is(), true);
      assert.equal(await is({ idpSub: undefined }), true);
      assert.equal(await is({ idpSid: undefined }), true, "it may be that one");
      assert.equal(await is({ idpSid: undefined, idpSub: undefined }), false);
      assert.equal(await is({ idpSid: "s2" }), false);
      assert.equal(await is({ idpSid: undefined, idpSub: "eve" }), false);
      assert.equal(await is({ issuer: "https://other.example" }), false);
      assert.equal(await is({}, later(3600)), false, "past its limit");
      await one.touch(named.sidHash, later(60), later(4000));
      assert.equal(await is({}, later(3600)), true);
      await one.end({ sidHash: named.sidHash }, "logout");
      assert.equal(await is(), false);
      await one.create(sampleSession({ ...at, idpSid: undefined }));
      assert.equal(await is(), true, "a session without a name may be any of that person's");
      assert.equal(await is({ idpSid: "s2" }), true);
      assert.equal(await is({ idpSub: "eve" }), false);
    },
  ],
  [
    "a list is read page by page, sessions of one moment among them, and no one twice",
    async ([one]) => {
      const made = [0, 0, 0, 0, 60, 120, 120].map((seconds) => sampleSession({ createdAt: later(seconds) }));
      for (const record of made) await one.create(record);
      const wanted = made
        .toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.ref < b.ref ? -1 : 1))
        .map(({ ref }) => ref);
      const seen: string[] = [];
      for (let after: SessionRecord | undefined; seen.length < 20;) {
        const page = await one.list({ tenant: "tenant:acme" }, { now: start, limit: 2, after });
        seen.push(...page.map((record) => record.ref));
        after = page.at(-1);
        if (after === undefined) break;
      }
      assert.deepEqual(seen, wanted);
    },
  ],
  [
    "the provider's names end what they name, in its own name alone",
    async ([one]) => {
      const at = { issuer: "https://a.example", idpSub: "u1" };
      const [a, b, c, d] = [
        sampleSession({ ...at, idpSid: "s1" }),
        sampleSession({ ...at, idpSid: "s2", tenant: "tenant:globex" }),
        sampleSession({ issuer: "https://b.example", idpSub: "u1", idpSid: "s1" }),
        sampleSession({ issuer: "https://a.example", idpSub: "u2" }),
      ];
      for (const record of [a, b, c, d]) await one.create(record);
      const ended = async (which: Parameters<SessionStore["end"]>[0]) => (await one.end(which, "backchannel")).map((record) => record.ref);
      assert.deepEqual(await ended({ issuer: "https://a.example", idpSid: "s1" }), [a.ref]);
      assert.deepEqual(await ended({ issuer: "https://a.example", idpSid: "s1" }), []);
      assert.deepEqual(await ended({ issuer: "https://a.example", idpSub: "u1" }), [b.ref], "in every tenant");
      assert.ok((await one.read(c.sidHash)) !== undefined && (await one.read(d.sidHash)) !== undefined);
    },
  ],
  [
    "one holds the lease on a refresh, keeps it while asking, and who comes after a lost one is told so",
    async ([one, other]) => {
      const record = sampleSession();
      await one.create(record);
      const ask = (store: SessionStore, owner: string, milliseconds: number, generation = 1) =>
        store.lease(record.sidHash, { generation, owner, milliseconds });
      assert.deepEqual(await ask(one, "a", 60_000), { kind: "held", afterUnknown: false });
      assert.deepEqual(await ask(other, "b", 60_000), { kind: "taken" });
      assert.deepEqual(await ask(one, "a", 60_000), { kind: "held", afterUnknown: false }, "its own");
      await other.release(record.sidHash, "b", "unsent");
      assert.deepEqual(await ask(other, "b", 60_000), { kind: "taken" }, "nobody gives back what another holds");
      await one.release(record.sidHash, "a", "unsent");
      assert.deepEqual(await ask(other, "b", 60_000), { kind: "held", afterUnknown: false });
      await other.release(record.sidHash, "b", "unknown");
      assert.deepEqual(await ask(one, "c", 1), { kind: "held", afterUnknown: true });
      await receivedWithin(async () => (await ask(other, "d", 60_000)).kind === "held");
      assert.deepEqual(await ask(one, "d", 60_000, 2), { kind: "moved" }, "not those tokens");
      assert.equal(await one.replaceTokens(record.sidHash, 1, { tokens: new Uint8Array(), accessExpiresAt: undefined }), true);
      assert.deepEqual(await ask(other, "d", 60_000), { kind: "moved" });
      assert.deepEqual(await ask(other, "e", 60_000, 2), { kind: "held", afterUnknown: false }, "kept tokens end the lease");
      assert.deepEqual(await one.lease(hashSid(makeSid()), { generation: 1, owner: "a", milliseconds: 1 }), { kind: "moved" });
    },
  ],
  [
    "of many who ask for a lease at once one holds it",
    async ([one, other]) => {
      const record = sampleSession();
      await one.create(record);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? one : other).lease(record.sidHash, { generation: 1, owner: `o${index}`, milliseconds: 60_000 }),
        ),
      );
      assert.equal(answers.filter(({ kind }) => kind === "held").length, 1);
    },
  ],
  [
    "what is past its limits is ended, and it is said which limit",
    async ([one]) => {
      const idle = sampleSession({ idleExpiresAt: later(10) });
      const absolute = sampleSession({ absoluteExpiresAt: later(5) });
      for (const record of [idle, absolute, sampleSession()]) await one.create(record);
      const ended = await one.endExpired(later(10));
      assert.deepEqual(Object.fromEntries(ended.map(({ record, reason }) => [record.ref, reason])), {
        [idle.ref]: "idle",
        [absolute.ref]: "absolute",
      });
      assert.deepEqual(await one.endExpired(later(10)), []);
    },
  ],
  [
    "every end and every refresh is heard by every replica",
    async ([one, other]) => {
      const received: SessionChange[] = [];
      const feed = await other.changes((change) => received.push(change));
      try {
        assert.ok(feed.isConnected());
        const [a, b] = [sampleSession(), sampleSession()];
        await one.create(a);
        await one.replaceTokens(a.sidHash, 1, { tokens: new Uint8Array(), accessExpiresAt: undefined });
        await one.create(b, a.sidHash);
        await one.end({ sidHash: b.sidHash }, "logout");
        await receivedWithin(() => received.some((change) => change.ref === b.ref));
        const said = (ref: string) => [
          ...new Set(received.filter((change) => change.ref === ref).map((change) => `${change.kind} ${change.reason ?? ""}`.trim())),
        ];
        assert.deepEqual(said(a.ref), ["changed", "ended replaced"]);
        assert.deepEqual(said(b.ref), ["ended logout"]);
      } finally {
        await feed.stop();
      }
      const before = received.length;
      const gone = sampleSession();
      await one.create(gone);
      await one.end({ sidHash: gone.sidHash }, "logout");
      assert.equal(received.length, before, "a stopped feed hears nothing");
    },
  ],
];

/** Bytes as numbers, and members that are undefined left out: that is the same as absent. */
const normal = (record: SessionRecord | undefined) =>
  record && Object.fromEntries(Object.entries({ ...record, tokens: [...record.tokens] }).filter(([, value]) => value !== undefined));
