import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import type { RefreshOutcome } from "#authn/provider/oidc-client.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { forEachDatabase } from "#testing/database.ts";
import { until } from "#testing/until.ts";
import { createCachedSessionStore } from "./cached-session-store.ts";
import { createDatabaseSessionStore } from "./database-session-store.ts";
import { createSessionKeys } from "./session-keys.ts";
import { sampleSession } from "./session-store.contract.ts";
import type { EndReason, SessionRecord, SessionStore } from "./session-store.ts";
import { createTokenRefresh, type RefreshTimes } from "./token-refresh.ts";

const now = new Date("2026-01-01T10:00:00.000Z");
const times: RefreshTimes = { lease: 400, renew: 100, wait: 5000, look: 20, rest: 50 };

/** Two processes over one store, each with its hot cache, and a provider in the test's hands. */
const world = async (t: TestContext, stores: readonly [SessionStore, SessionStore], more: Partial<RefreshTimes> = {}) => {
  const keys = createSessionKeys([randomBytes(32)]);
  const provider = {
    asked: [] as string[],
    answer: async (token: string): Promise<RefreshOutcome> => ({
      kind: "tokens",
      tokens: { accessToken: `next of ${token}`, refreshToken: `next of ${token}`, accessExpiresAt: now.getTime() / 1000 + 300 },
    }),
  };
  const ended: EndReason[] = [];
  const revoked: (string | undefined)[] = [];
  const process = async (store: SessionStore) => {
    const cached = await createCachedSessionStore(store, () => now);
    t.after(() => cached.stop());
    const keepFresh = createTokenRefresh({
      store: cached,
      keys,
      oidc: {
        refresh: (token) => {
          provider.asked.push(token);
          return provider.answer(token);
        },
      },
      end: async (record, reason) => {
        ended.push(reason);
        await cached.end({ sidHash: record.sidHash }, reason);
      },
      revoke: async (record) => void revoked.push(keys.openTokens(record)?.refreshToken),
      refreshAheadSeconds: 60,
      now: () => now,
      metrics: createMetrics(),
      log: silentLog,
      times: { ...times, ...more },
    });
    return { cached, keepFresh };
  };
  const [one, other] = [await process(stores[0]), await process(stores[1])];
  const begin = async (secondsLeft: number): Promise<SessionRecord> => {
    const plain = sampleSession({ accessExpiresAt: new Date(now.getTime() + secondsLeft * 1000) });
    const record = { ...plain, tokens: keys.sealTokens({ accessToken: "a1", refreshToken: "r1" }, plain.sidHash, 1) };
    await one.cached.create(record);
    return record;
  };
  const read = async (from: { readonly cached: SessionStore }, record: SessionRecord): Promise<SessionRecord> => {
    const found = await from.cached.read(record.sidHash);
    assert.ok(found);
    return found;
  };
  return { one, other, provider, ended, revoked, begin, read, keys };
};

const forTwo = (name: string, work: (t: TestContext, stores: readonly [SessionStore, SessionStore]) => Promise<void>): void =>
  forEachDatabase(name, ["gateway"], async (t, database, { second }) =>
    work(t, [createDatabaseSessionStore(database), createDatabaseSessionStore((await second?.()) ?? database)]),
  );

const gate = () => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
};

forTwo("50 requests at expiry in two processes redeem the refresh token once, however long it takes", async (t, stores) => {
  const { one, other, provider, begin, read, keys } = await world(t, stores);
  const record = await begin(-1);
  // Both hold it in their caches.
  const held = await Promise.all([read(one, record), read(other, record)]);
  const { open, opened } = gate();
  const answer = provider.answer;
  provider.answer = async (token) => opened.then(() => answer(token));
  const all = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : other).keepFresh(held[index % 2] as SessionRecord));
  // Longer than the lease, which is kept alive meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  open();
  for (const fresh of await Promise.all(all)) {
    assert.equal(fresh.tokenGeneration, 2);
    assert.equal(keys.openTokens(fresh)?.accessToken, "next of r1");
  }
  assert.deepEqual(provider.asked, ["r1"]);
  assert.equal((await other.keepFresh(held[1])).tokenGeneration, 2, "an old copy finds the new tokens");
});

forTwo("a holder that is gone loses its lease, and what comes of it is told apart", async (t, stores) => {
  const { one, other, provider, begin, ended } = await world(t, stores);
  const record = await begin(-1);
  await stores[0].lease(record.sidHash, { generation: 1, owner: "a process that was killed", milliseconds: 300 });
  assert.equal((await other.keepFresh(record)).tokenGeneration, 2, "another takes over");
  const spent = await begin(-1);
  await stores[0].lease(spent.sidHash, { generation: 1, owner: "a process that was killed", milliseconds: 1 });
  provider.answer = async () => ({ kind: "denied" });
  await assert.rejects(one.keepFresh(spent), { code: "unauthenticated" });
  assert.deepEqual(ended, ["refresh_unknown"]);
});

forTwo("who waits for another process's refresh waits so long and no longer", async (t, stores) => {
  const { one, provider, begin } = await world(t, stores, { wait: 300 });
  const record = await begin(-1);
  await stores[1].lease(record.sidHash, { generation: 1, owner: "a slow process", milliseconds: 60_000 });
  await assert.rejects(one.keepFresh(record), (error: { code?: string; options?: { headers?: object } }) => {
    assert.deepEqual(error.options?.headers, { "retry-after": "5" });
    return error.code === "identity_provider_unavailable";
  });
  assert.deepEqual(provider.asked, []);
});

forTwo("a provider slower than a request may wait is 503 for all, and the session lives on", async (t, stores) => {
  const { one, other, provider, begin, ended, read } = await world(t, stores, { wait: 300 });
  const record = await begin(-1);
  const { open, opened } = gate();
  const answer = provider.answer;
  provider.answer = async (token) => opened.then(() => answer(token));
  const all = await Promise.allSettled(Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : other).keepFresh(record)));
  assert.deepEqual(
    new Set(all.map((result) => (result.status === "rejected" ? (result.reason as { code: string }).code : "served"))),
    new Set(["identity_provider_unavailable"]),
  );
  open();
  await until(async () => (await read(other, record)).tokenGeneration === 2);
  assert.deepEqual([provider.asked, ended], [["r1"], []]);
});

forTwo("a session that ends while its tokens are refreshed stays ended, and the new ones are revoked", async (t, stores) => {
  const { one, other, provider, begin, revoked } = await world(t, stores);
  const record = await begin(-1);
  const { open, opened } = gate();
  const answer = provider.answer;
  provider.answer = async (token) => opened.then(() => answer(token));
  // Heard from the start: the one that waits may know of the end before this test goes on.
  const waiting = Promise.allSettled([one.keepFresh(record), other.keepFresh(record)]);
  await until(() => provider.asked.length === 1);
  await other.cached.end({ sidHash: record.sidHash }, "logout");
  open();
  for (const result of await waiting)
    assert.equal(result.status === "rejected" && (result.reason as { code: string }).code, "unauthenticated");
  assert.deepEqual(revoked, ["next of r1"]);
  assert.equal(await one.cached.read(record.sidHash), undefined);
});
