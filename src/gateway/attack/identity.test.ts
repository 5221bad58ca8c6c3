import assert from "node:assert/strict";
import { test } from "node:test";
import { answerTo, attackWorld, rawGet } from "#testing/attack-world.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

/** Claims of identity, of the way a request came, and of what it means: none of them is the client's to make. */
const forged = [
  "X-User-ID: person:ada",
  "X_User_Id: person:ada",
  "x-USER-id: person:ada",
  "X.User.Id: person:ada",
  "X-User: ada",
  "X-Tenant-ID: tenant:globex",
  "X-Agent-ID: agent:x",
  "X-Session-ID: s",
  "X-Sallyport-Assertion: x",
  "X_Sallyport.Assertion: x",
  "X-Auth-Request-User: ada",
  "X-Remote-User: ada",
  "Remote-User: ada",
  "Remote_User: ada",
  "Client-Cert: :ada:",
  "Client-Cert-Chain: :ada:",
  "X-Client-Cert: ada",
  "X-Client-Verify: SUCCESS ada",
  "SSL_CLIENT_S_DN: CN=ada",
  "X-SSL-Client-DN: CN=ada",
  "X-WebAuth-User: ada",
  "X-MS-Client-Principal: ada",
  "X-Goog-Authenticated-User-Email: ada",
  "X-Goog-IAP-JWT-Assertion: ada",
  "X-Amzn-Oidc-Identity: ada",
  "Cf-Access-Jwt-Assertion: ada",
  "Client-IP: 10.0.0.1",
  "True-Client-IP: 10.0.0.1",
  "X-Client-IP: 10.0.0.1",
  "X-Cluster-Client-IP: 10.0.0.1",
  "CF-Connecting-IP: 10.0.0.1",
  "Fastly-Client-IP: 10.0.0.1",
  "X-Host: evil",
  "X-Scheme: https",
  "X-Url-Scheme: https",
  "Front-End-Https: on",
  "X-Accel-Mapping: /=/evil",
  "X-Sendfile-Type: X-Accel-Redirect",
  "X-Middleware-Subrequest: middleware",
  "X-Original-URL: /admin",
  "X-Forwarded-For: 10.0.0.1",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Host: evil",
  "X-Forwarded-Port: 444",
  "X-Forwarded-Prefix: //evil",
  "X-Forwarded-User: ada",
  "X-Real-IP: 10.0.0.1",
  "Forwarded: for=10.0.0.1;host=evil",
  "X-HTTP-Method-Override: DELETE",
  "X-HTTP-Method: DELETE",
  "X-Method-Override: DELETE",
  "X-Rewrite-URL: /admin",
  "Proxy-Authorization: Basic x",
  "Via: 1.1 x",
  "TE: trailers",
  "X-Deadline-Ms: 1",
  "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "X-Own: kept",
];
const lines = forged.map((line) => `${line}\r\n`).join("");
const ours = ["x-user-id", "x-tenant-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-deadline-ms", "x-own"];

