import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { silentLog } from "#telemetry/log.ts";
import type { Employee } from "./employees.ts";
import { createPeopleDirectory } from "./people-directory.ts";

const KEY = "demo-key-of-the-test";

const open = (now = () => new Date("2026-11-21T10:00:00Z")) => createPeopleDirectory({ apiKey: () => KEY, now, log: silentLog });

type Directory = ReturnType<typeof open>;
const call = (
  directory: Directory,
  path: string,
  init: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Response> =>
  directory.fetch(new Request(`http://127.0.0.1:8090${path}`, { ...init, headers: { "x-api-key": KEY, ...init.headers } }));
const patch = (directory: Directory, id: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  call(directory, `/api/employees/${id}`, {
    method: "PATCH",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
const read = async (response: Response): Promise<{ items: Employee[]; next: string | null }> =>
  (await response.json()) as { items: Employee[]; next: string | null };
const codeOf = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;

suite("people directory", () => {
  test("pages cover every employee once, newest first, and end with next null", async () => {
    const directory = open();
    const seen: Employee[] = [];
    let after = "";
    for (let page = 0; page < 10; page++) {
      const { items, next } = await read(await call(directory, `/api/employees?limit=5${after}`));
      seen.push(...items);
      if (next === null) break;
      after = `&after=${next}`;
    }
    assert.equal(seen.length, 24);
    assert.equal(new Set(seen.map((one) => one.id)).size, 24);
    assert.deepEqual(
      seen.map((one) => one.hired_at),
      seen
        .map((one) => one.hired_at)
        .toSorted()
        .toReversed(),
    );
    assert.deepEqual([...new Set(seen.map((one) => one.tenant))].toSorted(), ["tenant:acme", "tenant:globex"]);
  });

  test("a department narrows the list whatever its case", async () => {
    const { items } = await read(await call(open(), "/api/employees?dept=engineering"));
    assert.ok(items.length > 3);
    assert.ok(items.every((one) => one.department === "Engineering"));
  });

  test("one employee has every member that filters and masks name", async () => {
    const employee = (await (await call(open(), "/api/employees/e1")).json()) as Employee;
    assert.equal(employee.id, "e1");
    assert.equal(employee.tenant, "tenant:acme");
    assert.equal(typeof employee.salary, "number");
    assert.match(employee.birth_date, /^\d{4}-\d{2}-\d{2}$/);
  });

  const withoutKey: readonly (readonly [string, Record<string, string>])[] = [
    ["no key", {}],
    ["another key", { "x-api-key": "demo-key-of-the-tesT" }],
    ["an empty key", { "x-api-key": "" }],
  ];
  for (const [what, headers] of withoutKey) {
    test(`${what} is refused with 401 and a challenge`, async () => {
      const response = await open().fetch(new Request("http://127.0.0.1:8090/api/employees", { headers }));
      assert.equal(response.status, 401);
      assert.match(response.headers.get("www-authenticate") ?? "", /^ApiKey/);
      assert.equal(await codeOf(response), "unauthenticated");
    });
  }

  const refused: readonly (readonly [string, number, string])[] = [
    ["/api/employees?limit=0", 400, "invalid_query"],
    ["/api/employees?limit=201", 400, "invalid_query"],
    ["/api/employees?limit=ten", 400, "invalid_query"],
    ["/api/employees?limit=1&limit=2", 400, "ambiguous_query"],
    ["/api/employees?colour=red", 400, "invalid_query"],
    ["/api/employees?after=bm90LW91cnM", 400, "invalid_cursor"],
    ["/api/employees/e999", 404, "not_found"],
    ["/api/employees/e1/salary", 404, "not_found"],
    ["/api/other", 404, "not_found"],
  ];
  for (const [path, status, code] of refused) {
    test(`GET ${path} is refused with ${code}`, async () => {
      const response = await call(open(), path);
      assert.equal(response.status, status);
      assert.equal(await codeOf(response), code);
    });
  }

  test("a changed salary is read back", async () => {
    const directory = open();
    assert.equal((await patch(directory, "e2", { salary: 93_000 })).status, 200);
    assert.equal(((await (await call(directory, "/api/employees/e2")).json()) as Employee).salary, 93_000);
  });

  const badBodies: readonly (readonly [string, unknown, Record<string, string>, number, string])[] = [
    ["a negative salary", { salary: -1 }, {}, 422, "invalid_body"],
    ["a fraction", { salary: 1.5 }, {}, 422, "invalid_body"],
    ["text", { salary: "90000" }, {}, 422, "invalid_body"],
    ["another member", { salary: 1, name: "x" }, {}, 422, "invalid_body"],
    ["a repeated member", '{"salary":1,"salary":2}', {}, 400, "duplicate_member"],
    ["no JSON", "salary=1", {}, 400, "body_unreadable"],
    ["another media type", { salary: 1 }, { "content-type": "text/plain" }, 415, "unsupported_media_type"],
    ["a huge body", `{"salary":${" ".repeat(20_000)}1}`, {}, 413, "body_too_large"],
    ["a key with a space", { salary: 1 }, { "idempotency-key": "a b" }, 400, "invalid_request"],
  ];
  for (const [what, body, headers, status, code] of badBodies) {
    test(`PATCH with ${what} is refused with ${code} and changes nothing`, async () => {
      const directory = open();
      const response = await patch(directory, "e2", body, headers);
      assert.equal(response.status, status);
      assert.equal(await codeOf(response), code);
      assert.equal(directory.changes, 0);
    });
  }

  test("the same Idempotency-Key has one effect and the same answer, even at once", async () => {
    const directory = open();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => patch(directory, "e3", { salary: 80_000 }, { "idempotency-key": "call-1" })),
    );
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    assert.equal(new Set(texts).size, 1);
    assert.equal(directory.changes, 1);
    await patch(directory, "e3", { salary: 90_000 });
    const again = await patch(directory, "e3", { salary: 80_000 }, { "idempotency-key": "call-1" });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(await again.text(), texts[0]);
    assert.equal(((await (await call(directory, "/api/employees/e3")).json()) as Employee).salary, 90_000);
  });

  test("an Idempotency-Key with another body or employee is 409", async () => {
    const directory = open();
    await patch(directory, "e3", { salary: 80_000 }, { "idempotency-key": "call-1" });
    for (const response of [
      await patch(directory, "e3", { salary: 80_001 }, { "idempotency-key": "call-1" }),
      await patch(directory, "e4", { salary: 80_000 }, { "idempotency-key": "call-1" }),
    ]) {
      assert.equal(response.status, 409);
      assert.equal(await codeOf(response), "idempotency_conflict");
    }
    assert.equal(directory.changes, 1);
  });

  test("a key is forgotten after a day", async () => {
    let now = new Date("2026-11-21T10:00:00Z");
    const directory = open(() => now);
    await patch(directory, "e3", { salary: 80_000 }, { "idempotency-key": "call-1" });
    now = new Date("2026-11-22T10:00:01Z");
    assert.equal((await patch(directory, "e3", { salary: 70_000 }, { "idempotency-key": "call-1" })).status, 200);
    assert.equal(directory.changes, 2);
  });

  test("a method that is not served names those that are", async () => {
    const response = await call(open(), "/api/employees/e1", { method: "DELETE" });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "GET, PATCH");
  });

  test("it listens on a free loopback port and counts requests", async () => {
    const directory = open();
    const listening = await directory.listen({ port: 0 });
    try {
      const response = await fetch(`http://127.0.0.1:${listening.port}/api/employees?limit=1`, { headers: { "x-api-key": KEY } });
      assert.equal((await read(response)).items.length, 1);
      assert.equal(directory.requests, 1);
    } finally {
      await listening.close(0);
    }
  });
});
