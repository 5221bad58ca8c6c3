import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

/** What a server made of a target. */
export interface PathReading {
  /** The prefix that it chose. */
  readonly resource: string;
  /** Decoded, as bytes (latin1). */
  readonly path: string;
}

/** A real web server that says which of its resources a request reaches. */
export interface PathServer {
  readonly name: string;
  readonly port: number;
  /** Reads one answer; `undefined`: it refused. Text is latin1. */
  read(status: number, headers: string, body: string): PathReading | undefined;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const done = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.on("connect", () => done(true)).on("error", () => done(false));
  });

/** A server in the foreground, ended with the test; resolves when its port answers. */
const run = async (
  t: TestContext,
  folder: string,
  port: number,
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<void> => {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said = `${said}${String(chunk)}`.slice(-4000)));
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  cleanUp(t, async () => {
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
    await ended;
    clearTimeout(hard);
    await rm(folder, { recursive: true, force: true });
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`);
    return answers(port);
  });
};

const folderOf = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `${name}-`));
/** Bytes of a percent-encoded text, as latin1; what is no escape stays. */
export const percentDecode = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** nginx: one `location` a prefix; it answers with its `$uri`, decoded and normalised. */
export const startNginx = async (t: TestContext, program: string, prefixes: readonly string[]): Promise<PathServer> => {
  const [folder, port] = await Promise.all([folderOf("nginx"), freePort()]);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`);
  const locations = [...prefixes, "/"].map((prefix) => `location ${prefix} { return 200 "${prefix} $uri"; }`);
  const lines = [
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log crit;`,
    "events { worker_connections 512; }",
    `http { access_log off; ${temporary.join(" ")} default_type text/plain; keepalive_requests 10000000;`,
    "large_client_header_buffers 4 64k;",
    `server { listen 127.0.0.1:${port}; ${locations.join("\n")} } }`,
  ];
  await writeFile(join(folder, "nginx.conf"), lines.join("\n"));
  await run(t, folder, port, [program, "-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")], {});
  return {
    name: "nginx",
    port,
    read: (status, _headers, body) => {
      const cut = body.indexOf(" ");
      return status === 200 ? { resource: body.slice(0, cut), path: body.slice(cut + 1) } : undefined;
    },
  };
};

/** Apache httpd: one `<Location>` a prefix; it answers 204 with its `REQUEST_URI`, decoded and normalised. */
export const startApache = async (t: TestContext, program: string, prefixes: readonly string[]): Promise<PathServer> => {
  const [folder, port] = await Promise.all([folderOf("apache"), freePort()]);
  const modules = ["mpm_event", "authz_core", "alias", "headers"].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  );
  const lines = [
    `ServerRoot ${folder}`,
    ...modules,
    `Listen 127.0.0.1:${port}`,
    "ServerName localhost",
    `PidFile ${folder}/pid`,
    `ErrorLog ${folder}/error.log`,
    "LogLevel crit",
    `DefaultRuntimeDir ${folder}`,
    `DocumentRoot ${folder}`,
    "User www-data",
    "Group www-data",
    "StartServers 1",
    "ServerLimit 1",
    "ThreadsPerChild 16",
    "MaxRequestWorkers 16",
    "KeepAlive On",
    "MaxKeepAliveRequests 0",
    "KeepAliveTimeout 60",
    "LimitRequestLine 65536",
    "AllowEncodedSlashes On",
    "RedirectMatch 204 ^",
    'Header always set X-Path "expr=[%{REQUEST_URI}]"',
    'Header always set X-Resource "/"',
    ...prefixes.map((prefix) => `<Location "${prefix}">\nHeader always set X-Resource "${prefix}"\n</Location>`),
  ];
  await writeFile(join(folder, "httpd.conf"), `${lines.join("\n")}\n`);
  await run(t, folder, port, [program, "-X", "-f", join(folder, "httpd.conf")], {});
  return {
    name: "Apache httpd",
    port,
    read: (status, headers) => {
      const resource = /^X-Resource: (.*)$/m.exec(headers)?.[1]?.trim();
      const path = /^X-Path: \[(.*)\]\r?$/m.exec(headers)?.[1];
      return status === 204 && resource !== undefined && path !== undefined ? { resource, path } : undefined;
    },
  };
};

/** Tomcat: one context a prefix; it answers with a redirect that names the path inside the context, decoded and normalised. */
export const startTomcat = async (t: TestContext, program: string, prefixes: readonly string[]): Promise<PathServer> => {
  const [folder, port] = await Promise.all([folderOf("tomcat"), freePort()]);
  const contexts = ["/", ...prefixes].map((prefix, index) => ({ path: prefix.replace(/\/$/, ""), at: join(folder, `app${index}`), index }));
  await Promise.all(["conf", "logs", "temp", "work"].map((name) => mkdir(join(folder, name))));
  const webXml = (inside: string): string => `<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">${inside}</web-app>`;
  const files =
    "<servlet><servlet-name>default</servlet-name><servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class></servlet>" +
    "<servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>";
  await writeFile(join(folder, "conf/web.xml"), webXml(files));
  for (const { at, index } of contexts) {
    await mkdir(join(at, "WEB-INF"), { recursive: true });
    await writeFile(join(at, "WEB-INF/web.xml"), webXml(""));
    await writeFile(join(at, "WEB-INF/rewrite.config"), `RewriteRule ^(.*)$ http://c${index}.invalid/seen$1 [R=302,L]\n`);
  }
  const server = [
    '<Server port="-1"><Service name="s">',
    `<Connector port="${port}" address="127.0.0.1" protocol="HTTP/1.1" maxKeepAliveRequests="-1" maxThreads="16"`,
    ' encodedSolidusHandling="decode" relaxedQueryChars="&quot;&lt;&gt;[\\]^`{|}" maxHttpRequestHeaderSize="65536"/>',
    `<Engine name="e" defaultHost="h"><Host name="h" appBase="${folder}/none" autoDeploy="false" deployOnStartup="false">`,
    ...contexts.map(
      ({ path, at }) =>
        `<Context path="${path}" docBase="${at}"><Valve className="org.apache.catalina.valves.rewrite.RewriteValve"/></Context>`,
    ),
    "</Host></Engine></Service></Server>",
  ];
  await writeFile(join(folder, "conf/server.xml"), server.join("\n"));
  await run(t, folder, port, [program, "run"], {
    CATALINA_HOME: "/usr/share/tomcat10",
    CATALINA_BASE: folder,
    CATALINA_OPTS: "-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
  });
  return {
    name: "Tomcat",
    port,
    read: (status, headers) => {
      const found = /^Location: http:\/\/c(\d+)\.invalid\/seen([^?\r]*)/m.exec(headers);
      const context = contexts[Number(found?.[1] ?? -1)];
      if (status !== 302 || context === undefined) return undefined;
      return { resource: `${context.path}/`, path: `${context.path}${percentDecode(found?.[2] ?? "")}` };
    },
  };
};
