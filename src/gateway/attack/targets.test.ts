import { test } from "node:test";
import { attackWorld, HOST, onEveryRow, rawGet, runAttacks, type Attack } from "#testing/attack-world.ts";
import { sharedDatabase } from "#testing/gateway.ts";

const database = sharedDatabase();

/** Refused whatever row it looks like, with the credentials that the row would take. */
const ambiguousTails: readonly (readonly [number: number, tail: string])[] = [
  [1, "../admin"],
  [1, "./x"],
  [1, "%2e%2e/admin"],
  [1, ".%2E/x"],
  [1, "x/.."],
  [1, "."],
  [2, "a%2Fb"],
  [2, "a%5C"],
  [2, "a%00"],
  [2, "a%3B"],
  [2, "a%3F"],
  [2, "a%23"],
  [2, "a\\"],
  [3, "..;x=1/admin"],
  [3, "a;b=1"],
  [3, ";/x"],
  [4, ".."],
  [4, "%2e%2e/x"],
  [6, "a%2Fb"],
  [6, "a%3Fq=1"],
  [6, "a%23f"],
  [7, "/x"],
  [8, "%252e%252e/admin"],
  [8, "%25252fx"],
  [10, "x#/admin"],
  [12, "{id}"],
  [12, "\xe9"],
  [12, "%E9"],
  [12, "%C0%AE%C0%AE/x"],
];

const attacks: readonly Attack[] = [
  ...ambiguousTails.flatMap(([number, tail]) =>
    onEveryRow((row, credential) => ({
      name: `attack ${number}: GET ${JSON.stringify(row + tail)}`,
      bytes: rawGet(row + tail, credential),
      expected: "ambiguous_target",
    })),
  ),
  ...onEveryRow((row, credential) => ({
    name: "attack 2: a raw NUL",
    bytes: rawGet(`${row}a\0b`, credential),
    expected: "bad_framing",
    closes: true,
  })),
  { name: "attack 2: %2F on a row that lists it", bytes: rawGet("/encoded/a%2Fb"), expected: { sees: "/a%2Fb" } },
  { name: "attack 2: %3B on a row that lists only %2F", bytes: rawGet("/encoded/a%3Bb"), expected: "ambiguous_target" },
  { name: "attack 2: dots beside an encoded separator that is listed", bytes: rawGet("/encoded/a%2F..%2Fb"), expected: "ambiguous_target" },
  ...["/admin;a=b", "/public;/x", "/semicolon/..;x=1/admin", "/semicolon/;x=1/admin", "/semicolon;x/a"].map((target): Attack => ({
    name: `attack 3: GET ${target}`,
    bytes: rawGet(target, "<S>"),
    expected: "ambiguous_target",
  })),
  { name: "attack 3: a parameter on a row that lists ;", bytes: rawGet("/semicolon/a;x=1"), expected: { sees: "/a;x=1" } },
  { name: "attack 4: GET /api../admin", bytes: rawGet("/api../admin"), expected: "not_found" },
  { name: "attack 4: GET /api%2e/admin", bytes: rawGet("/api%2e/admin"), expected: "ambiguous_target" },
  { name: "attack 5: GET /%61pi/t/x is /api/t/x", bytes: rawGet("/%61pi/t/x", "<S>"), expected: { sees: "/x" } },
  { name: "attack 7: GET /%61dmin/x", bytes: rawGet("/%61dmin/x"), expected: "unauthenticated" },
  { name: "attack 7: GET /ADMIN/x", bytes: rawGet("/ADMIN/x"), expected: "not_found" },
  { name: "attack 7: GET /admin/x/", bytes: rawGet("/admin/x/"), expected: "unauthenticated" },
  {
    name: "attack 7: GET /admin/x/ with a session is another path of the same row",
    bytes: rawGet("/admin/x/", "<S>"),
    expected: { sees: "/x/" },
  },
  { name: "attack 7: GET //admin/x", bytes: rawGet("//admin/x"), expected: "ambiguous_target" },
  ...["http://other/admin", "http://localhost:8080/public/x", "localhost:8080/admin", "*", "admin/x"].map((target): Attack => ({
    name: `attack 9: GET ${target}`,
    bytes: rawGet(target),
    expected: "ambiguous_target",
  })),
  { name: "attack 9: OPTIONS *", bytes: `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, expected: "ambiguous_target" },
  { name: "attack 10: GET /admin#/public/x", bytes: rawGet("/admin#/public/x"), expected: "ambiguous_target" },
  { name: "attack 11: GET /admin/x?/public/", bytes: rawGet("/admin/x?/public/"), expected: "unauthenticated" },
  { name: "attack 11: GET /admin/x?p=/public/y", bytes: rawGet("/admin/x?p=/public/y"), expected: "unauthenticated" },
  { name: "attack 11: GET /x/public/y", bytes: rawGet("/x/public/y"), expected: "not_found" },
  { name: "attack 12: a literal star", bytes: rawGet("/admin/*"), expected: "unauthenticated" },
  {
    name: "attack 19: a probe's user agent and a public path in the query open nothing",
    bytes: rawGet("/admin/x?/api/v1/health/live", "User-Agent: kube-probe/1.30\r\n"),
    expected: "unauthenticated",
  },
  { name: "attack 50: GET /api/crud/../metrics", bytes: rawGet("/api/crud/../metrics"), expected: "ambiguous_target" },
  { name: "a target over 8 KiB", bytes: rawGet(`/public/${"a".repeat(8200)}`), expected: "target_too_long" },
];

test("attacks on the target: it has one reading on every row, or none", async (t) => {
  await runAttacks(t, await attackWorld(t, await database()), attacks);
});
