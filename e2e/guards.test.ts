import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { portOffsets } from "#app/model/addresses.ts";
import { sharedInstance } from "./shared-instance.ts";
import type { TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** Filled with ids that are nobody's. */
const urlOf = (instance: TestInstance, { endpoint }: EndpointRow): string =>
  `http://localhost:${instance.port + portOffsets[endpoint.service]}${endpoint.path.replace(/\{[^}]+\}/g, "nobody-at-all")}`;

const send = (instance: TestInstance, row: EndpointRow, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(urlOf(instance, row), {
    method: row.endpoint.method,
    headers: { ...(row.endpoint.body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(row.endpoint.body === undefined ? {} : { body: "{}" }),
    redirect: "manual",
  });

const codeOf = async (response: Response): Promise<string> => {
  const body = (await response.json().catch(() => ({}))) as { code?: string; error?: { data?: { code?: string } } };
  return body.code ?? body.error?.data?.code ?? "";
};

describe("every endpoint of the contract", () => {
  let instance: TestInstance;
  /** Tokens that have one scope each. */
  let powerless: readonly [scope: string, token: string][];
  before(async () => {
    instance = await sharedInstance();
    const tokenOf = async (scope: string): Promise<[string, string]> => [scope, await fetchToken(instance.port, { user: "dan", scope })];
    powerless = await Promise.all(["audit.read", "mcp.tools.discovery"].map(tokenOf));
  });

  for (const row of endpointTable) {
    const { endpoint } = row;
    const name = `${endpoint.service} ${endpoint.method} ${endpoint.path}`;

    test(`${name} is served`, async () => {
      const response = await send(instance, row);
      assert.notEqual(response.status, 405);
      assert.notEqual(response.status, 501);
      if (response.status === 404) assert.ok(endpoint.auth !== "none" || endpoint.path.includes("{"), await response.text());
    });

    if (endpoint.auth === "none") continue;

    test(`${name} is refused without a credential`, async () => {
      const response = await send(instance, row);
      assert.equal(response.status, 401);
      assert.ok(response.headers.has("www-authenticate"));
      assert.equal(await codeOf(response), "unauthenticated");
    });

    test(`${name} is refused with a token that is none`, async () => {
      const response = await send(instance, row, { authorization: "Bearer not.a.token" });
      assert.equal(response.status, 401);
    });

    if (endpoint.auth === "session" || (endpoint.scope ?? []).length === 0) continue;

    test(`${name} is refused without its scope`, async () => {
      const [, token] = powerless.find(([scope]) => endpoint.scope?.includes(scope) !== true) ?? [];
      const response = await send(instance, row, { authorization: `Bearer ${token}` });
      // A guard before the scope may refuse first; what counts is that nothing is told or done.
      assert.ok([400, 403].includes(response.status), `${response.status}`);
      if (response.status === 400) assert.equal(endpoint.service, "secrets");
      // The gateway's own rows are decided by it.
      else assert.equal(await codeOf(response), endpoint.service === "gateway" ? "access_denied" : "insufficient_scope");
    });
  }
});
