import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { endpointTable, type EndpointRow } from "#contract/endpoints.ts";
import { portOffsets } from "#app/model/addresses.ts";
import { placesOf, put, sampleOf, samples, schemaOf, type Json, type Schema } from "#testing/contract-samples.ts";
import { sharedInFile } from "#testing/shared.ts";
import { signInPerson } from "./sign-in.ts";
import { startTestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** Ids are named so; of a view, a system and the like the name is the id. */
const ID = /(?:^|_)ids?$|^(?:tool|view|system|subject|agent|scope|controller|owner|node|holder|role)$/;
const isId = (path: readonly string[]): boolean => ID.test(path.findLast((name) => name !== "0") ?? "");

/** None of these is the id of anything. */
const hostile = [
  "\u00bc",
  "\0",
  "a\0b",
  "\ud800",
  "x".repeat(10_240),
  "",
  " ",
  "a b",
  "../",
  "..%2f..%2fetc",
  "%00",
  "\u202eagent:hr\u202c",
  "\u200f",
  "'",
  '"',
  "'; select 1; --",
  "\u{1f984}",
  "e\u0301",
  "[object Object]",
];

const instance = sharedInFile(async (t) => {
  const started = await startTestInstance({ environment: { RATE_LIMITS: "login=1000/s,anonymous=100000/s,session=100000/s" } });
  t.after(() => started.stop());
  const [person, agent, session] = await Promise.all([
    fetchToken(started.port, { user: "ada", acr: "strong" }),
    fetchToken(started.port, { user: "ben", agent: "agent:hr-assistant" }),
    signInPerson(started.origin, "ada"),
  ]);
  return { port: started.port, person, agent, session };
});

/** Not our ids: who a provider's subject is, what an AuthZEN question is about, how a JSON-RPC message is told from another. */
const foreign: Readonly<Record<string, readonly string[]>> = {
  addIdentityLink: ["subject"],
  // What is searched for may be any part of what was recorded, or of the label of a source.
  listDecisions: ["subject", "agent", "correlation_id"],
  listSecretAudit: ["subject", "agent", "correlation_id", "decision_id"],
  listSessions: ["subject"],
  listIdentityLinks: ["subject"],
  countNodes: ["system"],
  fulltextSearch: ["system"],
  searchNodes: ["system"],
  searchNodesWithMetadata: ["system"],
  explainRoute: ["id", "agent", "client_id"],
  toolRpc: ["id"],
  viewToolRpc: ["id"],
  whatIf: ["id", "subject_id", "agent_id", "tenant_id"],
};
const isForeign = (row: EndpointRow, { path }: Place): boolean => foreign[row.name]?.includes(path.at(-1) ?? "") === true;

interface Place {
  readonly part: "params" | "query" | "body";
  readonly path: readonly string[];
  readonly schema: Schema;
}
const idsOf = ({ endpoint }: EndpointRow): readonly Place[] =>
  (["params", "query", "body"] as const).flatMap((part) => {
    const shape = endpoint[part];
    if (shape === undefined) return [];
    return placesOf(schemaOf(shape)).flatMap(({ path, schema }) =>
      isId(path) && (schema.type === "string" || schema.type === undefined) && schema.enum === undefined && schema.const === undefined
        ? [{ part, path, schema }]
        : [],
    );
  });

/** Those that read come first: what others make of a provider's subject would be found. */
const rows = endpointTable
  .map((row) => ({ row, ids: idsOf(row) }))
  .filter(({ ids }) => ids.length > 0)
  .toSorted((one, other) => Number(one.row.endpoint.method !== "GET") - Number(other.row.endpoint.method !== "GET"));

const ask = async (
  { name, endpoint }: EndpointRow,
  place: Place | undefined,
  value: string,
): Promise<{ readonly status: number; readonly text: string }> => {
  const { port, person, agent, session } = await instance();
  const [member = ""] = place?.path ?? [];
  const path = endpoint.path.replaceAll(/\{([^}]+)\}/g, (_all, param: string) =>
    place?.part === "params" && param === member ? encodeURIComponent(value.toWellFormed()) : "x",
  );
  const query = new URLSearchParams(
    endpoint.query === undefined
      ? {}
      : Object.entries((samples[name] ?? sampleOf(schemaOf(endpoint.query), "")) as Json).map(([key, sample]) => [key, String(sample)]),
  );
  if (place?.part === "query") query.set(member, value.toWellFormed());
  const least = endpoint.body === undefined ? undefined : (samples[name] ?? sampleOf(schemaOf(endpoint.body), ""));
  const body = least === undefined ? undefined : JSON.stringify(place?.part === "body" ? put(least, place.path, value) : least);
  const headers: Record<string, string> =
    endpoint.auth === "session"
      ? { ...session.headers }
      : {
          authorization: `Bearer ${endpoint.agents === "decided" && name.endsWith("Rpc") ? agent : person}`,
          "content-type": "application/json",
        };
  const url = `http://localhost:${port + portOffsets[endpoint.service]}${path}${query.size === 0 ? "" : `?${query.toString()}`}`;
  const response = await fetch(url, {
    method: endpoint.method,
    headers: { ...headers, "idempotency-key": crypto.randomUUID(), "if-match": '"1"' },
    ...(body === undefined || endpoint.method === "GET" ? {} : { body }),
    redirect: "manual",
  });
  return { status: response.status, text: await response.text() };
};

/** A list of what nothing fits; without a word to look for it is a list of all. */
const isEmpty = (text: string): boolean =>
  Object.values(JSON.parse(text) as Json).every((value) => !Array.isArray(value) || value.length === 0);

describe("an id that is none is the caller's fault, and no service's", () => {
  for (const { row, ids } of rows)
    test(`${row.endpoint.method} ${row.endpoint.path} (${row.name})`, async () => {
      const wrong: string[] = [];
      for (const place of ids)
        for (const value of hostile) {
          const { status, text } = await ask(row, place, value);
          if (value.trim() === "" && isForeign(row, place)) continue;
          const isTaken = status < 400 && !(isForeign(row, place) && (row.endpoint.method !== "GET" || isEmpty(text)));
          if (status >= 500 || isTaken)
            wrong.push(`${place.part} ${place.path.join("/")} ${JSON.stringify(value.slice(0, 20))}: ${status} ${text.slice(0, 300)}`);
        }
      assert.deepEqual(wrong, []);
    });
});

test("every id of the contract says which characters it may hold", () => {
  const bare = rows.flatMap(({ row, ids }) =>
    ids.flatMap(({ part, path, schema }) => {
      const { pattern, format, allOf } = schema as Schema & { readonly pattern?: string };
      // The handler answers its faults as its own protocol does.
      if (row.endpoint.ownBody !== undefined && part === "body") return [];
      return pattern === undefined && format === undefined && allOf === undefined && schema.anyOf === undefined && schema.type === "string"
        ? [`${row.name}: ${part} ${path.join("/")} is any text: use an id of contract/ids.ts`]
        : [];
    }),
  );
  assert.deepEqual(bare, []);
});
