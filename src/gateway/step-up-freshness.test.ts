import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { recordingPeer, sharedDatabase, testGateway } from "#testing/gateway.ts";
import { testAudiences } from "#testing/identity.ts";
import { pdpWorld } from "#testing/pdp.ts";

const database = sharedDatabase();

const row = (id: string, auth: string): string =>
  `  - { id: ${id}, path: "/api/salaries/{id}", target_service: crud, upstream_path: "/salaries/{id}", methods: [GET], auth: ${auth}, authz: pdp, authz_map: { GET: { resource: tool, action: tools/call, id_from: "{id}" } } }\n`;
const routes = `version: 1
services:
  crud: { base_urls: ["\${CRUD_SERVICE_URL}"], audience: "\${CRUD_AUDIENCE}" }
routes:
${row("salary", "session")}${row("salary.bearer", "bearer")}`;

/** What a sign-in was, in the words of a token and of a session. */
interface SignIn {
  readonly acr?: "strong";
  readonly amr: readonly string[];
  /** Seconds ago. */
  readonly age?: number;
}

const weak: readonly (readonly [name: string, signIn: SignIn])[] = [
  ["strong, five minutes and one second ago", { acr: "strong", amr: ["pwd", "otp"], age: 301 }],
  ["strong, nobody says when", { acr: "strong", amr: ["pwd", "otp"] }],
  ["a one-time code alone, just now", { amr: ["otp"], age: 0 }],
];

test("a sign-in that is old, undated or of one factor is asked to step up, by cookie and by bearer; a fresh strong one is let in", async (t) => {
  // A whole second, as tokens count them.
  const clock = { now: new Date(Math.floor(Date.now() / 1000) * 1000) };
  const point = await pdpWorld(t);
  point.clock.now = clock.now;
  const crud = recordingPeer();
  const made = await testGateway(t, {
    database: await database(),
    routes,
    identity: point.identity,
    now: () => clock.now,
    peers: { pdp: (request) => point.service.fetch(request), crud: crud.peer },
  });
  const seconds = Math.floor(clock.now.getTime() / 1000);
  const by: Readonly<Record<string, (signIn: SignIn) => Promise<Readonly<Record<string, string>>>>> = {
    cookie: async ({ acr, amr, age }) =>
      (await made.signIn("person:ben", { acr, amr: [...amr], authTime: age === undefined ? undefined : seconds - age })).cookie,
    bearer: async ({ acr, amr, age }) => {
      const claims = {
        iss: point.identity.issuer,
        aud: Object.values(testAudiences),
        sub: "person:ben",
        tenant: "tenant:acme",
        scope: "mcp.tools.invoke",
        client_id: "sallyport-web",
        jti: randomUUID(),
        iat: seconds,
        exp: seconds + 300,
        amr,
        ...(acr === undefined ? {} : { acr }),
        ...(age === undefined ? {} : { auth_time: seconds - age }),
      };
      return { authorization: `Bearer ${await point.identity.sign(claims, { typ: "at+jwt", kid: "test" })}` };
    },
  };
  const open = (headers: Readonly<Record<string, string>>) => made.fetch("/api/salaries/people.demo.update_salary", { headers });
  for (const [way, credential] of Object.entries(by)) {
    for (const [name, signIn] of weak) {
      const response = await open(await credential(signIn));
      const body = (await response.json()) as { code: string; step_up: unknown };
      assert.deepEqual([response.status, body.code], [401, "step_up_required"], `${way}: ${name}`);
      assert.deepEqual(body.step_up, {
        acr_value: "strong",
        max_age_seconds: 300,
        url: "http://localhost:8080/auth/login?acr_values=strong&max_age=300",
      });
      assert.match(
        response.headers.get("www-authenticate") ?? "",
        /^Bearer error="insufficient_user_authentication", acr_values="strong", max_age=300/,
        `${way}: ${name}`,
      );
    }
    assert.equal(crud.seen.length, 0, way);
    const fresh = await open(await credential({ acr: "strong", amr: ["pwd", "otp"], age: 300 }));
    assert.equal(fresh.status, 200, `${way}: ${await fresh.text()}`);
    crud.seen.length = 0;
  }
});
