// A process of its own: its PATH is changed.
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Environment } from "#contract/setting.ts";
import { UpstreamError } from "#crud/model/upstream-error.ts";
import { cleanUp } from "#testing/clean-up.ts";
import { requireProgram } from "#testing/programs.ts";
import { openServers } from "./open-servers.ts";
import { runsAnyProgram } from "./any-program.ts";
import { isLoaderVariable } from "./loader-variable.ts";

const world = async (t: TestContext) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sallyport-servers-")));
  cleanUp(t, () => rm(base, { recursive: true, force: true }));
  const [config, data, programs] = ["config", "data", "programs"].map((name) => join(base, name)) as [string, string, string];
  for (const folder of [config, data, programs]) await mkdir(folder);
  await writeFile(join(programs, "notes"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  await writeFile(join(data, "written"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  await writeFile(join(programs, "text"), "no program", { mode: 0o644 });
  await symlink("/bin/sh", join(programs, "innocent"));
  const open = async (text: string, more: { readonly sandbox?: "bubblewrap" | "none"; readonly environment?: Environment } = {}) => {
    await writeFile(join(config, "servers.yaml"), text);
    return openServers({
      config: { stdioSandbox: more.sandbox ?? "none" },
      environment: more.environment ?? "test",
      configFolders: [config],
      dataFolder: data,
    });
  };
  return { base, config, data, programs, open };
};
const file = (entry: string, name = "notes"): string => `apiVersion: servers/v1\nservers:\n  ${name}: ${entry}\n`;

test("an entry that would let a tenant run code is an issue of the operator's file, at its place", async (t) => {
  const { data, programs, open } = await world(t);
  const notes = `${programs}/notes`;
  const rows: readonly (readonly [what: string, entry: string, says: RegExp, path: string])[] = [
    ...[
      "sh",
      "bash",
      "/bin/sh",
      "/usr/bin/env",
      "node",
      process.execPath,
      "python3.13",
      "npx",
      "uvx",
      "busybox",
      "bash.exe",
      "/lib64/ld-linux-x86-64.so.2",
    ].map(
      (command) =>
        [
          `${command} with a pattern`,
          `{ command: ${command}, args: [x], patterns: [.*] }`,
          /runs code from its arguments/,
          "patterns",
        ] as const,
    ),
    ["an interpreter without a program", "{ command: /bin/sh }", /runs code from its arguments: args must name a program/, "command"],
    ["an interpreter by another name", `{ command: ${programs}/innocent }`, /leads to .* which runs code from its arguments/, "command"],
    ["a relative path", "{ command: ../notes }", /is no bin of a package/, "command"],
    ["a program on the PATH", "{ command: git }", /is no bin of a package that this program depends on/, "command"],
    ["a bin of a package for development alone", "{ command: mcp-inspector }", /is no bin of a package/, "command"],
    ["a program that is not there", `{ command: ${programs}/nothing }`, /is no program that this user may start/, "command"],
    ["a file that is no program", `{ command: ${programs}/text }`, /is no program/, "command"],
    ["a folder", `{ command: ${programs} }`, /is no program/, "command"],
    ["a program that a server may have written", `{ command: ${data}/written }`, /lies in the data folder/, "command"],
    ["no pattern", `{ command: ${notes}, patterns: ["("] }`, /is no pattern of RE2/, "patterns/0"],
    ["a pattern that looks back", `{ command: ${notes}, patterns: ['(a)\\1'] }`, /is no pattern of RE2/, "patterns/0"],
    ["the folder without leave", `{ command: ${notes}, patterns: ["${"${TENANT_FOLDER}"}/x"] }`, /needs tenantFolder: true/, "patterns/0"],
    ["a zero byte", `{ command: ${notes}, args: ["a\\0b"] }`, /has control characters/, "args/0"],
    ["the data folder to read", `{ command: ${notes}, reads: [${data}] }`, /which no server reads/, "reads/0"],
    ["what holds the data folder", `{ command: ${notes}, reads: [${join(data, "..")}] }`, /which no server reads/, "reads/0"],
    ["all of the machine", `{ command: ${notes}, reads: [/] }`, /which no server reads/, "reads/0"],
    ["the kernel's folder", `{ command: ${notes}, reads: [/proc/self] }`, /which no server reads/, "reads/0"],
    ["a relative path to read", `{ command: ${notes}, reads: [x] }`, /must be an absolute path/, "reads/0"],
    ["an unknown member", `{ command: ${notes}, shell: true }`, /./, "shell"],
    ["another network", `{ command: ${notes}, network: all }`, /must be one of none, host/, "network"],
    ...["NODE_OPTIONS", "LD_PRELOAD", "PATH", "node_options", "HTTPS_PROXY", "npm_config_registry", "BASH_ENV", "GIT_SSH_COMMAND"].map(
      (name) => [`${name} by a tenant`, `{ command: ${notes}, env: { ${name}: { pattern: x } } }`, /loads code/, `env/${name}`] as const,
    ),
  ];
  for (const [what, entry, says, path] of rows) {
    const { issues } = await open(file(entry));
    const found = issues.find((one) => one.path === `/servers/notes/${path}` && says.test(one.message));
    assert.ok(found !== undefined, `${what}: ${JSON.stringify(issues)}`);
    assert.ok((found.line ?? 0) === 3 && (found.column ?? 0) > 1, what);
  }
  // All of all entries at once.
  const all = await open(
    `apiVersion: servers/v1\nservers:\n  a: { command: nothing }\n  B: { command: sh }\n  c: { command: sh, patterns: ["("] }\n`,
  );
  assert.ok(all.issues.length >= 1);
  const two = await open("apiVersion: servers/v1\nservers:\n  a: { command: nothing }\n  c: { command: sh, patterns: ['('] }\n");
  assert.deepEqual(two.issues.map(({ line }) => line).toSorted(), [3, 4, 4, 4, 4]);
  assert.deepEqual((await open(file(`{ command: ${notes}, env: { NODE_OPTIONS: { value: --no-addons } } }`))).issues, []);
});

test("programs that run what they are told are known by name, however a system writes it", () => {
  for (const name of [
    ..."sh bash.exe /usr/bin/env node node22 python3.13 pypy3.11 perl5.40 ruby-3.4 lua5.4 php8.4 corepack pipx conda poetry ts-node-esm".split(
      " ",
    ),
    ..."C:\\Windows\\System32\\CMD.EXE git hg svn rsync curl wget tar bsdtar zip unzip 7z sqlite3 psql mysql redis-cli openssl socat".split(
      " ",
    ),
    ..."go cargo dotnet docker podman kubectl systemd-run vite.js bwrap unshare nsenter chroot flock at batch tmux screen crontab".split(
      " ",
    ),
    ..."setpriv runuser ld-musl-x86_64.so.1 taskset ionice prlimit valgrind ltrace lldb m4 ninja cmake mvn gradle erl elixir ghci rg".split(
      " ",
    ),
    ..."nodemon pm2 pipenv hatch pdm rye jupyter ipython pytest mise direnv nix nix-shell ipython3 apptainer firejail".split(" "),
  ])
    assert.ok(runsAnyProgram(name), name);
  for (const name of ["mcp-server-memory", "notes", "github-mcp-server", "mcp-server-git", "filesystem", "postgres-mcp", "nodes", "shelly"])
    assert.ok(!runsAnyProgram(name), name);
});

test("variables that load code are known by name, and those of a server's own are not taken for them", () => {
  for (const name of [
    ..."NODE_OPTIONS NODE_PATH NODE_V8_COVERAGE NODE_EXTRA_CA_CERTS LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES".split(" "),
    ..."PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB RUBYOPT RUBYLIB BASH_ENV ENV PATH HOME GIT_SSH_COMMAND npm_config_userconfig".split(" "),
    ..."MAKEFLAGS GNUMAKEFLAGS MAVEN_OPTS GRADLE_OPTS ERL_AFLAGS ELIXIR_ERL_OPTIONS MISE_CONFIG_DIR NIX_PATH RIPGREP_CONFIG_PATH".split(
      " ",
    ),
    ..."KUBECONFIG SUDO_ASKPASS MANPAGER SYSTEMD_PAGER VIRTUAL_ENV CONDA_PREFIX COREPACK_NPM_REGISTRY VOLTA_HOME PGSERVICEFILE".split(" "),
    ..."ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS SSLKEYLOGFILE MALLOC_CONF DOTNET_STARTUP_HOOKS COMPlus_EnableDiagnostics".split(
      " ",
    ),
    ..."BUN_OPTIONS DENO_DIR PYTHONHOME MONO_PATH GHCRTS OCAMLRUNPARAM CAML_LD_LIBRARY_PATH GUILE_LOAD_PATH ZDOTDIR FPATH INPUTRC".split(
      " ",
    ),
    ..."PSModulePath MAVEN_OPTS MAKEFLAGS QT_PLUGIN_PATH GTK_MODULES GIO_EXTRA_MODULES GST_PLUGIN_PATH QEMU_LD_PREFIX KRB5_CONFIG".split(
      " ",
    ),
    ..."LDAPCONF ODBCINI LIBMYSQL_PLUGIN_DIR PGSERVICEFILE PGSYSCONFDIR TNS_ADMIN KUBECONFIG NETRC ANSIBLE_CONFIG TF_CLI_CONFIG_FILE".split(
      " ",
    ),
    ..."LLVM_PROFILE_FILE ASAN_OPTIONS GCC_EXEC_PREFIX CC EMACSLOADPATH MAGICK_CONFIGURE_PATH".split(" "),
    ..."JAVA_TOOL_OPTIONS _JAVA_OPTIONS OPENSSL_CONF SSL_CERT_FILE GCONV_PATH GLIBC_TUNABLES SHELL IFS TMPDIR http_proxy ALL_PROXY".split(
      " ",
    ),
  ])
    assert.ok(isLoaderVariable(name), name);
  for (const name of ["MEMORY_FILE_PATH", "REGION", "NOTES_FILE", "LANG", "GITHUB_OWNER", "API_URL", "LOG_LEVEL", "PROFILE", "RETRIES"])
    assert.ok(!isLoaderVariable(name), name);
});

test("whatever a system's document says, only what its entry permits is started", async (t) => {
  const { base, data, programs, open } = await world(t);
  const { servers, issues } = await open(
    file(
      `{ command: ${programs}/notes, args: [--stdio], patterns: ["--limit=[0-9]{1,4}", "--root=${"${TENANT_FOLDER}"}(/.*)?", "--any=.*"], tenantFolder: true,
    env: { NOTES_FILE: { pattern: "${"${TENANT_FOLDER}"}/[a-z/.]+" }, REGION: { pattern: "eu-[0-9]" }, STAGE: { value: live }, NODE_OPTIONS: { value: --no-addons } } }`,
    ) + `  bare: { command: ${programs}/notes }\n`,
  );
  assert.deepEqual(issues, []);
  const base_ = { type: "stdio", command: "notes", args: [] as string[], env: {} as Record<string, string> } as const;
  const T = "${TENANT_FOLDER}";
  const rows: readonly (readonly [
    what: string,
    transport: Partial<{ command: string; args: string[]; env: Record<string, string> }>,
    path: string,
  ])[] = [
    ["another program by path", { command: "/bin/sh" }, "command"],
    ["its own path", { command: `${programs}/notes` }, "command"],
    ["a relative path", { command: "./notes" }, "command"],
    ["a path that leads back", { command: "x/../notes" }, "command"],
    ["other case", { command: "Notes" }, "command"],
    ["a blank behind", { command: "notes " }, "command"],
    ["a zero byte", { command: "notes\0" }, "command"],
    ["a look-alike", { command: "nоtes" }, "command"],
    ["full width", { command: "ｎotes" }, "command"],
    ["a member of every object", { command: "constructor" }, "command"],
    ["the prototype", { command: "__proto__" }, "command"],
    ["a long name", { command: "n".repeat(200) }, "command"],
    ["a shell's words", { command: "notes; id" }, "command"],
    ["code for an interpreter", { args: ["-e"] }, "args.0"],
    ["an import", { args: ["--import=data:text/javascript,1"] }, "args.0"],
    ["a pattern with something before", { args: ["x--limit=1"] }, "args.0"],
    ["a pattern with something behind", { args: ["--limit=1;id"] }, "args.0"],
    ["a pattern over two lines", { args: ["--limit=1\n--limit=1"] }, "args.0"],
    ["a line break where anything may stand", { args: ["--any=a\nb"] }, "args.0"],
    ["a zero byte where anything may stand", { args: ["--any=a\0--bind\0/\0/"] }, "args.0"],
    ["half a character", { args: ["--any=\ud800"] }, "args.0"],
    ["digits of another script", { args: ["--limit=١"] }, "args.0"],
    ["too many digits", { args: ["--limit=12345"] }, "args.0"],
    ["the second of two", { args: ["--limit=1", "--eval"] }, "args.1"],
    ["out of the folder", { args: [`--root=${T}/../other`] }, "args.0"],
    ["out of the folder at the end", { args: [`--root=${T}/a/..`] }, "args.0"],
    ["out of the folder by backslashes", { args: [`--root=${T}/..\\..\\x`] }, "args.0"],
    ["beside the folder", { args: [`--any=${T}2/x`] }, "args.0"],
    ["out of the folder where anything may stand", { args: [`--any=${T}/../../keys`] }, "args.0"],
    ["NODE_OPTIONS", { env: { NODE_OPTIONS: "--import=data:text/javascript,1" } }, "env.NODE_OPTIONS"],
    ["LD_PRELOAD", { env: { LD_PRELOAD: `${T}/x.so` } }, "env.LD_PRELOAD"],
    ["PATH", { env: { PATH: T } }, "env.PATH"],
    ["HOME", { env: { HOME: "/root" } }, "env.HOME"],
    ["BASH_ENV", { env: { BASH_ENV: `${T}/x` } }, "env.BASH_ENV"],
    ["a variable in other case", { env: { region: "eu-1" } }, "env.region"],
    ["a member of every object as a variable", { env: { constructor: "x" } }, "env.constructor"],
    ["the operator's value", { env: { STAGE: "test" } }, "env.STAGE"],
    ["a value that does not match", { env: { REGION: "us-1" } }, "env.REGION"],
    ["a value with something behind", { env: { REGION: "eu-1\n" } }, "env.REGION"],
    ["a file out of the folder", { env: { NOTES_FILE: `${T}/../../keys/instance` } }, "env.NOTES_FILE"],
    ["a file of the machine", { env: { NOTES_FILE: "/etc/passwd" } }, "env.NOTES_FILE"],
    ["an argument of one that takes none", { command: "bare", args: ["x"] }, "args.0"],
    ["the folder of one that has none", { command: "bare", env: { NOTES_FILE: T } }, "env.NOTES_FILE"],
  ];
  const folder = join(data, "systems/notes.demo/tenant%3Aacme");
  for (const [what, more, path] of rows) {
    const transport = { ...base_, ...more };
    assert.deepEqual(
      servers.check(transport).map((issue) => issue.path.join(".")),
      [path],
      what,
    );
    // Asked again as it is started, whoever asked before.
    assert.throws(
      () => servers.launch(transport, folder),
      (error) => error instanceof UpstreamError && error.effect === "not_sent" && !error.problem.message.includes("\0"),
      what,
    );
  }
  const good = {
    ...base_,
    args: ["--limit=12", `--root=${T}/a..b`, `--root=${T}`],
    env: { NOTES_FILE: `${T}/a/b.json`, REGION: "eu-1", STAGE: "live" },
  };
  assert.deepEqual(servers.check(good), []);
  const { command, env, input } = servers.launch(good, folder);
  assert.deepEqual(command, {
    file: `${base}/programs/notes`,
    args: ["--stdio", "--limit=12", `--root=${folder}/a..b`, `--root=${folder}`],
  });
  assert.equal(input, undefined);
  assert.deepEqual(
    { ...env, PATH: undefined, TMPDIR: undefined },
    {
      HOME: folder,
      LANG: "C.UTF-8",
      NOTES_FILE: `${folder}/a/b.json`,
      REGION: "eu-1",
      STAGE: "live",
      NODE_OPTIONS: "--no-addons",
      PATH: undefined,
      TMPDIR: undefined,
    },
  );
  assert.deepEqual(servers.launch({ ...base_, command: "bare" }, "/a$&b").env["HOME"], "/a$&b");
});

test("a resolved command stays what it was as the start looked at it", async (t) => {
  const { programs, open } = await world(t);
  const link = join(programs, "link");
  await symlink(join(programs, "notes"), link);
  const { servers } = await open(file(`{ command: ${link} }`));
  await rm(link);
  await symlink("/bin/sh", link);
  assert.equal(servers.launch({ type: "stdio", command: "notes", args: [], env: {} }, "/x").command.file, join(programs, "notes"));
});

test("without bubblewrap production starts no server, and dev does with a warning unless a sandbox is asked for", async (t) => {
  const { base, programs, open } = await world(t);
  const path = process.env["PATH"];
  t.after(() => (process.env["PATH"] = path));
  const one = file(`{ command: ${programs}/notes }`);
  const refused = /notes must run in a sandbox, and .*bwrap does not work here, as where user namespaces are not allowed: no namespaces/;
  // One that is found first, and says what bubblewrap says where it may not.
  await writeFile(join(base, "bwrap"), "#!/bin/sh\ncat <&3 >/dev/null\necho 'no namespaces' >&2\nexit 1\n");
  await chmod(join(base, "bwrap"), 0o755);
  process.env["PATH"] = `${base}:${path}`;
  for (const [environment, sandbox] of [
    ["production", undefined],
    ["production", "bubblewrap"],
    ["test", "bubblewrap"],
  ] as const) {
    const { issues } = await openAs(environment, sandbox);
    assert.deepEqual(
      issues.map(({ path: at }) => at),
      ["MCP_STDIO_SANDBOX"],
      environment,
    );
    assert.match(issues[0]?.message ?? "", refused);
  }
  const open_ = await openAs("dev", undefined);
  assert.deepEqual(open_.issues, []);
  assert.match(open_.warnings.join(), /no namespaces: MCP servers \(notes\) run without a sandbox/);
  assert.match((await openAs("dev", "none")).warnings.join(), /MCP_STDIO_SANDBOX is none: MCP servers \(notes\) run without a sandbox/);
  // Where nothing may be started nothing is asked of the machine.
  for (const environment of ["production", "dev"] as const) {
    const none = await openAs(environment, undefined, "apiVersion: servers/v1\n");
    assert.deepEqual([none.issues, none.warnings], [[], []]);
  }

  function openAs(environment: Environment, sandbox: "bubblewrap" | "none" | undefined, text = one) {
    return sandbox === undefined ? openUnset(environment, text) : open(text, { environment, sandbox });
  }
  async function openUnset(environment: Environment, text: string) {
    await writeFile(join(base, "config/servers.yaml"), text);
    const folders = { configFolders: [join(base, "config")], dataFolder: join(base, "data") };
    return openServers({ config: { stdioSandbox: undefined }, environment, ...folders });
  }
});

test("bubblewrap as this machine has it works, and nothing that a tenant writes is an option of it", async (t) => {
  if (requireProgram(t, "bwrap") === undefined) return;
  const { data, programs, open } = await world(t);
  const { servers, issues, warnings } = await open(file(`{ command: ${programs}/notes, patterns: [.*], env: { ANY: { pattern: .* } } }`), {
    sandbox: "bubblewrap",
  });
  assert.deepEqual([issues, warnings], [[], []]);
  const transport = { type: "stdio", command: "notes", args: ["--bind", "/", "/"], env: { ANY: "--share-net" } } as const;
  const launch = servers.launch({ ...transport, args: [...transport.args] }, data);
  assert.deepEqual(launch.command.args.slice(0, 3), ["--args", "3", "--"]);
  assert.deepEqual(launch.command.args.slice(-4), [join(programs, "notes"), "--bind", "/", "/"]);
  const options = launch.input?.split("\0") ?? [];
  assert.deepEqual(options.slice(options.indexOf("--clearenv"), -1).slice(-3), ["--setenv", "ANY", "--share-net"]);
  assert.equal(options.indexOf("--share-net"), options.length - 2, "as a value alone");
});
