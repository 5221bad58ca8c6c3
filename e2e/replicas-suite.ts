import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { measureDelay } from "#testing/measured-delay.ts";
import { testServer } from "#testing/postgres-database.ts";
import { until } from "#testing/until.ts";
import { ask, startReplicas, type Answer, type Browser, type OpenedStream, type Replicas } from "./replicas.ts";
import type { TestInstance } from "./test-instance.ts";

const PATH = "/api/v1/sessions";

/** How many answers had which status and code. */
const tally = (answers: readonly Answer[]): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const said = `${status} ${body.code ?? ""}`.trim();
    counts[said] = (counts[said] ?? 0) + 1;
  }
  return counts;
};

/** Where sessions lie, and how a test takes it away and gives it back. */
export interface StoreUnderTest {
  readonly settings: Readonly<Record<string, string>>;
  readonly reason: string;
  lose(replicas: Replicas): Promise<void>;
  giveBack(replicas: Replicas): Promise<void>;
  /** It stays where it is and says nothing any more, until `thaw`. */
  freeze(replicas: Replicas): void;
  thaw(replicas: Replicas): void;
  /** Milliseconds in which silence is noticed: nobody hangs up, so a cache is trusted until a sign of life is missed, and a question waits for its answer. */
  readonly silenceMs: number;
}

/** What has to go on without any session: rows that take a token or nobody, and what Sallyport says of itself. */
const withoutSession = [
  "/api/bearer",
  "/api/open",
  "/.well-known/sallyport-jwks.json",
  "/.well-known/oauth-protected-resource",
  // What the decision point says of itself is not among them: no decision point is there.
  "/.well-known/oauth-protected-resource/mcp",
] as const;
/** Longer than any record stays in a hot cache. */
const CACHE_MS = 5000;

