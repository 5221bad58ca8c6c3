import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import type { Problem } from "#contract/problem.ts";
import { createLog } from "#telemetry/log.ts";
import { readText, refOf, refusal, remove, testSecretProvider, write } from "#secrets/providers/secret-provider.contract.ts";
import type { SecretProvider } from "#secrets/providers/secret-provider.ts";
import { StartIssues } from "#contract/start-issues.ts";
import { acquireVaultLock } from "./vault-lock.ts";
import { SecretValue } from "#secrets/model/secret-value.ts";
import { VaultFileError } from "./vault-file-error.ts";
import { createAlterVault } from "./vault-work.ts";
import { createYamlProvider, type YamlProviderParts } from "./yaml-provider.ts";

const run = promisify(execFile);

interface Place {
  readonly path: string;
  readonly lines: string[];
  clock: number;
  open(environment?: YamlProviderParts["environment"]): Promise<SecretProvider>;
  put(text: string, mode?: number): Promise<void>;
}

const place = async (t: TestContext): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-vault-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "secrets.yaml");
  const lines: string[] = [];
  const log = createLog({ level: "debug", service: "secrets", version: "0", environment: "test", write: (line) => void lines.push(line) });
  const made: Place = {
    path,
    lines,
    clock: Date.parse("2026-11-21T10:00:00Z"),
    open: (environment = "test") => createYamlProvider({ path, environment, log, now: () => new Date(made.clock) }),
    put: async (text, mode = 0o600) => {
      await writeFile(path, text);
      await chmod(path, mode);
      made.clock += 1000;
    },
  };
  return made;
};

const startError = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof StartIssues, String(error));
    assert.equal(error.issues[0]?.path, "YAML_VAULT_PATH");
    return error.issues[0].message;
  }
  return "started";
};

testSecretProvider("the YAML file", {
  open: async (t) => ({ provider: await (await place(t)).open(), base: "yaml://secret" }),
  keepsDigits: true,
});

