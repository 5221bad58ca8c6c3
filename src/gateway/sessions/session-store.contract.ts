import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
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

const heardWithin = async (until: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 100 && !until(); tries++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(until(), "it was heard in time");
};

/** What every session store must do. `pair` makes two stores over one keeping, as two replicas have. */
export const sessionStoreContract: readonly (readonly [
  name: string,
  run: (pair: readonly [SessionStore, SessionStore]) => Promise<void>,
])[] = [
  [
    "a session comes back as it was kept, from every replica, and only by its own hash",
    async ([one, other]) => {
      const record = sampleSession({ idpSid: "s1", acr: "strong", netHash: "net" });
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
      assert.deepEqual(
        (await one.list(of, start)).map((record) => record.ref),
        [fresh.ref, old.ref],
      );
      assert.deepEqual(
        (await one.list({ ...of, ref: old.ref }, start)).map((record) => record.ref),
        [old.ref],
      );
      assert.deepEqual(await one.list({ ...of, ref: "x" }, start), []);
      assert.equal(await one.count(start), 4);
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
      const heard: SessionChange[] = [];
      const feed = await other.changes((change) => heard.push(change));
      try {
        assert.ok(feed.isConnected());
        const [a, b] = [sampleSession(), sampleSession()];
        await one.create(a);
        await one.replaceTokens(a.sidHash, 1, { tokens: new Uint8Array(), accessExpiresAt: undefined });
        await one.create(b, a.sidHash);
        await one.end({ sidHash: b.sidHash }, "logout");
        await heardWithin(() => heard.some((change) => change.ref === b.ref));
        const said = (ref: string) => [
          ...new Set(heard.filter((change) => change.ref === ref).map((change) => `${change.kind} ${change.reason ?? ""}`.trim())),
        ];
        assert.deepEqual(said(a.ref), ["changed", "ended replaced"]);
        assert.deepEqual(said(b.ref), ["ended logout"]);
      } finally {
        await feed.stop();
      }
      const before = heard.length;
      const gone = sampleSession();
      await one.create(gone);
      await one.end({ sidHash: gone.sidHash }, "logout");
      assert.equal(heard.length, before, "a stopped feed hears nothing");
    },
  ],
];

const normal = (record: SessionRecord | undefined) => record && { ...record, tokens: [...record.tokens] };