/** What two replicas on one session store must do; `open` makes the store, or answers `undefined` where it cannot be had. */
export const describeReplicas = (name: string, open: (t: Pick<TestContext, "after">) => Promise<StoreUnderTest | undefined>): void => {
  const server = testServer();
  describe(`two gateway processes on ${name}`, () => {
    const closing: (() => unknown)[] = [];
    let replicas: Replicas;
    let store: StoreUnderTest;
    let missing: string | undefined;
    before(async () => {
      const t = { after: (close: () => unknown) => void closing.push(close) } as Pick<TestContext, "after">;
      const opened = await open(t);
      const started = opened && (await startReplicas(t, server, opened.settings));
      if (opened === undefined || started === undefined) {
        missing = `no ${name} here: ${server.why()}`;
        if (process.env["REQUIRE_REAL"] === "1") throw new Error(missing);
        return;
      }
      [store, replicas] = [opened, started];
    });
    after(async () => {
      for (const close of closing) await close();
    });
    const real = (title: string, work: (t: TestContext) => Promise<void>): void =>
      void test(title, async (t) => (missing === undefined ? work(t) : t.skip(missing)));

    /** What this machine costs, measured where neither the store nor a session is asked. */
    const watchDelay = (t: TestContext) =>
      measureDelay(t, () => Promise.all(replicas.gateways.map((gateway) => ask(gateway, "/api/v1/health/live"))));

    /** Acts, and looks at when these streams were cut: within a second of the act, on whatever process they are. */
    const cutWithinOneSecond = async (t: TestContext, streams: readonly OpenedStream[], act: () => Promise<unknown>): Promise<void> => {
      const delay = watchDelay(t);
      const since = performance.now();
      await act();
      const last = Math.max(...(await Promise.all(streams.map(({ endedAt }) => endedAt)))) - since;
      const allowed = 1000 + delay.worst();
      await delay.stop();
      assert.ok(last <= allowed, `the last one was cut after ${last.toFixed(0)} ms; ${allowed.toFixed(0)} ms were allowed`);
    };

    /** Asks for what needs no session all the time, at both; tells what was answered how often. */
    const keepAsking = async (t: TestContext): Promise<() => Promise<ReadonlyMap<string, Readonly<Record<string, number>>>>> => {
      const authorization = `Bearer ${await replicas.provider.accessToken(replicas.gateways[0].origin)}`;
      const said = new Map<string, Record<string, number>>();
      let isRunning = true;
      t.after(() => (isRunning = false));
      const lane = async (gateway: TestInstance, path: string): Promise<void> => {
        const counts: Record<string, number> = {};
        said.set(`${gateway.port} ${path}`, counts);
        const headers = path === "/api/bearer" ? { authorization } : {};
        while (isRunning) {
          const { status, body } = await ask(gateway, path, { headers });
          const word = `${status} ${body.code ?? ""}`.trim();
          counts[word] = (counts[word] ?? 0) + 1;
          await sleep(50);
        }
      };
      const lanes = Promise.all(replicas.gateways.flatMap((gateway) => withoutSession.map((path) => lane(gateway, path))));
      lanes.catch(() => {});
      return async () => {
        isRunning = false;
        await lanes;
        return said;
      };
    };

    /**
     * A session that was in use is asked for until it is refused; from then on, for longer than a cache keeps anything, it
     * must stay refused. Tells how many milliseconds after `since` the first refusal was there.
     */
    const refusedAfter = async (browser: Browser, gateway: TestInstance, since: number): Promise<number> => {
      const refusal = "503 session_store_unavailable";
      const word = async () => Object.keys(tally([await browser.get(PATH, gateway)]))[0];
      await until(word, (said) => said === refusal);
      const first = performance.now() - since;
      for (const end = performance.now() + CACHE_MS; performance.now() < end; await sleep(100)) assert.equal(await word(), refusal);
      return first;
    };

    /**
     * Takes the store away from a session that both have in their caches; both must refuse it within these milliseconds and what
     * the machine costs. What needs no session is asked for from before until the answer is called, which tells how it fared.
     */
    const loseUnder = async (t: TestContext, browser: Browser, withinMs: number, lose: () => unknown): ReturnType<typeof keepAsking> => {
      const { gateways } = replicas;
      const stop = await keepAsking(t);
      for (const gateway of gateways) assert.equal((await browser.get(PATH, gateway)).status, 200, "in the cache by now");
      const delay = watchDelay(t);
      const since = performance.now();
      await lose();
      const firsts = await Promise.all(gateways.map((gateway) => refusedAfter(browser, gateway, since)));
      const allowed = withinMs + delay.worst();
      await delay.stop();
      const said = `refused after ${firsts.map(Math.round).join(" and ")} ms; ${allowed.toFixed(0)} ms were allowed`;
      assert.ok(Math.max(...firsts) <= allowed, said);
      return stop;
    };

    /** Signed in, with an access token that has expired by now. */
    const signInExpired = async (): Promise<Browser> => {
      const { provider } = replicas;
      provider.life = 2;
      const browser = await replicas.signIn();
      provider.life = 600;
      await sleep(2500);
      return browser;
    };
    const fifty = (browser: Browser): Promise<readonly Answer[]> =>
      Promise.all(Array.from({ length: 50 }, (_, index) => browser.get(PATH, replicas.gateways[index % 2] as TestInstance)));

    real("a person of a foreign provider is signed in at both, as our own words say", async () => {
      const browser = await replicas.signIn(replicas.gateways[1]);
      for (const gateway of replicas.gateways) {
        const { body } = await browser.get("/auth/session", gateway);
        assert.deepEqual(
          [body["authenticated"], body["subject"], body["tenant"], body["acr"]],
          [true, { id: "person:ben", name: "Ben of Elsewhere" }, "tenant:acme", "strong"],
        );
      }
      assert.deepEqual(tally([await browser.get(PATH, replicas.gateways[0])]), { "200": 1 });
    });

    real("50 requests at expiry and a token endpoint that takes 3 s: one redemption, 50 answers", async () => {
      const { provider } = replicas;
      const browser = await signInExpired();
      const before = provider.redeemed;
      provider.delay = 3000;
      assert.deepEqual(tally(await fifty(browser)), { "200": 50 });
      provider.delay = 0;
      assert.equal(provider.redeemed - before, 1);
      assert.deepEqual(tally(await fifty(browser)), { "200": 50 });
      assert.equal(provider.redeemed - before, 1);
    });

    real("a token endpoint that takes 15 s: clean refusals, and nobody is signed out", async () => {
      const { provider } = replicas;
      const browser = await signInExpired();
      provider.delay = 15_000;
      const refused = await fifty(browser);
      assert.deepEqual(tally(refused), { "503 identity_provider_unavailable": 50 });
      assert.ok(refused.every(({ headers }) => headers.get("retry-after") !== null));
      provider.delay = 0;
      await until(
        async () => (await browser.get(PATH, replicas.gateways[0])).status,
        (status) => status === 200,
      );
      assert.equal((await browser.get(PATH, replicas.gateways[1])).status, 200);
    });

    real("a provider that is away: sessions serve until their token expires, then 503; back, none is lost", async () => {
      const { provider, gateways } = replicas;
      const living = await replicas.signIn();
      const expired = await signInExpired();
      await provider.stop();
      assert.equal((await living.get(PATH, gateways[1])).status, 200);
      const refused = await expired.get(PATH, gateways[0]);
      assert.deepEqual([tally([refused]), refused.headers.get("retry-after")], [{ "503 identity_provider_unavailable": 1 }, "5"]);
      assert.equal((await ask(gateways[0], "/api/v1/health/ready")).status, 200);
      await provider.start();
      for (const gateway of gateways)
        await until(
          async () => (await expired.get(PATH, gateway)).status,
          (status) => status === 200,
        );
      assert.equal((await living.get(PATH, gateways[0])).status, 200);
    });

    real("signing out everywhere ends sessions and streams in both processes, within a second", async (t) => {
      const { gateways, provider } = replicas;
      const [one, other] = [await replicas.signIn(), await replicas.signIn(gateways[1])];
      const streams = [await one.stream(gateways[0]), await other.stream(gateways[1]), await other.stream(gateways[0])];
      const revoked = provider.revoked;
      await cutWithinOneSecond(t, streams, async () => {
        const answer = await one.send("POST", "/auth/logout?everywhere=true", gateways[1]);
        assert.equal(answer.status, 200);
        assert.ok(Number(answer.body["sessions_ended"]) >= 2);
      });
      for (const { ended } of streams) assert.match(await ended, /event: bye\n(?:.*\n)*?data: .*signed_out/);
      for (const browser of [one, other])
        for (const gateway of gateways) assert.deepEqual(tally([await browser.get(PATH, gateway)]), { "401 unauthenticated": 1 });
      await until(() => provider.revoked - revoked >= 2);
    });

    real("ending all sessions of a person by name ends them and their streams in both processes, within a second", async (t) => {
      const { gateways } = replicas;
      const [one, other] = [await replicas.signIn(), await replicas.signIn(gateways[1])];
      const streams = [await one.stream(gateways[1]), await other.stream(gateways[0]), await other.stream(gateways[1])];
      await cutWithinOneSecond(t, streams, async () => {
        const answer = await one.send("DELETE", `${PATH}?subject=person:ben`, gateways[0]);
        assert.equal(answer.status, 200);
        assert.ok(Number(answer.body["sessions_ended"]) >= 2);
      });
      for (const { ended } of streams) assert.match(await ended, /event: bye\n(?:.*\n)*?data: .*signed_out/);
      for (const browser of [one, other])
        for (const gateway of gateways) assert.deepEqual(tally([await browser.get(PATH, gateway)]), { "401 unauthenticated": 1 });
    });

    real("ending one session by its id ends it in both", async (t) => {
      const { gateways } = replicas;
      const [one, other] = [await replicas.signIn(), await replicas.signIn()];
      const listed = (await other.get(PATH, gateways[1])).body["sessions"] as readonly { id: string; current: boolean }[];
      const { id } = listed.find(({ current }) => current) ?? { id: "" };
      const stream = await other.stream(gateways[1]);
      await cutWithinOneSecond(t, [stream], async () => {
        assert.equal((await one.send("DELETE", `${PATH}/${id}`, gateways[0])).status, 200);
      });
      assert.match(await stream.ended, /signed_out/);
      assert.equal((await other.get(PATH, gateways[1])).status, 401);
      assert.equal((await one.get(PATH, gateways[1])).status, 200);
    });

    real("signing out at the provider ends its sessions and streams in both within a second; its logout token counts once", async (t) => {
      const { gateways, provider } = replicas;
      const [gone, stays] = [await replicas.signIn(), await replicas.signIn()];
      const streams = [await gone.stream(gateways[0]), await gone.stream(gateways[1])];
      const page = await gone.forms.open(`${provider.issuer}/session/end?client_id=${provider.clientId}`);
      await cutWithinOneSecond(t, streams, () => gone.forms.submit(page, { logout: "yes" }, (at) => at.origin !== provider.issuer));
      for (const { ended } of streams) assert.match(await ended, /signed_out/);
      for (const gateway of gateways) assert.equal((await gone.get(PATH, gateway)).status, 401);
      assert.equal((await stays.get(PATH, gateways[1])).status, 200, "another session of that person there");
      const replayed = await ask(gateways[1], "/auth/backchannel-logout", {
        method: "POST",
        body: new URLSearchParams({ logout_token: provider.logoutTokens.at(-1) ?? "" }),
      });
      assert.deepEqual([replayed.status, replayed.body["error"]], [400, "invalid_request"]);
    });

    real("no decision point is there: rows that need one are refused and say so, all others serve", async () => {
      const browser = await replicas.signIn();
      for (const gateway of replicas.gateways) {
        const refused = await browser.get("/api/decided", gateway);
        assert.deepEqual(tally([refused]), { "503 decision_unavailable": 1 });
        assert.ok(Number(refused.headers.get("retry-after")) > 0);
        assert.equal((await browser.get(PATH, gateway)).status, 200);
        assert.equal((await ask(gateway, "/api/open")).status, 200);
        assert.equal((await ask(gateway, "/api/v1/health/ready")).status, 200);
      }
    });

    real(
      "the session store is gone: 503 from both in two seconds and nothing from a cache, while what needs no session is served; back, old sessions work and streams are right",
      async (t) => {
        const { gateways } = replicas;
        const browser = await replicas.signIn();
        const stop = await loseUnder(t, browser, 2000, () => store.lose(replicas));
        for (const gateway of gateways) {
          const refused = await browser.get(PATH, gateway);
          assert.deepEqual([tally([refused]), refused.headers.get("retry-after")], [{ "503 session_store_unavailable": 1 }, "5"]);
          assert.equal((await browser.get("/auth/session", gateway)).status, 503);
          const ready = await ask(gateway, "/api/v1/health/ready");
          assert.equal(ready.status, 503);
          assert.ok((ready.body["reasons"] as string[]).includes(store.reason), JSON.stringify(ready.body));
          assert.equal((await ask(gateway, "/api/v1/health/live")).status, 200);
        }
        await store.giveBack(replicas);
        for (const gateway of gateways)
          await until(
            async () => (await browser.get(PATH, gateway)).status,
            (status) => status === 200,
          );
        for (const gateway of gateways)
          await until(
            async () => (await ask(gateway, "/api/v1/health/ready")).status,
            (status) => status === 200,
          );
        for (const [what, counts] of await stop()) {
          assert.deepEqual(Object.keys(counts), ["200"], `${what}: ${JSON.stringify(counts)}`);
          assert.ok((counts["200"] ?? 0) > 20, what);
        }
        // What one tells the other hears again; what was told before that is found by looking.
        const stream = await browser.stream(gateways[1]);
        await browser.send("POST", "/auth/logout", gateways[0]);
        assert.match(await stream.ended, /event: bye\n(?:.*\n)*?data: .*(?:signed_out|revoked)/);
      },
    );

    real(
      "the session store is there and says nothing: 503 from both and nothing from a cache; when it speaks again, old sessions work",
      async (t) => {
        const { gateways } = replicas;
        const browser = await replicas.signIn();
        t.after(() => store.thaw(replicas));
        const stop = await loseUnder(t, browser, store.silenceMs, () => store.freeze(replicas));
        for (const gateway of gateways) {
          assert.equal((await ask(gateway, "/api/v1/health/ready")).status, 503);
          assert.equal((await ask(gateway, "/api/v1/health/live")).status, 200);
        }
        store.thaw(replicas);
        for (const gateway of gateways)
          await until(
            async () => (await browser.get(PATH, gateway)).status,
            (status) => status === 200,
          );
        for (const [what, counts] of await stop()) assert.deepEqual(Object.keys(counts), ["200"], `${what}: ${JSON.stringify(counts)}`);
        await browser.send("POST", "/auth/logout", gateways[0]);
        for (const gateway of gateways)
          await until(
            async () => (await browser.get(PATH, gateway)).status,
            (status) => status === 401,
          );
      },
    );

    real("the process that refreshes is killed: another takes over, and nobody is signed out", async () => {
      const { gateways, provider } = replicas;
      const browser = await signInExpired();
      provider.delay = 60_000;
      const lost = browser.get(PATH, gateways[0]).catch(() => undefined);
      await until(() => provider.waiting === 1);
      const following = Promise.all(Array.from({ length: 20 }, () => browser.get(PATH, gateways[1])));
      await gateways[0].kill();
      await lost;
      provider.delay = 0;
      const said = tally(await following);
      assert.deepEqual(
        Object.keys(said).filter((each) => each !== "200" && each !== "503 identity_provider_unavailable"),
        [],
      );
      await until(
        async () => (await browser.get(PATH, gateways[1])).status,
        (status) => status === 200,
      );
    });
  });
};
