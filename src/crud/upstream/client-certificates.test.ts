import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { test, type TestContext } from "node:test";
import { createMetrics } from "#telemetry/metrics.ts";
import { testCertificates } from "#testing/certificates.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { until } from "#testing/until.ts";
import { compileHttp } from "#crud/connectors/compile-http.ts";
import { readSystem } from "#crud/systems/load-systems.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { createShares } from "#http/shares.ts";
import type { Invocation } from "#crud/tools/tool.ts";
import { readCeiling } from "./network-rules.ts";

const compiled = async (baseUrl: string) => {
  const text = JSON.stringify({
    apiVersion: "systems/v1",
    provider: "up",
    instance: "test",
    title: "Fixture",
    owner: "group:people-ops",
    kind: "http",
    baseUrl,
    network: { allow: ["127.0.0.1/32", "::1/128"] },
    auth: { type: "mtls", cert: "yaml://secret/up#cert", key: "yaml://secret/up#key", ca: "yaml://secret/up#ca" },
    defaults: { dataScope: "none", retry: { max: 0 }, circuit: { failures: 100 }, concurrency: { max: 1, queue: 10, wait: "PT60S" } },
    operations: { write: { description: "Writes one thing.", request: { method: "POST", path: "/a" } } },
  });
  const file = await readSystem({ name: "up.test", text, shown: "up.test.yaml", read: async () => undefined });
  assert.ok("document" in file && file.document.kind === "http", JSON.stringify(file));
  const parts = {
    placeholders: {},
    requiresTls: false,
    internalPorts: new Set<number>(),
    ceiling: readCeiling(["0.0.0.0/0", "::/0"]),
    metrics: createMetrics(),
    now: () => new Date(),
    version: "1",
  };
  return compileHttp({ ...file, document: file.document }, parts);
};

/** A server that lets in who has a certificate of its authority, and says whose it was. */
const begin = async (t: TestContext) => {
  const made = await testCertificates(t);
  const ca = await readFile(made.caFile, "utf8");
  let requests = 0;
  let held = Promise.resolve();
  const server = createServer({ ...made.good, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    requests += 1;
    const { fingerprint256 } = (request.socket as TLSSocket).getPeerCertificate();
    void held.then(() => response.setHeader("content-type", "application/json").end(JSON.stringify({ fingerprint256 })));
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const system = await compiled(`https://localhost:${(server.address() as AddressInfo).port}`);
  assert.ok(system.kind === "tools");
  cleanUp(t, system.close);
  const pem = ({ cert, key }: typeof made.good) => ({ cert: cert.toString(), key: key.toString(), ca });
  const secrets: Record<string, string> = pem(made.good);
  const call = async (tenant = "tenant:acme"): Promise<unknown> =>
    (
      await system.tools[0]?.connector({
        arguments: {},
        caller: { sub: "person:ben", tenant },
        signal: new AbortController().signal,
        claim: createShares({ total: 1_000_000, perKey: 1_000_000 })(tenant),
        secret: async (uri: string) => secrets[uri.split("#")[1] ?? ""] ?? "",
        now: new Date(),
      } as unknown as Invocation)
    )?.value;
  const failure = async () => {
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    assert.ok(error instanceof UpstreamError, String(error));
    return { code: error.problem.code, effect: error.effect, detail: error.problem.options.detail };
  };
  return { made, pem, secrets, call, failure, requests: () => requests, hold: (until: Promise<void>) => void (held = until) };
};

test("a system that asks for a certificate gets Sallyport's own, and the next one as soon as the secret is another", async (t) => {
  const { made, pem, secrets, call, failure, requests } = await begin(t);
  const first = await call();
  assert.deepEqual([await call(), await call("tenant:globex")], [first, first]);
  Object.assign(secrets, pem(made.wrongName));
  const second = await call();
  assert.notDeepEqual(second, first);
  const before = requests();
  Object.assign(secrets, pem(made.selfSigned));
  const { code } = await failure();
  assert.ok(["outcome_unknown", "upstream_error"].includes(code), "the server lets nobody in whom it does not know");
  Object.assign(secrets, pem(made.good), { ca: made.selfSigned.cert.toString() });
  assert.deepEqual((await failure()).code, "upstream_tls_failed", "nor do we trust a server of another authority");
  assert.equal(requests(), before);
  Object.assign(secrets, pem(made.good));
  assert.deepEqual(await call(), first);
});

test("a call that waits for its turn while the secret becomes another goes out as it would have", async (t) => {
  const { made, pem, secrets, call, requests, hold } = await begin(t);
  const gate = Promise.withResolvers<void>();
  hold(gate.promise);
  const [first, waiting] = [call(), call()];
  await until(() => requests() === 1);
  Object.assign(secrets, pem(made.wrongName));
  const last = call();
  gate.resolve();
  assert.deepEqual(await waiting, await first);
  assert.notDeepEqual(await last, await first);
});

test("what is no certificate, or no key of it, is said by its name and never shown, and nothing is sent", async (t) => {
  const { made, pem, secrets, failure, requests } = await begin(t);
  const rows: readonly (readonly [change: Record<string, string>, detail: string])[] = [
    [{ cert: "s3cret-cert" }, "auth.cert is no certificate in PEM."],
    [{ cert: made.good.key.toString() }, "auth.cert is no certificate in PEM."],
    [{ key: "s3cret-key" }, "auth.key is no private key in PEM without a passphrase."],
    [{ key: made.good.cert.toString() }, "auth.key is no private key in PEM without a passphrase."],
    [{ key: made.expired.key.toString() }, "auth.key is not the key of auth.cert."],
    [{ ca: "s3cret-ca" }, "auth.ca is no certificate in PEM."],
  ];
  for (const [change, detail] of rows) {
    Object.assign(secrets, pem(made.good), change);
    assert.deepEqual(await failure(), { code: "upstream_auth_failed", effect: "not_sent", detail });
  }
  assert.equal(requests(), 0);
});

test("a certificate is shown over TLS alone", async () => {
  const system = await compiled("http://127.0.0.1:9");
  assert.ok(system.kind === "degraded");
  assert.deepEqual(
    system.issues.map(({ path, message }) => [path, message]),
    [["/auth/type", "needs a baseUrl of https: certificates are shown in TLS"]],
  );
});
