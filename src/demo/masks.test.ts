import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { employeeRows } from "./world.ts";

test("the graph says of the people tools what their file hides: a what-if reads the one, a call the other", async () => {
  const file = parse(await readFile(new URL("../../config/demo/systems/people.demo.yaml", import.meta.url), "utf8")) as {
    readonly operations: Readonly<
      Record<string, { readonly mask?: readonly { readonly path: string; readonly action: string; readonly unlessAllowed?: string }[] }>
    >;
  };
  const operations = ["list_employees", "get_employee", "update_salary"];
  for (const name of operations) {
    const masks = file.operations[name]?.mask?.map(({ path, action, unlessAllowed }) => ({
      column: path.split("/").at(-1),
      kind: action,
      unless_allowed: unlessAllowed,
    }));
    assert.deepEqual(masks, employeeRows.masks, name);
  }
});
