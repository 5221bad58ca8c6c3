import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo, attackWorld, rawGet } from "#testing/attack-world.ts";
import { absentProvider, rawExchange, sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();
const forwarded = "X-Forwarded-Method: GET\r\nX-Forwarded-Host: localhost:8080\r\nX-Forwarded-Uri: /public/x\r\n";

for (const trusted of ["", "10.0.0.0/8"])
  test(`attack 14: with TRUSTED_PROXIES ${JSON.stringify(trusted)} nobody here is believed what they forward`, async (t) => {
    const world = await attackWorld(t, await database(), { settings: { TRUSTED_PROXIES: trusted } });
    for (const path of ["/auth/verify", "/auth/forward"])
      for (const lines of [
        forwarded,
        `<S>${forwarded}`,
        "X-Forwarded-Uri: /public/x\r\n",
        "<S>Forwarded: for=127.0.0.1\r\n",
        "<S>X-Real-IP: 127.0.0.1\r\n",
      ]) {
        const answer = await answerTo(world, rawGet(path, lines));
        assert.deepEqual([answer.status, answer.code], [403, "untrusted_proxy"], lines);
        assert.equal(answer.headers.get("x-user-id"), undefined);
      }
    assert.equal(await world.made.counted("bff_security_events_total", { event_type: "untrusted_proxy" }), 10);
  });

test("attack 15: forwarding headers change neither where a sign-in comes back nor its cookie", async (t) => {
  const asked: string[] = [];
  const oidc = absentProvider({
    begin: async ({ redirectUri }) => {
      asked.push(redirectUri);
      return { url: "http://localhost:8081/authorize", state: "s", nonce: "n", verifier: "v" };
    },
  });
  const world = await attackWorld(t, await database(), { parts: { oidc } });
  const lines = [
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Port: 444",
    "X-Forwarded-Prefix: //evil",
    "Forwarded: host=evil.example;proto=https",
  ];
  const sent = ["", ...lines.map((line) => `${line}\r\n`), lines.map((line) => `${line}\r\n`).join("")];
  for (const more of sent) {
    const answer = await answerTo(world, rawGet("/auth/login", more));
    assert.deepEqual([answer.status, answer.headers.get("location")], [302, "http://localhost:8081/authorize"]);
    assert.match(answer.headers.get("set-cookie") ?? "", /^sallyport_dev_txn_8080=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
    assert.equal(answer.headers.get("strict-transport-security"), undefined);
  }
  assert.deepEqual(new Set(asked), new Set(["http://localhost:8080/auth/callback"]));
});

test("attack 15: an upstream is told the scheme of the public origin, whoever ends TLS, and never that of a header", async (t) => {
  for (const [origin, scheme] of [
    ["https://app.example", "https"],
    ["http://localhost:8080", "http"],
  ] as const) {
    const world = await attackWorld(t, await database(), { parts: { publicOrigins: [origin] } });
    for (const forged of ["http", "https"]) {
      const lines = `Host: ${new URL(origin).host}\r\nX-Forwarded-Proto: ${forged}\r\n`;
      const [answer] = (await rawExchange(world.port, `GET /public/x HTTP/1.1\r\n${lines}\r\n`)).answers;
      assert.equal(answer?.status, 200);
      assert.equal(world.upstream.seen.at(-1)?.headers.get("x-forwarded-proto"), scheme);
    }
  }
});
