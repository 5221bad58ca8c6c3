import assert from "node:assert/strict";
import type { ServedWorld } from "#testing/membership.ts";

/** Speaks SCIM as directories do. */

const scopes = ["membership.read", "membership.write"];
export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export interface ScimReply {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into bodies of many shapes.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

export const makeToken = async (world: ServedWorld, as = "ada", body: object = {}) =>
  world.call(as, "POST", "/api/v1/scim-tokens", { body: { name: "the directory", ...body }, scopes });

/** The directory of a tenant, speaking SCIM with a token of its own. */
export const directoryOf = async (world: ServedWorld, as = "ada") => {
  const made = await makeToken(world, as);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { token } = made.body as { token: string };
  return async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<ScimReply> => {
    const response = await world.service.fetch(
      new Request(`http://localhost:8084/scim/v2${path}`, {
        method,
        ...(signal === undefined ? {} : { signal }),
        headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json", ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };
};
export type Directory = Awaited<ReturnType<typeof directoryOf>>;

export const user = (userName: string, more: object = {}) => ({ schemas: [USER], userName, ...more });
export const group = (displayName: string, members: readonly string[] = []) => ({
  schemas: [GROUP],
  displayName,
  members: members.map((value) => ({ value })),
});
export const patch = (...Operations: readonly object[]) => ({ schemas: [PATCH], Operations });
export const made = async (scim: Directory, path: string, body: object): Promise<string> => {
  const reply = await scim("POST", path, body);
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return String(reply.body.id);
};
