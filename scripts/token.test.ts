import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { decodeJwt } from "jose";
import { testDatabase } from "#testing/database.ts";
import { testIssuer } from "#testing/issuer.ts";
import { demoCode } from "#testing/sign-in.ts";
import { readInstanceSecrets } from "#authn/sealing/instance-secret.ts";
import { runScript } from "../e2e/run-script.ts";

const run = (...given: readonly string[]) => runScript("token.ts", given);

const folder = async (t: TestContext): Promise<string> => {
  const data = await mkdtemp(join(tmpdir(), "sallyport-token-"));
  t.after(() => rm(data, { recursive: true, force: true }));
  return data;
};
const secretsIn = (dataFolder: string) => readInstanceSecrets({ given: [], dataFolder, environment: "dev", isSealed: async () => false });

/** The issuer on some port, and its data folder; the gateway's port would be the one before. */
const instance = async (t: TestContext) => {
  const server = createServer();
  const data = await folder(t);
  const op = await testIssuer(t, await testDatabase(t, ["authn"]), { server, secrets: await secretsIn(data) });
  return { op, data, port: String((server.address() as AddressInfo).port - 1) };
};

test("it prints the bare token and nothing else", async (t) => {
  const { op, port } = await instance(t);
  const { code, out, err } = await run(
    "--user",
    "ben",
    "--agent",
    "agent:hr-assistant",
    "--acr",
    "strong",
    "--scope",
    "mcp.tools.invoke",
    "--port",
    port,
  );
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const claims = decodeJwt(out.trim());
  assert.deepEqual(
    [claims.iss, claims.sub, claims["act"], claims["acr"], claims["amr"], claims["scope"], claims.aud],
    [op.url, "person:ben", { sub: "agent:hr-assistant" }, "strong", ["pwd", "otp"], "mcp.tools.invoke", [...op.audiences]],
  );
});

test("strong tokens may be asked for one after the other, within one time step", async (t) => {
  const { port } = await instance(t);
  for (let i = 0; i < 2; i++) assert.equal((await run("--user", "person:ada", "--acr", "strong", "--port", port)).code, 0);
});

test("a service client's token is for all tenants and holds what is registered for it", async (t) => {
  const { op, port, data } = await instance(t);
  const { out } = await run("--client", "service:pep", "--aud", op.audiences[2] ?? "", "--port", port, "--data", data);
  const claims = decodeJwt(out.trim());
  assert.deepEqual(
    [claims.sub, claims["tenant"], claims["scope"], [claims.aud].flat()],
    ["service:pep", "*", "authzen.pep authzen.search metrics.read", [op.audiences[2]]],
  );
});

test("what goes wrong is said on standard error, in words that help, and no token comes", async (t) => {
  const { port, data } = await instance(t);
  const [empty, other] = [await folder(t), await folder(t)];
  await secretsIn(other);
  const nobody = createServer();
  await new Promise<void>((resolve) => nobody.listen(0, "127.0.0.1", resolve));
  const free = String((nobody.address() as AddressInfo).port - 1);
  await new Promise((resolve) => nobody.close(resolve));
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["--user", "ben", "--port", free], 69, /No instance answers .* `npm start`/],
    [["--user", "nobody", "--port", port], 77, /no such person/],
    [["--user", "ben", "--password", "wrong", "--port", port], 77, /no such person, or the password is wrong/],
    [["--user", "ben", "--agent", "agent:x", "--port", port], 77, /no such agent\. Known: agent:hr-assistant agent:reporter/],
    [["--user", "ben", "--scope", "authzen.pep", "--port", port], 77, /not to be had here: authzen\.pep/],
    [["--user", "ben", "--aud", "https://evil.example", "--port", port], 77, /this deployment has http:\/\/localhost:8080/],
    [["--client", "service:crud", "--port", port, "--data", data], 64, /no such service client\. Known: service:pep/],
    [["--client", "agent:hr-assistant", "--port", port, "--data", data], 64, /no such service client/],
    [["--client", "service:pep", "--port", port, "--data", other], 77, /not Sallyport's: .*--data/],
    [["--client", "service:pep", "--port", port, "--data", empty], 69, /No instance was started in .*--data/],
    [["--client", "service:pep", "--scope", "secrets.read", "--port", port, "--data", data], 77, /not to be had here: secrets\.read/],
    [[], 64, /--user or --client/],
    [["--user", "ben", "--client", "service:pep"], 64, /--user or --client/],
    [["--user", "ben", "--acr", "weak"], 64, /knows only strong/],
    [["--user", "ben", "--port", "x"], 64, /port number/],
    [["--frobnicate"], 64, /frobnicate/],
  ];
  for (const [given, code, words] of cases) {
    const result = await run(...given);
    assert.deepEqual([result.code, result.out], [code, ""], given.join(" "));
    assert.match(result.err, words, given.join(" "));
    assert.doesNotMatch(result.err, /\n\s+at /, "no stack");
  }
});

test("it prints the one-time code of the moment, which the sign-in takes", async () => {
  const before = demoCode();
  const { code, out, err } = await run("--code");
  assert.deepEqual([code, err], [0, ""]);
  assert.ok([before, demoCode()].includes(out.trim()));
});

test("a client's secret is had by who may read the data folder, and opens the token endpoint", async (t) => {
  const data = await folder(t);
  const early = await run("--secret", "agent:hr-assistant", "--data", data);
  assert.deepEqual([early.code, early.out], [69, ""]);
  assert.deepEqual(await readdir(data), [], "asking makes no key");
  const op = await testIssuer(t, await testDatabase(t, ["authn"]), { secrets: await secretsIn(data) });
  const { out } = await run("--secret", "service:pep", "--data", data);
  const answer = await fetch(`${op.url}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`service%3Apep:${out.trim()}`).toString("base64")}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope: "authzen.pep" }),
  });
  assert.equal(answer.status, 200);
  assert.equal((await run("--secret", "sallyport-web", "--data", data)).code, 64);
});

test("help goes to standard error, so that no script takes it for a token", async () => {
  const { code, out, err } = await run("--help");
  assert.deepEqual([code, out], [0, ""]);
  assert.match(err, /--agent ID/);
});
