import assert from "node:assert/strict";
import { test } from "node:test";
import { operationNames } from "./operation-names.ts";

const nameOf = (id: string): string => operationNames([{ key: "k", id }], "p.").get("k") ?? "";

test("words begin where the case says so", () => {
  for (const [id, name] of [
    ["listUsers", "list_users"],
    ["getHTTPServerURL", "get_http_server_url"],
    ["ABCd", "ab_cd"],
    ["AAaAAa", "a_aa_a_aa"],
    ["X2Y", "x2_y"],
    ["__Créer-Été__", "cre_er_e_te"],
  ] as const)
    assert.equal(nameOf(id), name, id);
});

test("an id as long as a document is read once", () => {
  for (const piece of ["A", "a", "_", "-", "0", "Aa", "AB1", "\u0323\u0301", "\uff9e\u0301"])
    assert.match(nameOf(`x${piece.repeat(400_000 / piece.length)}`), /^x[a-z0-9_]{0,80}$/);
});
