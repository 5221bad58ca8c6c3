import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { DecisionRecord } from "#contract/decisions.ts";
import { sharedPdpWorld } from "#testing/pdp.ts";

/** The list of decisions as its callers see it: what is found, by whom, and what is refused. */

const shared = sharedPdpWorld();
const LIST = "/access/v1/decisions";

interface Page {
  readonly decisions: readonly DecisionRecord[];
  readonly nextCursor?: string;
}

const read = async <Reply>(login: string, path: string): Promise<Reply> => {
  const world = await shared();
  const response = await world.ask(path, await world.personToken(login));
  assert.equal(response.status, 200, `${login} ${path}: ${await response.clone().text()}`);
  return (await response.json()) as Reply;
};
const found = async (login: string, query: string): Promise<readonly string[]> =>
  (await read<Page>(login, `${LIST}?${query}`)).decisions.map(({ subject, resource }) => `${subject?.name} ${resource.id}`);

before(async () => {
  const world = await shared();
  const token = await world.serviceToken();
  for (const [login, id, tenant] of [
    ["dan", "people", "tenant:acme"],
    ["ben", "operations", "tenant:acme"],
    ["eve", "people", "tenant:globex"],
  ] as const) {
    const asked = {
      subject: { type: "identity", id: `person:${login}`, properties: { tenant } },
      action: { name: "view" },
      resource: { type: "pages", id },
    };
    assert.equal((await world.ask("/access/v1/evaluation", token, asked)).status, 200);
  }
});

test("who sees all finds people by what they are called; others find nobody but themselves, whatever they look for", async () => {
  const by = (text: string): string => `resource_type=pages&match=part&subject=${encodeURIComponent(text)}`;
  for (const [login, text, expected] of [
    ["ada", "dan d", ["Dan Diaz people"]],
    ["ada", "DIAZ", ["Dan Diaz people"]],
    ["ada", "person:", ["Ben Baker operations", "Dan Diaz people"]],
    ["ada", "eve", []],
    ["dan", "person:", ["Dan Diaz people"]],
    ["dan", "ben", []],
    ["ben", "diaz", []],
    ["eve", "person:", ["Eve Evans people"]],
  ] as const)
    assert.deepEqual((await found(login, by(text))).toSorted(), expected, `${login} looks for ${text}`);
  assert.deepEqual(await found("ada", "subject=person:dan&resource_type=pages"), ["Dan Diaz people"], "whole ids as ever");
  assert.deepEqual(await found("ada", "subject=person:da&resource_type=pages"), []);
  assert.deepEqual(await found("ben", "subject=person:dan"), []);
  assert.deepEqual(await found("dan", "whose=own&resource_type=pages"), ["Dan Diaz people"]);
  for (const query of ["subject=person:dan", by("dan")]) assert.deepEqual(await found("ada", `whose=own&${query}`), [], "own is own");
});

test("what can be looked for is told of what may be seen, and nothing more", async () => {
  const values = async (login: string, query: string) =>
    (await read<{ readonly values: readonly { readonly value: string; readonly name?: string }[] }>(login, `${LIST}/values?${query}`))
      .values;
  assert.deepEqual(await values("ada", "of=subject&text=di"), [{ value: "person:dan", name: "Dan Diaz" }]);
  assert.deepEqual(await values("ada", "of=subject&text=eve"), []);
  assert.deepEqual(await values("dan", "of=subject"), [{ value: "person:dan", name: "Dan Diaz" }]);
  assert.deepEqual(await values("ben", "of=resource&text=people"), []);
  assert.deepEqual(await values("ben", "of=resource_type"), [{ value: "pages" }]);
});

test("a position in one list is none in another", async () => {
  const { nextCursor = "" } = await read<Page>("ada", `${LIST}?limit=1&sort=subject&order=asc`);
  const world = await shared();
  const at = async (query: string) => (await world.ask(`${LIST}?${query}&cursor=${nextCursor}`, await world.personToken("ada"))).status;
  assert.equal(await at("limit=1&sort=subject&order=asc"), 200);
  for (const query of ["limit=1&sort=subject&order=desc", "limit=1", "limit=1&sort=subject&order=asc&match=part"])
    assert.equal(await at(query), 400, query);
});

test("what cannot be read is refused with its place", async () => {
  const world = await shared();
  for (const query of [
    "?sort=price",
    "?order=up",
    "?match=like",
    "?subject=a%00b",
    "/values",
    "/values?of=secret",
    "/values?of=subject&limit=51",
    "/values?of=agent&text=%00",
  ]) {
    const response = await world.ask(`${LIST}${query}`, await world.personToken("ada"));
    assert.equal(response.status, 400, `${query}: ${await response.text()}`);
  }
  assert.equal((await world.ask(`${LIST}/values?of=subject`, undefined)).status, 401);
});
