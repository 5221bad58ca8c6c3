import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { parseCommandLine } from "#app/model/command-line.ts";
import { examineStart } from "#app/start/examine-start.ts";
import type { Finding } from "#app/start/finding.ts";
import { holdDataFolder } from "#store/data-folder-lock.ts";
import { silentLog } from "#telemetry/log.ts";

const root = join(import.meta.dirname, "..");

interface Place {
  readonly folder: string;
  look(environment?: Readonly<Record<string, string>>, options?: readonly string[], nodeVersion?: string): Promise<readonly Finding[]>;
}

/** A folder of its own, high ports, and the configuration of this installation. */
const place = (t: TestContext): Place => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-doctor-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    look: async (environment = {}, options = [], nodeVersion = process.versions.node) => {
      await using examined = await examineStart({
        commandLine: parseCommandLine(["--data", "data", "--port", "46080", ...options]),
        environment: { ENVIRONMENT: "dev", ...environment },
        from: folder,
        nodeVersion,
        logOf: () => silentLog,
      });
      return examined.findings;
    },
  };
};
const issuesOf = (findings: readonly Finding[]): string[] =>
  findings.filter(({ status }) => status === "fault").map(({ area, text }) => `${area} ${text}`);

suite("npm run doctor", () => {
  test("an empty folder with the shipped configuration has no issue", async (t) => {
    const findings = await place(t).look();
    // Ports are this machine's matter; the next tests look at them.
    assert.deepEqual(issuesOf(findings.filter((one) => one.area !== "port")), []);
    for (const area of ["node", "settings", "data", "port", "config", "policies", "secrets", "database"])
      assert.ok(
        findings.some((one) => one.area === area),
        area,
      );
  });

  test("every issue of the settings is named with its variable, and never a secret's text", async (t) => {
    const issues = issuesOf(await place(t).look({ TENANT_SALT: "short-secret", LOG_LEVEL: "loud", SECRETS_ENFORCE_SCOPES: "no" }));
    for (const variable of ["TENANT_SALT", "LOG_LEVEL", "SECRETS_ENFORCE_SCOPES"])
      assert.ok(
        issues.some((line) => line.startsWith(`settings ${variable}: `)),
        variable,
      );
    assert.ok(!issues.join().includes("short-secret"));
  });

  test("tools that a setting leaves out are warned of", async (t) => {
    const warnings = (await place(t).look({ MCP_MAX_TOOLS: "2" })).filter(({ status }) => status === "warn").map(({ text }) => text);
    assert.match(warnings.join("\n"), /MCP_MAX_TOOLS is 2, and the systems here have \d+ tools/);
  });

  test("limits of systems are reported, and a ceiling over all addresses is warned of", async (t) => {
    for (const [ceiling, warned] of [
      ["0.0.0.0/0", "0.0.0.0/0"],
      ["10.0.0.0/8,::/0", "::/0"],
      ["10.0.0.0/8", undefined],
    ] as const) {
      const findings = await place(t).look({ TOOLS_NETWORK_CEILING: ceiling, MCP_STDIO_SANDBOX: "none" });
      const limits = `systems dial private networks within ${ceiling.replace(",", ", ")}; MCP_STDIO_SANDBOX is none`;
      assert.ok(findings.some(({ status, text }) => status === "ok" && text === limits));
      const wide = findings.filter(({ status, text }) => status === "warn" && text.startsWith("TOOLS_NETWORK_CEILING has"));
      assert.deepEqual(
        wide.map(({ text }) => text.slice("TOOLS_NETWORK_CEILING has ".length, text.indexOf(": systems"))),
        warned === undefined ? [] : [warned],
      );
    }
  });

  test("in production a start by npm is warned of, whose environment other programs of the user read", async (t) => {
    for (const [environment, event, reported] of [
      ["production", "start", true],
      ["production", "doctor", false],
      ["production", "", false],
      ["test", "start", false],
    ] as const) {
      const findings = await place(t).look({ ENVIRONMENT: environment, npm_lifecycle_event: event });
      assert.equal(
        findings.some(({ status, text }) => status === "warn" && text.startsWith("npm_lifecycle_event is start")),
        reported,
        `${environment} ${event}`,
      );
    }
  });

  test("settings that do not go together are issues too", async (t) => {
    const issues = issuesOf(await place(t).look({ TENANT_ALLOWED_MOUNTS: "yaml://secret" }));
    assert.match(issues.join("\n"), /settings TENANT_ALLOWED_MOUNTS: .*TENANT_ID/);
    const overlapping = { TENANT_ALLOWED_MOUNTS: '{"tenant:a":["yaml://secret"],"tenant:b":["yaml://secret/b"]}' };
    assert.match(
      issuesOf(await place(t).look(overlapping)).join("\n"),
      /"yaml:\/\/secret\/b" of tenant:b lies in "yaml:\/\/secret" of tenant:a/,
    );
  });

  test("an old Node is an issue", async (t) => {
    const findings = await place(t).look({ LOG_LEVEL: "x" }, [], "20.20.2");
    assert.match(issuesOf(findings).join("\n"), /Node 20\.20\.2 is too old/);
  });

  test("a taken port is an issue that names it, or a note while an instance runs on this folder, which is the issue", async (t) => {
    const at = place(t);
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const options = ["--port", String(port)];
    assert.match(issuesOf(await at.look({}, options)).join("\n"), new RegExp(`Port ${port} for gateway is in use by another program`));
    mkdirSync(join(at.folder, "data"), { mode: 0o700 });
    const lock = await holdDataFolder(join(at.folder, "data"));
    t.after(() => lock.release());
    const findings = await at.look({}, options);
    assert.deepEqual(issuesOf(findings), [
      `data ${join(at.folder, "data")} is in use by the process with id ${process.pid}. Stop it first, or choose another folder with --data.`,
    ]);
    assert.ok(findings.some((one) => one.status === "note" && one.text.includes(`${port} for gateway is taken`)));
  });

  test("issues of configuration and secrets files come with file and place", async (t) => {
    const at = place(t);
    cpSync(join(root, "config"), join(at.folder, "config-copy"), { recursive: true });
    writeFileSync(join(at.folder, "config-copy/routes.yaml"), "version: 1\nservices: {}\nroutes: [{id: x}]\n");
    writeFileSync(join(at.folder, "config-copy/demo/systems/people.demo.yaml"), "kind: http\ncolour: red\n");
    mkdirSync(join(at.folder, "data"), { mode: 0o700 });
    writeFileSync(join(at.folder, "data/secrets.yaml"), "a: 1\na: canary\n", { mode: 0o600 });
    const findings = await at.look({}, ["--config", "config-copy"]);
    const issues = issuesOf(findings).join("\n");
    const warnings = findings.filter(({ status }) => status === "warn").map(({ text }) => text);
    assert.ok(
      warnings.includes("demo/systems/people.demo.yaml:2:1 /colour: is not known here; Sallyport starts without the system people.demo"),
    );
    assert.doesNotMatch(issues, /people\.demo/, "a system that does not load stops no start");
    assert.match(issues, /config .*routes\.yaml:3:\d+ /);
    assert.match(issues, /secrets .*line 2, column 1/);
    assert.ok(!issues.includes("canary"));
  });

  test("what neither gateway nor decision point knows of their file is one issue", async (t) => {
    const at = place(t);
    cpSync(join(root, "config"), join(at.folder, "config-copy"), { recursive: true });
    writeFileSync(join(at.folder, "config-copy/pdp.yaml"), "colour: red\n");
    const issues = issuesOf(await at.look({}, ["--config", "config-copy"])).filter((line) => line.includes("pdp.yaml:"));
    assert.deepEqual(issues, [`config ${join(at.folder, "config-copy/pdp.yaml")}:1:1 /colour: is not known here`]);
  });

  test("a PostgreSQL that is away is an issue in the words of a start, without the password", async (t) => {
    const at = place(t);
    const issues = issuesOf(await at.look({ DATABASE_URL: "postgres://sally:canary@127.0.0.1:1/sallyport" })).join("\n");
    assert.match(issues, /^database DATABASE_URL: PostgreSQL at 127\.0\.0\.1:1 is not available: nothing listens there\./m);
    assert.doesNotMatch(issues, /canary/);
  });

  test("a file where the data folder should be is an issue", async (t) => {
    const at = place(t);
    writeFileSync(join(at.folder, "data"), "");
    assert.match(issuesOf(await at.look()).join("\n"), /data The folder (\S+) cannot be made: \1 is no folder/);
  });
});