suite("secrets file", () => {
  test("an absent file is empty in dev and test and a start fault elsewhere", async (t) => {
    const at = await place(t);
    assert.equal(await refusal((await at.open("dev")).read(refOf("yaml://secret/a"))), "secret_not_found");
    assert.match(await startError(at.open("production")), /is not there/);
  });

  test("it is made with mode 0600, comments and untouched lines stay", async (t) => {
    const at = await place(t);
    await at.put(
      '# head\npeople:\n  # why\n  demo:\n    api_key: "k1" # rotated in May\n    rate: 1.10\n    big: 12345678901234567890\n  list: [a, b]\n',
    );
    const provider = await at.open();
    await write(provider, "yaml://secret/people/demo#api_key", '"k2"');
    await write(provider, "yaml://secret/other#count", "7");
    const text = await readFile(at.path, "utf8");
    for (const kept of [
      "# head",
      "  # why",
      'api_key: "k2" # rotated in May',
      "rate: 1.10",
      "big: 12345678901234567890",
      "[ a, b ]",
      "other:\n  count: 7",
    ])
      assert.ok(text.includes(kept), `${kept} in\n${text}`);
    assert.equal((await stat(at.path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(at.path, "..")), ["secrets.yaml"]);
  });

  test("a file that lost its last secret is read, and written anew beside its comments", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: v\n# tail\n");
    const provider = await at.open();
    await remove(provider, "yaml://secret/a#k");
    assert.match(await readFile(at.path, "utf8"), /^\{\}\n+# tail\n$/);
    await write(await at.open(), "yaml://secret/b#k", '"new"');
    assert.match(await readFile(at.path, "utf8"), /^b:\n {2}k: "new"\n+# tail\n$/);
  });

  const badFiles: readonly (readonly [what: string, text: string, issue: RegExp])[] = [
    ["1,500 brackets", "a: ".concat("[".repeat(1500)), /nested deeper than 32.*line 1, column 35/],
    ["1,500 indicators", "- ".repeat(1500), /nested deeper/],
    ["deep indentation", Array.from({ length: 40 }, (_, i) => `${" ".repeat(i)}k:\n`).join(""), /nested deeper than 32.*line 33/],
    ["an alias bomb", "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", /anchors.*line 1, column 4/],
    ["a merge key", "a: 1\n<<: {b: 2}\n", /merge keys.*line 2, column 1/],
    ["a tag", "a: !!binary aGk=\n", /tags.*line 1, column 4/],
    ["a directive", "%YAML 1.1\n---\na: yes\n", /directives.*line 1/],
    ["a repeated key", "a: 1\nb: 2\na: 3\n", /duplicate_key.*line 3, column 1/],
    ["a second document", "a: 1\n---\nb: 2\n", /multiple_docs.*line 2/],
    ["a key that is a list", "? [a]\n: 1\n", /non_string_key/],
    ["a list at the root", "- a\n", /holds a map/],
    ["no text", "", /is empty.*line 1/],
    ["blanks", "\n  \n", /is empty/],
    ["comments alone", "# head\n# nothing else\n", /is empty/],
    ["a null", "~\n", /is empty/],
    ["too many bytes", `a: "${"x".repeat(1_048_576)}"\n`, /larger than/],
  ];
  for (const [what, text, issue] of badFiles) {
    test(`${what}: refused with its place at start, and without echo of content`, async (t) => {
      const at = await place(t);
      await at.put(text);
      const message = await startError(at.open());
      assert.match(message, issue);
      assert.ok(!message.includes("xxx"));
    });

    test(`${what}, put there later: last good content stays readable, writes are refused, until it is repaired`, async (t) => {
      const at = await place(t);
      await at.put("a:\n  k: good\n");
      const provider = await at.open();
      await at.put(text);
      assert.equal(await readText(provider, "yaml://secret/a#k"), '"good"');
      assert.equal((await provider.state()).status, "degraded");
      assert.equal(await refusal(write(provider, "yaml://secret/a#k", '"new"')), "file_invalid");
      assert.equal(await readFile(at.path, "utf8"), text);
      await at.put("a:\n  k: repaired\n");
      assert.equal(await readText(provider, "yaml://secret/a#k"), '"repaired"');
      assert.equal((await provider.state()).status, "up");
    });
  }

  test("a symbolic link is not followed", async (t) => {
    const at = await place(t);
    await writeFile(`${at.path}.real`, "a:\n  k: v\n", { mode: 0o600 });
    await symlink(`${at.path}.real`, at.path);
    assert.match(await startError(at.open()), /symbolic link/);
  });

  test(
    "a pipe in its place, or in its lock's, is waited for by nobody: writes are refused until the file is mended",
    { timeout: 20_000 },
    async (t) => {
      const at = await place(t);
      await at.put("a:\n  k: v\n");
      const provider = await at.open();
      await rm(at.path);
      await run("mkfifo", [at.path]);
      at.clock += 1000;
      assert.equal(await refusal(write(provider, "yaml://secret/a#k", "1")), "file_invalid");
      assert.deepEqual(await provider.state(), { status: "degraded", issue: "file_invalid" });
      assert.equal(await readText(provider, "yaml://secret/a#k"), '"v"');
      await rm(at.path);
      await at.put("a:\n  k: mended\n");
      await run("mkfifo", [`${at.path}.lock`]);
      const old = new Date(Date.now() - 60_000);
      await utimes(`${at.path}.lock`, old, old);
      await write(provider, "yaml://secret/a#k", '"written"');
      at.clock += 1000;
      assert.equal(await readText(provider, "yaml://secret/a#k"), '"written"');
    },
  );

  test("a folder in its place is refused", async (t) => {
    const at = await place(t);
    assert.match(
      await startError(
        createYamlProvider({
          path: join(at.path, ".."),
          environment: "test",
          log: createLog({ level: "silent", service: "s", version: "0", environment: "test" }),
          now: () => new Date(),
        }),
      ),
      /regular file|cannot be/,
    );
  });

  test("a file that others may read is tightened with a warning in dev, refused in production", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: v\n", 0o644);
    assert.match(await startError(at.open("production")), /0600/);
    await at.open("dev");
    assert.equal((await stat(at.path)).mode & 0o777, 0o600);
    assert.ok(at.lines.some((line) => line.includes("secrets_file_tightened")));
  });

  test("outside dev and test it is read-only", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: v\n");
    const provider = await at.open("production");
    assert.equal(await readText(provider, "yaml://secret/a#k"), '"v"');
    assert.equal(await refusal(write(provider, "yaml://secret/a#k", '"w"')), "provider_readonly");
    assert.deepEqual([provider.isReadOnly, (await at.open("dev")).isReadOnly], [true, false]);
  });

  test("a file that vanished stays readable and is not overwritten by a smaller one", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: v\n");
    const provider = await at.open();
    await rm(at.path);
    at.clock += 1000;
    assert.equal(await readText(provider, "yaml://secret/a#k"), '"v"');
    assert.equal(await refusal(write(provider, "yaml://secret/a#k", '"w"')), "file_invalid");
  });

  test("a hand edit is seen, but not looked for more often than each 250 ms", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: one\n");
    const provider = await at.open();
    await writeFile(at.path, "a:\n  k: second\n");
    assert.equal(await readText(provider, "yaml://secret/a#k"), '"one"');
    at.clock += 250;
    assert.equal(await readText(provider, "yaml://secret/a#k"), '"second"');
  });

  test("a file of a thousand secrets is read and written while others have their turns, and keeps its rules, digits and lines", async (t) => {
    const at = await place(t);
    const many = Array.from(
      { length: 1000 },
      (_, index) => `  s${index}: # of ${index}\n    token: "value ${index}"\n    at: ${index}.10\n`,
    );
    await at.put(`team:\n${many.join("")}`);
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    count();
    const provider = await at.open();
    isOver = true;
    assert.ok(turns > 100, `${turns} turns of the loop`);
    assert.equal(await readText(provider, "yaml://secret/team/s999"), '{"at":999.10,"token":"value 999"}');
    await Promise.all(
      ["1.50", '{"a":{"b":[1.0,"x"]}}', '"z"'].map((value, index) => write(provider, `yaml://secret/new${index}#k`, value)),
    );
    assert.equal(await readText(provider, "yaml://secret/new0#k"), "1.50");
    assert.equal(await readText(provider, "yaml://secret/new1#k"), '{"a":{"b":[1.0,"x"]}}');
    assert.equal(await refusal(write(provider, "yaml://secret/new0#k", "2", { cas: 0 })), "cas_mismatch");
    assert.equal(await refusal(write(provider, "yaml://secret/new0#k", "2", { cas: 3 })), "not_supported");
    const stale = await provider.read(refOf("yaml://secret/team/s5"));
    await write(provider, "yaml://secret/team/s5#at", "5.100");
    assert.equal(await refusal(remove(provider, "yaml://secret/team/s5", { onlyIf: stale })), "source_changed");
    assert.equal(
      (await remove(provider, "yaml://secret/team/s5", { onlyIf: await provider.read(refOf("yaml://secret/team/s5")) })).result,
      "removed",
    );
    const text = await readFile(at.path, "utf8");
    assert.ok(text.includes("# of 6") && !text.includes("\n  s5:") && text.includes("at: 6.10"));
    await at.put(`${text}\nbad: [1,\n`);
    assert.equal(await refusal(write(provider, "yaml://secret/x#k", "1")), "file_invalid");
    assert.deepEqual(await provider.state(), { status: "degraded", issue: "file_invalid" });
    assert.ok(at.lines.some((line) => line.includes("secrets_file_invalid") && /line [0-9]+/.test(line)));
    assert.equal(await readText(provider, "yaml://secret/new0#k"), "1.50");
  });

  test("tenants take turns to write, however much one of them wrote before", async (t) => {
    const provider = await (await place(t)).open();
    const order: string[] = [];
    const put = async (tenant: string, name: string): Promise<void> => {
      const ref = { ...refOf(`yaml://secret/${tenant}/${name}#k`), tenant };
      const change = { value: "v", replace: false };
      const decided = new Set((await provider.nodes(ref, change)).map(({ id }) => id));
      await provider.write(ref, change, { decided });
      order.push(name);
    };
    await Promise.all([...["a1", "a2", "a3", "a4"].map((name) => put("a", name)), put("b", "b1")]);
    assert.deepEqual(order, ["a1", "a2", "b1", "a3", "a4"]);
  });

  test("what this process wrote is not read again, what another wrote is", async (t) => {
    const at = await place(t);
    const provider = await at.open();
    const value = async (): Promise<unknown> => SecretValue.reveal((await provider.read(refOf("yaml://secret/a"))).value);
    await write(provider, "yaml://secret/a#k", '"v"');
    const written = await value();
    at.clock += 1000;
    assert.equal(await value(), written);
    await at.put((await readFile(at.path, "utf8")).replace("v", "w"));
    assert.deepEqual(await value(), new Map([["k", "w"]]));
  });

  test("a text that takes too long or too much memory is a fault of the file, and others are read after it", async () => {
    const large = (text: string): string => `a: [${text.repeat(30_000)}1]\nb: {k: v}\n`;
    const read = async (limits: { readonly maxMs: number; readonly heapMebibytes: number }, text: string) =>
      createAlterVault(limits)(text, { kind: "read" }).then(
        ({ root }) => root.get("b"),
        (error: unknown) => (error instanceof VaultFileError ? error.message : String(error)),
      );
    assert.equal(await read({ maxMs: 1, heapMebibytes: 512 }, large("1,")), "takes longer than 0.001 s to be read");
    assert.equal(await read({ maxMs: 30_000, heapMebibytes: 16 }, large("[],")), "needs more than 16 MiB of memory to be read");
    assert.deepEqual(await read({ maxMs: 30_000, heapMebibytes: 512 }, large("1,")), new Map([["k", "v"]]));
  });

  test("two writers on one file lose nothing", async (t) => {
    const at = await place(t);
    const [one, two] = [await at.open(), await at.open()];
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => write(index % 2 === 0 ? one : two, `yaml://secret/many#k${index}`, String(index))),
    );
    at.clock += 1000;
    const seen = JSON.parse(await readText(one, "yaml://secret/many")) as object;
    assert.equal(Object.keys(seen).length, 40);
  });

  const during: readonly (readonly [what: string, meddle: (path: string) => void])[] = [
    ["an edit by hand", (path) => writeFileSync(path, "a:\n  k: by hand\n")],
    ["a stolen lock", (path) => writeFileSync(`${path}.lock`, JSON.stringify({ pid: process.pid, nonce: "thief" }))],
  ];
  for (const [what, meddle] of during) {
    test(`${what} during our write is answered with cas_mismatch and nothing of ours is written`, async (t) => {
      const at = await place(t);
      await at.put("a:\n  k: v\n");
      const provider = await at.open();
      const writing = refusal(write(provider, "yaml://secret/a#k", '"ours"'));
      // Once the temporary file is there, only writing, syncing and the last look at file and lock are ahead.
      while (!readdirSync(join(at.path, "..")).some((name) => name.endsWith(".tmp"))) await new Promise(setImmediate);
      meddle(at.path);
      assert.equal(await writing, "cas_mismatch");
      assert.ok(!(await readFile(at.path, "utf8")).includes("ours"));
      assert.ok(!(await readdir(join(at.path, ".."))).some((name) => name.endsWith(".tmp")));
    });
  }

  test("a held lock makes a writer wait, then busy; a dead holder's stale lock is taken over", async (t) => {
    const at = await place(t);
    const lock = await acquireVaultLock({ path: `${at.path}.lock` });
    await assert.rejects(acquireVaultLock({ path: `${at.path}.lock`, waitMs: 100 }), (error: Problem) => error.code === "busy");
    await lock[Symbol.asyncDispose]();
    await writeFile(`${at.path}.lock`, JSON.stringify({ pid: 2 ** 22 + 1, nonce: "gone" }));
    await assert.rejects(
      acquireVaultLock({ path: `${at.path}.lock`, waitMs: 60 }),
      (error: Problem) => error.code === "busy",
      "fresh: not stale yet",
    );
    const old = new Date(Date.now() - 60_000);
    await utimes(`${at.path}.lock`, old, old);
    await using taken = await acquireVaultLock({ path: `${at.path}.lock`, waitMs: 500 });
    await taken.requireHeld();
    // A live holder's lock is kept however old its heartbeat is.
    await utimes(`${at.path}.lock`, old, old);
    await assert.rejects(acquireVaultLock({ path: `${at.path}.lock`, waitMs: 60 }), (error: Problem) => error.code === "busy");
  });

  test("a lock that was stolen refuses the write and leaves the thief's lock alone", async (t) => {
    const at = await place(t);
    const lock = await acquireVaultLock({ path: `${at.path}.lock` });
    await writeFile(`${at.path}.lock`, JSON.stringify({ pid: process.pid, nonce: "thief" }));
    await assert.rejects(lock.requireHeld(), (error: Problem) => error.code === "cas_mismatch");
    await lock[Symbol.asyncDispose]();
    assert.ok((await readFile(`${at.path}.lock`, "utf8")).includes("thief"));
  });

  test("temporary files of a dead process are removed at start, others stay", async (t) => {
    const at = await place(t);
    const dead = `${at.path}.${2 ** 22 + 1}.${"a".repeat(16)}.tmp`;
    await writeFile(dead, "x");
    await writeFile(`${at.path}.${process.pid}.${"b".repeat(16)}.tmp`, "x");
    await writeFile(`${at.path}.notes.tmp`, "x");
    await at.open();
    assert.deepEqual(
      (await readdir(join(at.path, ".."))).toSorted(),
      [`secrets.yaml.${process.pid}.${"b".repeat(16)}.tmp`, "secrets.yaml.notes.tmp"].toSorted(),
    );
  });

  test("nodes: a map under a key is one thing with the path below; names without a path stand as keys", async (t) => {
    const at = await place(t);
    await at.put('people:\n  demo:\n    k: v\n    deep: {x: 1}\n  "a b": {y: 1}\n  plain: 1\n');
    const provider = await at.open();
    const ids = async (found: ReturnType<SecretProvider["nodes"]>) => (await found).map((node) => node.id);
    const nodes = (uri: string) => ids(provider.nodes(refOf(uri)));
    assert.deepEqual(await nodes("yaml://secret/people"), [
      "yaml://secret/people",
      "yaml://secret/people/demo",
      "yaml://secret/people/demo/deep",
      "yaml://secret/people#a%20b",
    ]);
    assert.deepEqual(await nodes("yaml://secret/people#demo"), [
      "yaml://secret/people#demo",
      "yaml://secret/people/demo",
      "yaml://secret/people/demo/deep",
    ]);
    assert.deepEqual(await nodes("yaml://secret/people/demo#k"), ["yaml://secret/people/demo#k"]);
    assert.deepEqual(await nodes("yaml://secret/absent"), ["yaml://secret/absent"]);
    const change = { value: new Map([["new", new Map([["z", 1]])]]), replace: true };
    assert.deepEqual(await ids(provider.nodes(refOf("yaml://secret/people/demo"), change)), [
      "yaml://secret/people/demo",
      "yaml://secret/people/demo/deep",
      "yaml://secret/people/demo/new",
    ]);
    assert.deepEqual(await ids(provider.nodes(refOf("yaml://secret/people#demo"), { value: "gone", replace: false })), [
      "yaml://secret/people#demo",
      "yaml://secret/people/demo",
      "yaml://secret/people/demo/deep",
    ]);
  });

  test("a path through a text is refused, through nothing it is made", async (t) => {
    const at = await place(t);
    await at.put("a: text\nb:\n");
    const provider = await at.open();
    assert.equal(await refusal(write(provider, "yaml://secret/a/x#k", "1")), "value_shape");
    await write(provider, "yaml://secret/b/x#k", "1");
    assert.equal(await readText(provider, "yaml://secret/b/x#k"), "1");
    assert.equal(await refusal(provider.read(refOf("yaml://secret/a"))), "secret_not_found");
  });

  test("a write that would nest too deeply or grow too large changes nothing", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: v\n");
    const provider = await at.open();
    assert.equal(
      await refusal(write(provider, `yaml://secret/${"d/".repeat(24)}x#k`, `${"[".repeat(20)}${"]".repeat(20)}`)),
      "value_too_deep",
    );
    for (let index = 0; index < 2; index++) await write(provider, `yaml://secret/big${index}#k`, `"${"x".repeat(500_000)}"`);
    assert.equal(await refusal(write(provider, "yaml://secret/big2#k", `"${"x".repeat(500_000)}"`)), "value_too_large");
    assert.equal(await readText(provider, "yaml://secret/a"), '{"k":"v"}');
  });

  test("no line of the log holds a value", async (t) => {
    const at = await place(t);
    await at.put("a:\n  k: canary-4711\n");
    const provider = await at.open();
    await write(provider, "yaml://secret/a#l", '"canary-4712"');
    await at.put("a: [canary-4713\n");
    await provider.state();
    assert.ok(at.lines.length > 0 && at.lines.every((line) => !line.includes("canary")));
  });
});
