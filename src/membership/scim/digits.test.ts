import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";
import { directoryOf, made, patch, user } from "#testing/scim-directory.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const numbers = [
  "1e23",
  "1E21",
  "12345678901234567890",
  "9007199254740993",
  "1.10",
  "1.0",
  "-0",
  "1e400",
  "1000000000000000000000",
  "701984",
];

test("numbers where text is stored keep every digit, in each message, in filters and in the graph", async (t) => {
  const world = await servedWorld(t, await testDatabase(t, graphModules));
  const scim = await directoryOf(world);
  for (const number of numbers) {
    const sent = (body: object): string => JSON.stringify(body).replaceAll('"@"', number);
    const more = { externalId: "@", [ENTERPRISE]: { employeeNumber: "@" }, emails: [{ type: "work", value: "@" }] };
    const id = await made(scim, "/Users", sent(user(`post ${number}`, more)) as unknown as object);
    const check = async (what: string): Promise<void> => {
      const { body } = await scim("GET", `/Users/${id}`);
      const read = [body.externalId, body[ENTERPRISE].employeeNumber, body.emails[0].value, body.active];
      assert.deepEqual([what, ...read], [what, number, number, number, true]);
      const [node] = await world.sql<{ external_id: string; employee: string }>(
        `select external_id, props ->> 'employee_id' as employee from membership.node where id = 'person:scim:${id}'`,
      );
      assert.deepEqual([what, node?.external_id, node?.employee], [what, number, number]);
    };
    await check("POST");
    const cleared = user(`post ${number}`, { externalId: "x" });
    const put = async (body: object): Promise<number> => (await scim("PUT", `/Users/${id}`, sent(body))).status;
    assert.equal(await put(cleared), 200);
    assert.equal(await put(user(`post ${number}`, more)), 200);
    await check("PUT");
    assert.equal(await put(cleared), 200);
    const operations = [
      { op: "add", path: "externalId", value: "@" },
      { op: "add", path: `${ENTERPRISE}:employeeNumber`, value: "@" },
      { op: "add", path: `emails[type eq "work"]`, value: { value: "@" } },
    ];
    assert.equal((await scim("PATCH", `/Users/${id}`, sent(patch(...operations)))).status, 200);
    await check("PATCH");
    const found = async (filter: string): Promise<number> =>
      (await scim("GET", `/Users?filter=${encodeURIComponent(filter)}`)).body.totalResults;
    assert.deepEqual([number, await found(`externalId eq ${number}`), await found(`externalId eq "${number}"`)], [number, 1, 1]);
    assert.equal(await found(`${ENTERPRISE}:employeeNumber eq ${number}`), 1, number);
    const removed = await scim("PATCH", `/Users/${id}`, patch({ op: "remove", path: `emails[value eq ${number}]` }));
    assert.deepEqual([number, removed.body.emails], [number, undefined]);
  }
  const search = async (count: string) => scim("POST", "/Users/.search", `{"count":${count}}`);
  assert.deepEqual([(await search("2.0")).body.Resources.length, (await search("2.5")).status], [2, 400]);
});
