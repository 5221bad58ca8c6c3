import assert from "node:assert/strict";
import { forEachDatabase } from "#testing/database.ts";
import { graphModules, servedWorld } from "#testing/membership.ts";

const names = [
  "Anna Müller",
  "ANNA MULLER",
  "Jörg İstanbul",
  "O'Neil 100%_off",
  "Анна Каренина",
  "Zoë 🦀 Crab",
  "\u202eEvil Reversed",
  "e\u0301clair Combining",
];

forEachDatabase(
  "full text finds people by their words, typing errors forgiven, and nothing of other tenants",
  graphModules,
  async (t, database) => {
    const world = await servedWorld(t, database);
    await world.put(
      ...names.map((name, at) => ({
        id: `person:t${at}`,
        kind: "Person" as const,
        name,
        tenant_id: "tenant:acme",
        props: { email: `t${at}@acme.example` },
      })),
      { id: "person:far", kind: "Person", name: "Anna Faraway", tenant_id: "tenant:globex", props: {} },
    );
    const search = async (query: string) => (await world.call("ben", "GET", `/api/v1/identity_nodes/fulltext-search?${query}`)).body;
    const first = async (q: string): Promise<string | undefined> => (await search(`q=${encodeURIComponent(q)}`)).nodes[0]?.id;
    for (const [q, id] of [
      ["person:ben", "person:ben"],
      ["ben", "account:ben@acme"],
      ["ben@acme.example", "person:ben"],
      ["Ben Baker", "person:ben"],
      ["baker ben", "person:ben"],
      ["Bakre", "person:ben"],
      ["cleo chn", "person:cleo"],
      ["t3@acme.example", "person:t3"],
      ["anna müller", "person:t0"],
      ["ANNA MULLER", "person:t1"],
      ["o'neil", "person:t3"],
      ["100%_off", "person:t3"],
      ["Jörg", "person:t2"],
      ["crab", "person:t5"],
      ["\u00e9clair", "person:t7"],
      ["human resources assistant", undefined],
      ["%", "person:t3"],
      ["nobody-of-that-name", undefined],
    ] as const)
      assert.deepEqual([q, await first(q)], [q, id]);
    const found = await search("q=anna&limit=1");
    assert.deepEqual([found.total, found.nodes.length, found.has_more, found.limit, found.skip], [2, 1, true, 1, 0]);
    const exact = (await search("q=Ben%20Baker")).nodes[0];
    assert.deepEqual([exact.score, exact.node_type, exact.relationships.out.BELONGS_TO], [0.95, "Person", 1]);
    assert.equal((await search("q=person:ben")).nodes[0].score, 1);
    assert.deepEqual((await search("q=ben&node_type=Group")).nodes, []);
    assert.deepEqual((await search("q=ben&system=elsewhere")).nodes, []);
    const eve = await world.call("eve", "GET", "/api/v1/identity_nodes/fulltext-search?q=anna");
    assert.deepEqual(
      eve.body.nodes.map((node: { id: string }) => node.id),
      ["person:far"],
    );
  },
);
