import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { MAX_CONFIG_BYTES } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import { packArchive, unpackArchive } from "./archive.ts";

const SYSTEM = "systems/staff.book.yaml";
const whole = [
  { path: "tools.yaml", text: "views: []\n" },
  { path: SYSTEM, text: "# ä ü 🦊\r\ntitle: x\n" },
  { path: `systems/${"deep/".repeat(20)}${"n".repeat(90)}.json`, text: "{}" },
];

test("what is packed is unpacked, byte for byte, in the order of its paths; the same files are the same bytes", () => {
  const packed = packArchive(whole);
  assert.deepEqual(
    unpackArchive(packed),
    whole.toSorted((one, other) => (one.path < other.path ? -1 : 1)),
  );
  assert.ok(packed.equals(packArchive(whole.toReversed())));
});

test("tar reads what is packed here, and what tar writes is read here", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-archive-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "ours.tar"), packArchive(whole));
  const listed = execFileSync("tar", ["-tf", join(folder, "ours.tar")], { encoding: "utf8" });
  assert.deepEqual(listed.trim().split("\n").toSorted(), whole.map(({ path }) => path).toSorted());
  for (const { path, text } of whole) {
    mkdirSync(dirname(join(folder, "config", path)), { recursive: true });
    writeFileSync(join(folder, "config", path), text);
  }
  for (const format of ["ustar", "pax", "gnu"]) {
    const some = ["-C", join(folder, "config"), "-cf", "-", "--format", format, "tools.yaml", SYSTEM];
    const read = unpackArchive(execFileSync("tar", some));
    assert.deepEqual(new Set(read), new Set(whole.slice(0, 2)), format);
  }
  symlinkSync("/etc/passwd", join(folder, "config", "systems", "a.link.yaml"));
  const linked = execFileSync("tar", ["-C", join(folder, "config"), "-cf", "-", "systems/a.link.yaml"]);
  assert.match(issuesOf(linked)[0] ?? "", /a\.link\.yaml: is no plain file/);
});

const issuesOf = (archive: Buffer): readonly string[] => {
  try {
    unpackArchive(archive);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, "unprocessable");
    return (error.options.errors ?? []).map(({ file, message }) => `${file ?? ""}: ${message}`);
  }
  return [];
};
/** A whole archive in which one head is altered, its sum put right again. */
const altered = (alter: (head: Buffer) => void): Buffer => {
  const packed = packArchive([{ path: SYSTEM, text: "title: x\n" }]);
  const head = packed.subarray(0, 512);
  alter(head);
  head.fill(0x20, 148, 156);
  head.write(
    `${head
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
  return packed;
};
const named = (path: string): Buffer =>
  altered((head) => {
    head.fill(0, 0, 100);
    head.write(path, 0);
  });
const typed = (type: string): Buffer => altered((head) => void head.write(type, 156));
/** Without bytes of its own. */
const directory = altered((head) => {
  head.write("00000000000\0", 124);
  head.write("5", 156);
}).subarray(0, 512);
const packed = packArchive(whole);

const refused: readonly (readonly [what: string, archive: Buffer, issue: RegExp])[] = [
  ["nothing", Buffer.alloc(0), /is no tar archive$/],
  ["text", Buffer.from("title: x\n".repeat(200)), /is no tar archive: a head/],
  ["an archive cut in a head", packed.subarray(0, 1024 + 100), /was cut off/],
  ["an archive cut in a file", packed.subarray(0, 512 + 3), /was cut off/],
  ["an archive without an end", packed.subarray(0, packed.length - 1024), /was cut off/],
  ["a head that was altered", Buffer.from(packed).fill(0x41, 2, 3), /a head is not what its sum says/],
  ["a size that is no number", altered((head) => void head.write("99999999999\0", 124)), /is not octal/],
  ["a size in base 256", altered((head) => void head.fill(0x80, 124, 136)), /is not octal/],
  ["a size beyond the archive", altered((head) => void head.write("77777777777\0", 124)), /was cut off/],
  ["a path upwards", named("systems/../../etc/passwd"), /is no file of a configuration folder/],
  ["a path from the root", named("/systems/a.b.yaml"), /is no file of a configuration folder/],
  ["a path of another platform", named("systems\\a.b.yaml"), /is no file of a configuration folder/],
  ["a hidden file", named("systems/._staff.book.yaml"), /is no file of a configuration folder/],
  ["an empty segment", named("systems//a.b.yaml"), /is no file of a configuration folder/],
  ["another document", named("routes.yaml"), /is no file of a configuration folder/],
  ["a name beyond ASCII", named("systems/ä.b.yaml"), /is no file of a configuration folder/],
  ["a name that no system has", named("systems/Staff.yaml"), /is named as no system can be/],
  ["a hard link", typed("1"), /is no plain file/],
  ["a link", typed("2"), /is no plain file/],
  ["a device", typed("3"), /is no plain file/],
  ["a pipe", typed("6"), /is no plain file/],
  ["a long name of GNU's", typed("L"), /is no plain file/],
  ["a sparse file", typed("S"), /is no plain file/],
  [
    "a head that names another path",
    Buffer.concat([packHead("27 path=systems/../../x.yaml\n"), packed]),
    /has a name or size of its own form/,
  ],
  ["a head that names another size", Buffer.concat([packHead("16 size=9999999\n"), packed]), /has a name or size of its own form/],
  ["a file twice", Buffer.concat([packed.subarray(0, packed.length - 1024), packed]), /is there twice/],
  [
    "directories beyond number",
    Buffer.concat([...Array.from({ length: 2000 }, () => directory), packed]),
    /has more than 2000 files and directories/,
  ],
  ["a file with NUL", packArchive([{ path: SYSTEM, text: "a\0b" }]), /is no UTF-8 text/],
  ["a file too large", packArchive([{ path: SYSTEM, text: "x".repeat(MAX_CONFIG_BYTES + 1) }]), /has more than 262144 bytes/],
];
function packHead(records: string): Buffer {
  const one = packArchive([{ path: SYSTEM, text: records }]).subarray(0, 1024);
  const head = one.subarray(0, 512);
  head.write("x", 156);
  head.fill(0x20, 148, 156);
  head.write(
    `${head
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148,
  );
  return one;
}
for (const [what, archive, issue] of refused)
  test(`refused: ${what}`, () => {
    const issues = issuesOf(archive);
    assert.ok(issues.length > 0, "it was taken");
    assert.match(issues.join("\n"), issue);
  });
test("refused: bytes that are no UTF-8", () => {
  const bytes = packArchive([{ path: SYSTEM, text: "xx" }]);
  bytes[512] = 0xff;
  assert.match(issuesOf(bytes).join("\n"), /is no UTF-8 text/);
});
