import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { ProviderTokens, RefreshOutcome, SignedIn } from "#authn/provider/oidc-client.ts";
import { Problem } from "#contract/problem.ts";
import type { Change } from "#events/changes/change.ts";
import type { EventDraft } from "#events/model/event-draft.ts";
import type { EntryDraft } from "#events/audit/entry.ts";
import { statement } from "#store/database.ts";
import { silentLog } from "#telemetry/log.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { sharedDatabase } from "#testing/gateway.ts";
import { until } from "#testing/until.ts";
import { createDatabaseSessionStore } from "./database-session-store.ts";
import { createRevocations } from "./revocations.ts";
import { hashSid, makeSid } from "./session-id.ts";
import { createSessionKeys } from "./session-keys.ts";
import { createSessionRecords } from "./session-records.ts";
import { createSessions } from "./sessions.ts";

const database = sharedDatabase();

const start = new Date("2026-03-01T08:00:00.000Z").getTime();
const client = { userAgent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", address: "192.0.2.7" };

const world = async (limits: { readonly bindNetwork?: boolean } = {}) => {
  const clock = { now: start };
  const now = () => new Date(clock.now);
  const metrics = createMetrics();
  const entries: EntryDraft[] = [];
  const events: EventDraft[] = [];
  const state = { auditIsDown: false, ended: [] as string[] };
  const change: Change = async (work) => {
    if (state.auditIsDown) throw new Problem("audit_unavailable");
    const changed = await work({ run: async () => [], post: () => {} });
    entries.push(...(changed.entries ?? []));
    events.push(...(changed.events ?? []));
    return changed.result;
  };
  const provider = {
    refreshed: [] as string[],
    revoked: [] as string[],
    refresh: async (token: string): Promise<ProviderTokens | undefined> => ({
      accessToken: `next-of-${token}`,
      refreshToken: `next-of-${token}`,
      accessExpiresAt: clock.now / 1000 + 300,
    }),
    takesRevocations: true,
  };
  const oidc = {
    refresh: async (token: string): Promise<RefreshOutcome> => {
      provider.refreshed.push(token);
      try {
        const tokens = await provider.refresh(token);
        return tokens === undefined ? { kind: "denied" } : { kind: "tokens", tokens };
      } catch (cause) {
        return { kind: cause instanceof Problem ? "unsent" : "unanswered", cause };
      }
    },
    revoke: async (token: string) => {
      if (provider.takesRevocations) provider.revoked.push(token);
      return provider.takesRevocations;
    },
  };
  const keys = createSessionKeys([randomBytes(32)]);
  const store = createDatabaseSessionStore(await database());
  const revocations = createRevocations({ database: await database(), store, keys, oidc, now, log: silentLog });
  const sessions = createSessions({
    store,
    uncached: store,
    keys,
    oidc,
    records: createSessionRecords({ change, log: silentLog }),
    revocations,
    hasEnded: async (person) => state.ended.includes(person),
    limits: { idleSeconds: 3600, absoluteSeconds: 28_800, refreshAheadSeconds: 60, bindNetwork: limits.bindNetwork ?? false },
    now,
    metrics,
    log: silentLog,
  });
  const signedIn = (more: Partial<SignedIn> = {}): SignedIn => ({
    sub: "person:ben",
    tenant: "tenant:acme",
    amr: ["pwd"],
    authTime: Math.floor(clock.now / 1000),
    name: "Ben Baker",
    issuer: "http://localhost:8081",
    tokens: { accessToken: "a1", refreshToken: "r1", accessExpiresAt: clock.now / 1000 + 300 },
    ...more,
  });
  const counted = async (line: string): Promise<number> =>
    Number(
      (await metrics.text())
        .split("\n")
        .find((text) => text.startsWith(line))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  return { clock, store, keys, sessions, revocations, provider, entries, events, state, signedIn, counted };
};

const isRefusedAs = async (work: Promise<unknown>, code: string): Promise<void> => assert.rejects(work, { code });

test("a session begins with a new id, its record holds no token in the clear, and its sign-in is in the audit log", async () => {
  const { sessions, store, keys, entries, signedIn } = await world();
  const { sid, record } = await sessions.begin(signedIn(), client, { correlationId: "c1" });
  const kept = await store.read(hashSid(sid));
  assert.equal(kept?.ref, record.ref);
  assert.ok(!JSON.stringify(kept).includes(sid));
  assert.ok(!Buffer.from(kept.tokens).toString("latin1").includes("r1"));
  assert.deepEqual(keys.openTokens(kept), { accessToken: "a1", refreshToken: "r1" });
  assert.equal(kept.claims.user_agent, "Firefox on Linux");
  assert.deepEqual(
    [entries[0]?.category, entries[0]?.outcome, entries[0]?.data["event"], entries[0]?.actor.session_ref],
    ["sign_in", "ok", "in", record.ref],
  );
  assert.deepEqual(entries[0]?.sealed, { ip: client.address, user_agent: client.userAgent });
});

test("a stronger sign-in in a session's place is told as that, new tokens by their session alone, and an end with its reason", async () => {
  const { sessions, entries, events, signedIn, clock } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c1", isStepUp: true });
  const replaces = [hashSid(sid)];
  const strong = await sessions.begin(signedIn({ acr: "strong" }), client, { correlationId: "c2", isStepUp: true, replaces });
  assert.deepEqual(
    entries.map(({ data }) => data["event"]),
    ["in", "step_up", "ended"],
  );
  assert.deepEqual([events[0]?.type, events[0]?.data["reason"]], ["session.ended", "replaced"]);
  clock.now += 250_000;
  await sessions.recognise(strong.sid, client, "c3");
  await until(() => events.length === 2);
  const { ref, issuer } = strong.record;
  assert.deepEqual(
    [events[1]?.type, events[1]?.key, events[1]?.data, entries.length],
    ["session.refreshed", ref, { op: "refreshed", session_ref: ref, issuer, acr: "strong", amr: ["pwd"] }, 3],
  );
});

test("a sign-in that cannot be recorded is none", async () => {
  const { sessions, state, signedIn, store, clock } = await world();
  state.auditIsDown = true;
  const before = await store.count(new Date(clock.now));
  await isRefusedAs(sessions.begin(signedIn(), client, { correlationId: "c1" }), "audit_unavailable");
  assert.equal(await store.count(new Date(clock.now)), before);
});

test("a new sign-in ends the session it replaces: its id is refused at once", async () => {
  const { sessions, signedIn, entries, events } = await world();
  const first = await sessions.begin(signedIn(), client, { correlationId: "c1" });
  const second = await sessions.begin(signedIn({ acr: "strong" }), client, {
    correlationId: "c2",
    replaces: [hashSid(first.sid), hashSid(first.sid)],
  });
  assert.notEqual(second.sid, first.sid);
  await isRefusedAs(sessions.recognise(first.sid, client, "c3"), "unauthenticated");
  assert.equal((await sessions.recognise(second.sid, client, "c3")).acr, "strong");
  assert.equal(entries.at(-1)?.data["reason"], "replaced");
  assert.deepEqual([events.at(-1)?.kind, events.at(-1)?.visibleTo, events.at(-1)?.data["op"]], ["session", ["person:ben"], "ended"]);
});

test("ids that nobody was given are never adopted", async () => {
  const { sessions } = await world();
  for (const sid of [makeSid(), "", "x", "../../etc", `${makeSid()}A`])
    await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
});

test("a session ends when it was idle too long, and use moves that limit", async () => {
  const { sessions, signedIn, clock, entries, store } = await world();
  const { sid, record } = await sessions.begin(
    signedIn({ tokens: { accessToken: "a", accessExpiresAt: clock.now / 1000 + 99_999 } }),
    client,
    { correlationId: "c" },
  );
  for (let minutes = 0; minutes < 4; minutes++) {
    clock.now += 3_000_000;
    await sessions.recognise(sid, client, "c");
    // The idle limit is moved beside the request.
    for (let tries = 0; tries < 100 && (await store.read(record.sidHash))?.lastSeenAt.getTime() !== clock.now; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
  clock.now += 3_600_000;
  await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
  assert.equal(entries.at(-1)?.data["reason"], "idle");
});

test("a session ends at its absolute limit, however much it is used", async () => {
  const { sessions, signedIn, clock, entries, counted } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  for (let hour = 0; hour < 9; hour++) {
    clock.now += 3_500_000;
    if (clock.now - start < 28_800_000) await sessions.recognise(sid, client, "c");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
  assert.equal(entries.at(-1)?.data["reason"], "absolute");
  assert.equal(await counted('bff_sessions_destroyed_total{reason="absolute"}'), 1);
});

test("the sweep ends what nobody came back for, and counts the living", async () => {
  const { sessions, signedIn, clock, entries, counted } = await world();
  await sessions.begin(signedIn({ sub: "person:cleo" }), client, { correlationId: "c" });
  clock.now += 40_000_000;
  await sessions.begin(signedIn({ sub: "person:ada" }), client, { correlationId: "c" });
  await sessions.sweep();
  assert.ok(entries.some((entry) => entry.actor.subject === "person:cleo" && entry.data["reason"] === "absolute"));
  assert.equal(await counted("bff_active_sessions_total"), 1);
});

test("a sign-in and a sign-out are seen in the count of the living at once, with no sweep between", async () => {
  const { sessions, signedIn, counted, store, clock } = await world();
  const shown = () => counted("bff_active_sessions_total");
  const others = await store.count(new Date(clock.now));
  await until(shown, (now) => now === others);
  const first = await sessions.begin(signedIn(), client, { correlationId: "c" });
  await until(shown, (now) => now === others + 1);
  const second = await sessions.begin(signedIn(), client, { correlationId: "c" });
  await until(shown, (now) => now === others + 2);
  await sessions.begin(signedIn(), client, { correlationId: "c", replaces: [second.record.sidHash] });
  await sessions.end({ sidHash: hashSid(first.sid) }, "logout", "c");
  await until(shown, (now) => now === others + 1);
});

test("one session whose end cannot be settled keeps nobody from being counted", async (t) => {
  const { sessions, signedIn, counted, clock, revocations, store } = await world();
  await sessions.begin(signedIn(), client, { correlationId: "c" });
  clock.now += 40_000_000;
  await sessions.begin(signedIn({ sub: "person:ada" }), client, { correlationId: "c" });
  t.mock.method(revocations, "add", async () => {
    throw new Problem("session_store_unavailable");
  });
  await isRefusedAs(sessions.sweep(), "session_store_unavailable");
  assert.equal(await counted("bff_active_sessions_total"), await store.count(new Date(clock.now)));
});

test("another browser is let in and noted, another network is refused and counted where sessions are bound to theirs", async () => {
  const open = await world();
  const one = await open.sessions.begin(open.signedIn(), client, { correlationId: "c" });
  await open.sessions.recognise(one.sid, { userAgent: "curl/8.0", address: "203.0.113.9" }, "c");
  const changed = 'bff_security_events_total{event_type="session_user_agent_changed",severity="info"}';
  assert.equal(await open.counted(changed), 1);
  await open.sessions.recognise(one.sid, { ...client, userAgent: client.userAgent.replace("140.0", "141.2") }, "c");
  assert.equal(await open.counted(changed), 1, "a browser may update itself");
  assert.equal(await open.counted("bff_session_binding_failures_total"), 0, "nobody was refused");

  const bound = await world({ bindNetwork: true });
  const other = await bound.sessions.begin(bound.signedIn(), client, { correlationId: "c" });
  await bound.sessions.recognise(other.sid, { ...client, address: "192.0.2.250" }, "c");
  await isRefusedAs(bound.sessions.recognise(other.sid, { ...client, address: "192.0.3.7" }, "c"), "session_binding");
  assert.equal(await bound.counted('bff_session_binding_failures_total{reason="network"}'), 1);
  await isRefusedAs(bound.sessions.recognise(other.sid, client, "c"), "unauthenticated");
});

test("tokens are refreshed ahead of their expiry without holding up a request, and once", async () => {
  const { sessions, signedIn, clock, provider, store, keys } = await world();
  const { sid, record } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  clock.now += 200_000;
  await sessions.recognise(sid, client, "c");
  assert.deepEqual(provider.refreshed, [], "not yet due");
  clock.now += 45_000;
  let release = () => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const answer = provider.refresh;
  provider.refresh = async (token) => gate.then(() => answer(token));
  const seen = await Promise.all(Array.from({ length: 20 }, () => sessions.recognise(sid, client, "c")));
  assert.ok(
    seen.every((one) => one.tokenGeneration === 1),
    "served on with what there is",
  );
  await until(() => provider.refreshed.length > 0);
  assert.deepEqual(provider.refreshed, ["r1"]);
  release();
  for (let tries = 0; tries < 100 && (await store.read(record.sidHash))?.tokenGeneration !== 2; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const kept = await store.read(record.sidHash);
  assert.deepEqual(kept && keys.openTokens(kept), { accessToken: "next-of-r1", refreshToken: "next-of-r1" });
});

test("after the expiry every request waits for one refresh", async () => {
  const { sessions, signedIn, clock, provider } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  clock.now += 400_000;
  const seen = await Promise.all(Array.from({ length: 50 }, () => sessions.recognise(sid, client, "c")));
  assert.deepEqual(provider.refreshed, ["r1"]);
  assert.ok(seen.every((one) => one.tokenGeneration === 2));
});

test("a provider that ended the session ends it here; one that is down does not", async () => {
  const { sessions, signedIn, clock, provider, entries } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  provider.refresh = async () => Promise.reject(new Problem("identity_provider_unavailable"));
  clock.now += 260_000;
  await sessions.recognise(sid, client, "c");
  await new Promise((resolve) => setTimeout(resolve, 20));
  clock.now += 60_000;
  await isRefusedAs(sessions.recognise(sid, client, "c"), "identity_provider_unavailable");
  await isRefusedAs(sessions.recognise(sid, client, "c"), "identity_provider_unavailable");
  clock.now += 3000;
  provider.refresh = async (token) => ({ accessToken: "a2", refreshToken: token, accessExpiresAt: clock.now / 1000 + 300 });
  assert.equal((await sessions.recognise(sid, client, "c")).tokenGeneration, 2, "it is back, and nobody was signed out");
  clock.now += 400_000;
  provider.refresh = async () => undefined;
  await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
  assert.equal(entries.at(-1)?.data["reason"], "refresh_denied");
});

test("a refresh whose answer was lost is tried once more; if the token is then unknown it is told apart from a denial", async () => {
  const { sessions, signedIn, clock, provider, entries } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  clock.now += 400_000;
  provider.refresh = async () => Promise.reject(new Error("no answer"));
  await isRefusedAs(sessions.recognise(sid, client, "c"), "identity_provider_unavailable");
  assert.deepEqual(provider.refreshed, ["r1", "r1"]);
  await isRefusedAs(sessions.recognise(sid, client, "c"), "identity_provider_unavailable");
  assert.deepEqual(provider.refreshed, ["r1", "r1"], "it is left alone for a while");
  clock.now += 3000;
  provider.refresh = async () => Promise.reject(new Problem("identity_provider_unavailable"));
  await isRefusedAs(sessions.recognise(sid, client, "c"), "identity_provider_unavailable");
  clock.now += 3000;
  provider.refresh = async () => undefined;
  await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
  assert.equal(entries.at(-1)?.data["reason"], "refresh_unknown");
});

test("a lost answer that the second try makes good costs nobody anything", async () => {
  const { sessions, signedIn, clock, provider } = await world();
  const { sid } = await sessions.begin(signedIn(), client, { correlationId: "c" });
  clock.now += 400_000;
  const answer = provider.refresh;
  provider.refresh = async (token) => (provider.refreshed.length === 1 ? Promise.reject(new Error("no answer")) : answer(token));
  assert.equal((await sessions.recognise(sid, client, "c")).tokenGeneration, 2);
  assert.deepEqual(provider.refreshed, ["r1", "r1"]);
});

test("without a refresh token a session lives to its own limits", async () => {
  const { sessions, signedIn, clock, provider } = await world();
  const { sid } = await sessions.begin(signedIn({ tokens: { accessToken: "a1", accessExpiresAt: clock.now / 1000 + 300 } }), client, {
    correlationId: "c",
  });
  clock.now += 900_000;
  assert.equal((await sessions.recognise(sid, client, "c")).tokenGeneration, 1);
  assert.deepEqual(provider.refreshed, []);
});

test("refresh tokens of ended sessions are revoked at the provider, again and again until it takes them", async () => {
  const { sessions, signedIn, provider, revocations, clock } = await world();
  provider.takesRevocations = false;
  const { sid } = await sessions.begin(
    signedIn({ tokens: { accessToken: "a", refreshToken: "to-revoke", accessExpiresAt: clock.now / 1000 + 300 } }),
    client,
    { correlationId: "c" },
  );
  assert.equal((await sessions.end({ sidHash: hashSid(sid) }, "logout", "c")).length, 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  provider.takesRevocations = true;
  await revocations.run();
  assert.ok(!provider.revoked.includes("to-revoke"), "not before it is due again");
  clock.now += 61_000;
  await revocations.run();
  assert.ok(provider.revoked.includes("to-revoke"));
  clock.now += 61_000;
  const before = provider.revoked.length;
  await revocations.run();
  assert.equal(provider.revoked.length, before);
});

const provider = "https://provider.example";
for (const [what, old, other, waits] of [
  ["the same session of the provider", { idpSession: "s1" }, { idpSession: "s1" }, true],
  ["another session of the provider", { idpSession: "s1" }, { idpSession: "s2" }, false],
  ["no named session, and the same person", {}, {}, true],
  ["an unnamed session of the same person", { idpSession: "s1" }, {}, true],
  ["a named session of the same person", {}, { idpSession: "s1" }, true],
  ["a session of that name at another provider", { idpSession: "s1" }, { idpSession: "s1", issuer: "https://other.example" }, false],
  ["no named session, and somebody else", {}, { idpSubject: "somebody else" }, false],
] as const)
  test(`a refresh token is revoked ${waits ? "only after" : "in spite of"} a session that came from ${what}`, async () => {
    const { sessions, signedIn, provider: asked, revocations, clock } = await world();
    const id = what.replaceAll(" ", "-");
    const from = (name: string, more: Partial<SignedIn>) =>
      signedIn({
        issuer: provider,
        idpSubject: `person of ${id}`,
        ...more,
        tokens: { accessToken: "a", refreshToken: `${name}-${id}`, accessExpiresAt: clock.now / 1000 + 300 },
      });
    const begin = (who: SignedIn, replaces: readonly string[] = []) => sessions.begin(who, client, { correlationId: "c", replaces });
    const first = await begin(from("first", old));
    const second = await begin(from("second", old));
    const living = await begin(from("living", other), [first.record.sidHash]);
    await sessions.end({ sidHash: hashSid(second.sid) }, "logout", "c");
    const isRevoked = (name: string) => asked.revoked.includes(`${name}-${id}`);
    if (waits) {
      for (let look = 0; look < 3; look++) {
        await revocations.run();
        assert.deepEqual([isRevoked("first"), isRevoked("second")], [false, false]);
        clock.now += 61_000;
      }
    } else await until(() => isRevoked("first") && isRevoked("second"));
    assert.equal(isRevoked("living"), false);
    await sessions.end({ sidHash: hashSid(living.sid) }, "logout", "c");
    await until(() => isRevoked("first") && isRevoked("second") && isRevoked("living"));
  });

const HOUR = 3_600_000;
const WAITS = statement<{ next_at: string }>("test.revocation", "select next_at from gateway.revocation where ref = $1");
const waitsUntil = async (ref: string) => Date.parse((await (await database()).run(WAITS, [ref]))[0]?.next_at ?? "");

test("a token that waits for a session whose end nobody told is looked at again, and is not forgotten meanwhile", async () => {
  const { sessions, store, signedIn, provider: asked, revocations, clock } = await world();
  const at = { issuer: provider, idpSubject: "long-lived", idpSession: "long-lived" };
  const tokens = (name: string) => ({ accessToken: "a", refreshToken: name, accessExpiresAt: clock.now / 1000 + 300 });
  const old = await sessions.begin(signedIn({ ...at, tokens: tokens("long-waiting") }), client, { correlationId: "c" });
  const living = await sessions.begin(signedIn({ ...at, tokens: tokens("long-living") }), client, {
    correlationId: "c",
    replaces: [old.record.sidHash],
  });
  await until(async () => (await waitsUntil(old.record.ref)) === clock.now + 6 * HOUR);
  clock.now += 6 * HOUR;
  await store.touch(living.record.sidHash, new Date(clock.now), new Date(clock.now + HOUR));
  await revocations.run();
  assert.equal(await waitsUntil(old.record.ref), clock.now + 6 * HOUR);
  await store.end({ sidHash: living.record.sidHash }, "logout");
  clock.now += 29 * HOUR;
  await revocations.run();
  assert.deepEqual(asked.revoked, ["long-waiting"]);
});

test("tokens that come when their session has ended are revoked, whatever became of those before them", async () => {
  for (const isTaken of [true, false]) {
    const { sessions, signedIn, provider, revocations, clock } = await world();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
    const refresh = provider.refresh;
    provider.refresh = async (token) => {
      isAsked();
      await ended;
      return refresh(token);
    };
    const old = `old-${isTaken}`;
    const { sid } = await sessions.begin(
      signedIn({ tokens: { accessToken: "a", refreshToken: old, accessExpiresAt: clock.now / 1000 - 1 } }),
      client,
      { correlationId: "c" },
    );
    const waiting = isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
    await asked;
    provider.takesRevocations = isTaken;
    await sessions.end({ sidHash: hashSid(sid) }, "logout", "c");
    if (isTaken) await until(() => provider.revoked.includes(old));
    hasEnded();
    await waiting;
    provider.takesRevocations = true;
    clock.now += 61_000;
    await revocations.run();
    await until(() => provider.revoked.includes(`next-of-${old}`));
  }
});

test("signing out everywhere reaches all sessions of that person in that tenant", async () => {
  const { sessions, signedIn } = await world();
  const mine = [
    await sessions.begin(signedIn({ sub: "person:zoe" }), client, { correlationId: "c" }),
    await sessions.begin(signedIn({ sub: "person:zoe" }), client, { correlationId: "c" }),
  ];
  const other = await sessions.begin(signedIn({ sub: "person:zoe", tenant: "tenant:globex" }), client, { correlationId: "c" });
  assert.equal((await sessions.end({ tenant: "tenant:acme", subject: "person:zoe" }, "everywhere", "c")).length, 2);
  for (const { sid } of mine) await isRefusedAs(sessions.recognise(sid, client, "c"), "unauthenticated");
  await sessions.recognise(other.sid, client, "c");
});

test("how long a session lives by itself: until tokens are due, the token's end, or its own limits, whichever is first", async () => {
  const { clock, sessions, provider, store, signedIn } = await world();
  const { sid, record } = await sessions.begin(signedIn(), client, { correlationId: "c1" });
  const lives = async () => (await sessions.livesUntil(hashSid(sid))) - start;
  assert.equal(await lives(), 240_000, "when the token is to be refreshed");
  const answer = Promise.withResolvers<ProviderTokens>();
  provider.refresh = () => answer.promise;
  clock.now = start + 241_000;
  assert.equal(await lives(), 300_000, "when it ends, while that is asked for");
  clock.now = start + 301_000;
  const later = lives();
  answer.resolve({ accessToken: "a2", refreshToken: "r2", accessExpiresAt: start / 1000 + 9000 });
  assert.equal(await later, 3_600_000, "when it has been idle too long");
  assert.equal((await store.read(hashSid(sid)))?.idleExpiresAt.getTime(), record.idleExpiresAt.getTime(), "to be asked is no use");
  clock.now = start + 3_600_000;
  await isRefusedAs(lives(), "no_token_available");
  assert.equal(await store.read(hashSid(sid)), undefined, "it has ended");
  await isRefusedAs(lives(), "unauthenticated");
});

test("a session without a refresh token serves to its limits, and lives no longer than its token to what lasts", async () => {
  const { clock, sessions, signedIn } = await world();
  const { sid } = await sessions.begin(
    signedIn({ tokens: { accessToken: "a1", refreshToken: undefined, accessExpiresAt: start / 1000 + 30 } }),
    client,
    {
      correlationId: "c1",
    },
  );
  assert.equal(await sessions.livesUntil(hashSid(sid)), start + 30_000);
  clock.now = start + 30_000;
  await isRefusedAs(sessions.livesUntil(hashSid(sid)), "no_token_available");
  await sessions.recognise(sid, client, "c2");
});

test("the session of a person who has ended is no session: within a second at a request, at once where a stream asks", async () => {
  for (const asks of ["request", "stream"] as const) {
    const { sessions, store, signedIn, state, clock, entries, counted } = await world();
    const { sid, record } = await sessions.begin(signedIn(), client, { correlationId: "c" });
    await sessions.recognise(sid, client, "c");
    state.ended.push("person:ben");
    clock.now += asks === "request" ? 1000 : 0;
    await isRefusedAs(asks === "request" ? sessions.recognise(sid, client, "c") : sessions.livesUntil(record.sidHash), "unauthenticated");
    assert.equal(await store.read(record.sidHash), undefined);
    assert.equal(await counted('bff_sessions_destroyed_total{reason="person_ended"}'), 1);
    const [begun, ended, ...more] = entries.map(({ data }) => [data?.["event"], data?.["reason"]]);
    assert.deepEqual([begun, ended, more], [["in", undefined], ["ended", "person_ended"], []]);
    await isRefusedAs(sessions.begin(signedIn(), client, { correlationId: "c" }), "identity_rejected");
    assert.equal(entries.length, 2, "no sign-in took place");
    state.ended.pop();
    await sessions.begin(signedIn(), client, { correlationId: "c" });
  }
});