for (const [row, credential, who, proof] of [
  ["/public/", "Authorization: Bearer x\r\n<S>", null, null],
  ["/admin/", "Authorization: Bearer x\r\n<S>", "person:ben", "Bearer"],
  ["/api/t/", "Authorization: Bearer x\r\n<S>", "person:ben", "Bearer"],
  ["/api/b/", "<T>Cookie: a=b\r\n", "person:ben", "Bearer"],
] as const)
  test(`attacks 5, 15, 16, 17, 20: on ${row}* the upstream sees one identity, ours, and none of the client's credentials`, async (t) => {
    const world = await attackWorld(t, await database());
    const answer = await answerTo(world, rawGet(`${row}x?b=%2F..`, `${credential}X-CSRF-Token: a\r\nX-CSRFToken: a\r\n${lines}`));
    assert.equal(answer.status, 200, answer.body);
    const [seen] = world.upstream.seen;
    assert.ok(seen);
    assert.equal(seen.query, "?b=%2F..");
    assert.equal(seen.headers.get("x-user-id"), who);
    assert.equal(seen.headers.get("x-tenant-id"), who === null ? null : "tenant:acme");
    assert.deepEqual(
      ["x-own", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"].map((name) => seen.headers.get(name)),
      ["kept", "127.0.0.1", "localhost:8080", "http"],
    );
    const names = [...seen.headers.keys()];
    for (const name of [...forged.map((line) => (line.split(":")[0] ?? "").toLowerCase()), "cookie", "x-csrf-token", "x-csrftoken"])
      if (!ours.includes(name)) assert.ok(!names.includes(name), `${name} is removed`);
    // What is random or sealed may hold any letters.
    const plain = [...seen.headers].filter(([name]) => name !== "x-correlation-id" && name !== "authorization");
    assert.ok(!plain.some(([, value]) => /ada|evil|globex|agent:x/.test(value)), "no forged value under any name");
    assert.equal(await world.made.counted("bff_security_events_total", { event_type: "identity_header_stripped" }), 1);
    const authorization = seen.headers.get("authorization");
    assert.equal(authorization?.split(" ")[0] ?? null, proof);
    if (authorization === null) return;
    const request = () => new Request("http://x/", { headers: { authorization } });
    const caller = await world.made.identity.verifierFor("http://localhost:8083")(request());
    assert.deepEqual([caller.sub, caller.tenant, caller.issuer], ["person:ben", "tenant:acme", "http://localhost:8080"]);
    await assert.rejects(world.made.identity.verifierFor("http://localhost:8084")(request()), { code: "invalid_token" });
  });

/** Each belongs to the hop behind, or opens what only the gateway opens. */
const hopHeaders = {
  connection: "x-a",
  "x-a": "1",
  "set-cookie": "a=b",
  server: "U",
  "x-powered-by": "U",
  "access-control-allow-origin": "*",
  "access-control-allow-credentials": "true",
  "alt-svc": "h3",
  "clear-site-data": "*",
  "service-worker-allowed": "/",
  refresh: "0;url=//evil",
  "strict-transport-security": "max-age=1",
  "x-user-id": "person:ada",
  "x-sallyport-assertion": "x",
  "x-deadline-ms": "1",
  "set-cookie2": "a=b",
  nel: '{"report_to":"r","max_age":31556952,"include_subdomains":true}',
  "report-to": '{"group":"r","max_age":31556952,"endpoints":[{"url":"https://evil.example/"}]}',
  "accept-ch": "Sec-CH-UA-Full-Version-List",
  "set-login": "logged-out",
  "origin-agent-cluster": "?0",
  "use-as-dictionary": 'match="/*"',
  "public-key-pins": 'pin-sha256="x"; max-age=5184000',
  "x-accel-redirect": "/internal",
  "x-sendfile": "/etc/passwd",
};

for (const [row, credential] of [
  ["/public/", ""],
  ["/admin/", "<S>"],
  ["/api/t/", "<S>"],
  ["/api/b/", "<T>"],
] as const)
  test(`attack 20: on ${row}* nothing of the hop behind reaches the client, on success and on failure`, async (t) => {
    const world = await attackWorld(t, await database());
    for (const status of [200, 500]) {
      world.upstream.answer = () =>
        new Response("{}", {
          status,
          headers: { ...hopHeaders, "x-kept": "yes", "content-security-policy": "default-src *", "content-type": "application/json" },
        });
      const { headers, ...answer } = await answerTo(world, rawGet(`${row}x`, credential));
      assert.equal(answer.status, status);
      for (const gone of Object.keys(hopHeaders)) if (gone !== "connection") assert.equal(headers.get(gone), undefined, gone);
      assert.notEqual(headers.get("connection"), "x-a");
      assert.equal(headers.get("x-kept"), "yes");
      assert.equal(headers.get("content-security-policy"), "default-src 'none'; sandbox; frame-ancestors 'none'");
      assert.equal(headers.get("cache-control"), "no-store");
    }
  });
