import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, request as requestHttp, type IncomingHttpHeaders } from "node:http";
import { request as requestHttps } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cleanUp } from "#testing/clean-up.ts";
import { testDatabase } from "#testing/database.ts";
import { formBrowser } from "#testing/form-browser.ts";
import { decidingPeer, testGateway } from "#testing/gateway.ts";
import { testIssuer } from "#testing/issuer.ts";
import { testOidcClient } from "#testing/oidc-client.ts";
import { requireProgram } from "#testing/programs.ts";
import { until } from "#testing/until.ts";

const examples = new URL("../../../docs/examples/forward-auth/", import.meta.url);
const example = (name: string) => readFile(new URL(name, examples), "utf8");

/** What the examples say, and what it is in this test: every one must be there, so that a changed example is noticed. */
const fill = (text: string, values: Readonly<Record<string, string>>): string => {
  let filled = text;
  for (const [said, here] of Object.entries(values)) {
    assert.ok(filled.includes(said), `the example says ${said}`);
    filled = filled.replaceAll(said, here);
  }
  return filled;
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
};

interface Ports {
  readonly proxy: number;
  readonly gateway: number;
  readonly app: number;
}
interface Files {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
}
interface Proxy {
  readonly name: "nginx" | "caddy" | "traefik";
  /** It cannot take one cookie out of a request: the application sees the session's. */
  readonly showsCookie?: true;
  /** Arguments of the program once its configuration is written. */
  configure(files: Files, ports: Ports): Promise<readonly string[]>;
}

const proxies: readonly Proxy[] = [
  {
    name: "nginx",
    configure: async ({ folder, cert, key }, ports) => {
      const server = fill(await example("nginx.conf"), {
        "listen 443 ssl": `listen 127.0.0.1:${ports.proxy} ssl`,
        "server_name wiki.example.com": "server_name localhost",
        "/etc/ssl/wiki.pem": cert,
        "/etc/ssl/wiki.key": key,
        "127.0.0.1:8080": `127.0.0.1:${ports.gateway}`,
        "127.0.0.1:3000": `127.0.0.1:${ports.app}`,
      });
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
        .join(" ");
      const main = `daemon off; user root; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events {}
http { access_log off; ${temporary}
${server}
}`;
      await writeFile(join(folder, "nginx.conf"), main);
      return ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")];
    },
  },
  {
    name: "caddy",
    configure: async ({ folder, cert, key }, ports) => {
      const site = fill(await example("Caddyfile"), {
        "\nwiki.example.com {": `\nhttps://localhost:${ports.proxy} {\n\tbind 127.0.0.1\n\ttls ${cert} ${key}`,
        "127.0.0.1:8080": `127.0.0.1:${ports.gateway}`,
        "127.0.0.1:3000": `127.0.0.1:${ports.app}`,
      });
      const file = join(folder, "Caddyfile");
      await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n${site}`);
      return ["run", "--config", file, "--adapter", "caddyfile"];
    },
  },
  {
    name: "traefik",
    showsCookie: true,
    configure: async ({ folder, cert, key }, ports) => {
      const dynamic = fill(await example("traefik.yaml"), {
        "Host(`wiki.example.com`)": "Host(`localhost`)",
        "127.0.0.1:8080": `127.0.0.1:${ports.gateway}`,
        "127.0.0.1:3000": `127.0.0.1:${ports.app}`,
      });
      // Under its own name Traefik would take it for its static configuration.
      const file = join(folder, "dynamic.yaml");
      await writeFile(file, `${dynamic}tls:\n  stores: { default: { defaultCertificate: { certFile: ${cert}, keyFile: ${key} } } }\n`);
      const quiet = ["--global.checkNewVersion=false", "--global.sendAnonymousUsage=false", "--log.level=ERROR"];
      return [`--entryPoints.websecure.address=127.0.0.1:${ports.proxy}`, `--providers.file.filename=${file}`, ...quiet];
    },
  },
];

interface Reported {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request with exactly this path and these headers. */
const ask = (
  origin: string,
  path: string,
  more: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly ca?: string;
    readonly localAddress?: string;
  } = {},
): Promise<Reported> =>
  new Promise((resolve, reject) => {
    const url = new URL(origin);
    const { method = "GET", headers = {}, body, ca, localAddress } = more;
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const sent = send(
      {
        host: "127.0.0.1",
        port: url.port,
        servername: "localhost",
        path,
        method,
        agent: false,
        headers: { host: url.host, ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
        ...(ca === undefined ? {} : { ca }),
        ...(localAddress === undefined ? {} : { localAddress }),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });

/** Who the application is told that it is; an empty header is none. */
const identity = (headers: IncomingHttpHeaders | undefined): readonly unknown[] =>
  ["x-user-id", "x-tenant-id", "x-agent-id"].map((name) => headers?.[name] || undefined);

const page = { "sec-fetch-mode": "navigate", "sec-fetch-site": "none", accept: "text/html" };

/** A browser at a proxy at a gateway: sign-in through the embedded issuer, an application that writes down what it gets. */
const world = async (t: TestContext, proxy: Proxy, program: string) => {
  const folder = await mkdtemp(join(tmpdir(), `forward-${proxy.name}-`));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const pair = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert];
  const tool = "openssl";
  execFileSync(tool, ["req", "-x509", "-days", "2", ...pair, ...subject], { stdio: "ignore" });
  const ca = await readFile(cert, "utf8");

  const seen: { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const app = createHttpServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      response.end("the application");
    });
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  cleanUp(t, () => {
    app.closeAllConnections();
    app.close();
  });

  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const database = await testDatabase(t, ["events", "authn", "gateway"]);
  const provider = await testIssuer(t, database, { publicOrigin: origin });
  const oidc = testOidcClient(provider);
  const made = await testGateway(t, {
    database,
    routes: fill(await example("routes.yaml"), { "wiki.example.com": `"localhost:${port}"` }),
    peers: { pdp: decidingPeer((_type, _action, person) => person === "person:ben").peer },
    settings: { TRUSTED_PROXIES: "127.0.0.1/32" },
    parts: { oidc, publicOrigins: [origin] },
  });
  const gateway = await made.gateway.listen({ port: 0, hosts: ["127.0.0.1"] });

  const given = await proxy.configure(
    { folder, cert, key },
    { proxy: port, gateway: gateway.port, app: (app.address() as AddressInfo).port },
  );
  const child = spawn(program, given, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  cleanUp(t, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  // Listening is not yet serving: a proxy may read the rest of its configuration afterwards, and knows no row until then.
  const isUp = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(said);
    return ask(origin, "/public/is-it-up", { ca }).then(
      ({ status }) => status === 200,
      () => false,
    );
  };
  await until(isUp);
  seen.length = 0;

  const at = (path: string, more: Omit<Parameters<typeof ask>[2] & object, "ca"> = {}) => ask(origin, path, { ...more, ca });
  const browser = formBrowser(async (url, init) => {
    if (!url.startsWith(origin)) return fetch(url, init);
    const { pathname, search } = new URL(url);
    const sent = { ...page, ...Object.fromEntries(new Headers(init.headers)) };
    const reported = await at(pathname + search, {
      headers: sent,
      ...(init.method === undefined ? {} : { method: init.method }),
      ...(typeof init.body === "string" ? { body: init.body } : {}),
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(reported.headers)) for (const one of [value ?? ""].flat()) headers.append(name, one);
    return new Response([204, 304].includes(reported.status) ? null : reported.text, { status: reported.status, headers });
  });
  const signIn = async (login: string, path: string) => {
    const shown = await browser.open(`${origin}${path}`);
    assert.equal(new URL(provider.url).host, shown.url.host, `the sign-in page, not ${shown.status} at ${shown.url.href}`);
    return browser.submit(shown, { login, password: "sallyport" });
  };
  const cookie = (): string => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { made, origin, gateway: `http://127.0.0.1:${gateway.port}`, seen, at, browser, signIn, cookie };
};

for (const proxy of proxies) {
  const open = async (t: TestContext) => {
    const program = requireProgram(t, proxy.name);
    return program === undefined ? undefined : world(t, proxy, program);
  };

  test(`${proxy.name} as the documentation has it: 401, sign-in, then the page with who looks at it`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const { at, seen, signIn, cookie, origin } = opened;
    const claims = { "x-user-id": "person:ada", "x-tenant-id": "tenant:globex", "x-agent-id": "agent:x", authorization: "Bearer x" };

    const script = await at("/wiki/page?x=1");
    assert.equal(script.status, 401);
    assert.equal(script.headers["x-login-url"], `${origin}/auth/login?return_to=%2Fwiki%2Fpage%3Fx%3D1`);
    assert.match(script.headers["www-authenticate"] ?? "", /Cookie/);
    assert.equal(seen.length, 0, "the application was not asked");

    assert.equal((await at("/public/logo.svg", { headers: claims })).status, 200);
    assert.deepEqual(identity(seen[0]?.headers), [undefined, undefined, undefined]);

    const landed = await signIn("ben", "/wiki/page?x=1");
    assert.deepEqual([landed.status, landed.url.href, landed.html], [200, `${origin}/wiki/page?x=1`, "the application"]);
    const secret = /__Host-Http-sid=([^;]+)/.exec(cookie())?.[1] ?? "";
    assert.ok(secret.length > 20);

    const again = await at("/wiki/page", { headers: { ...claims, cookie: `theme=dark; ${cookie()}; lang=en` } });
    assert.equal(again.status, 200);
    const last = seen.at(-1);
    assert.deepEqual(identity(last?.headers), ["person:ben", "tenant:acme", undefined]);
    assert.equal(JSON.stringify(seen).includes(secret), proxy.showsCookie === true, "whether the application sees the session");
    assert.match(last?.headers.cookie ?? "", /theme=dark/);
    assert.match(last?.headers.cookie ?? "", /lang=en/);
    assert.equal(last?.headers.authorization, undefined);
  });

  test(`${proxy.name}: what a client says of itself or of the request opens nothing`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const { at, seen, gateway, origin, made } = opened;
    const spoofed = { "x-forwarded-uri": "/public/x", "x-forwarded-method": "GET", "x-forwarded-host": new URL(origin).host };
    assert.equal((await at("/wiki/page", { headers: spoofed })).status, 401, "the proxy says itself what is asked for");
    for (const path of ["/auth/verify", "/auth/forward", "/auth/verify?redirect=true"])
      assert.equal((await at(path, { headers: spoofed })).status, 403, path);
    // Another peer than the proxy, at the gateway itself.
    const direct = await ask(origin.replace(/^https:.*$/, gateway), "/auth/verify", {
      localAddress: "127.0.0.2",
      headers: { ...spoofed, host: new URL(origin).host },
    });
    assert.deepEqual([direct.status, (JSON.parse(direct.text) as { code: string }).code], [403, "untrusted_proxy"]);
    assert.equal((await at("/nowhere")).status, 403, "no row, no way");
    assert.equal((await at("/wiki/page", { method: "DELETE" })).status, 403, "no row takes the method");
    for (const path of [
      "/public/../wiki/page",
      "/public/%2e%2e/wiki/page",
      "/public/..;/wiki/page",
      "//wiki/page",
      "/wiki/a%2fb",
      "/wiki/%00",
    ])
      assert.ok((await at(path)).status >= 400, path);
    assert.equal(seen.length, 0);
    assert.ok((await made.counted("bff_security_events_total", { event_type: "untrusted_proxy" })) > 0);
  });

  test(`${proxy.name}: a denial is 403, a foreign form is 403, an own one goes through with its body`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const { at, seen, signIn, cookie, origin } = opened;
    await signIn("ben", "/wiki/start");
    seen.length = 0;
    const form = { cookie: cookie(), "content-type": "application/x-www-form-urlencoded" };
    const own = await at("/wiki/edit", { method: "POST", body: "text=x", headers: { ...form, origin, "sec-fetch-site": "same-origin" } });
    assert.deepEqual([own.status, seen[0]?.method, seen[0]?.url, seen[0]?.body], [200, "POST", "/wiki/edit", "text=x"]);
    const foreign = { ...form, origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    assert.equal((await at("/wiki/edit", { method: "POST", body: "text=x", headers: foreign })).status, 403);
    const api = { method: "POST", body: "{}", headers: { ...form, origin, "sec-fetch-site": "same-origin" } };
    assert.equal((await at("/api/x", api)).status, 403, "a row of the default kind wants the token headers");
    const { csrf_token: token } = JSON.parse((await at("/auth/session", { headers: { cookie: cookie() } })).text) as { csrf_token: string };
    const proofs = { "x-csrf-token": token, "x-csrftoken": token, "x-requested-with": "XMLHttpRequest" };
    assert.equal((await at("/api/x", { ...api, headers: { ...api.headers, ...proofs } })).status, 200);
    assert.equal(seen.length, 2);

    const out = await at("/auth/logout", {
      method: "POST",
      headers: { ...api.headers, ...proofs, "content-type": "application/json" },
      body: "{}",
    });
    assert.equal(out.status, 200, out.text);
    assert.equal((await at("/wiki/page", { headers: { cookie: form.cookie } })).status, 401, "signed out, everywhere at once");
  });

  test(`${proxy.name}: a person who may not is told so, and a link from another site leads in`, async (t) => {
    const opened = await open(t);
    if (opened === undefined) return;
    const { at, seen, signIn, cookie, browser } = opened;
    const landed = await signIn("dan", "/wiki/page");
    assert.equal(landed.status, 403);
    assert.equal(seen.length, 0);
    assert.ok(browser.cookies.size > 0);
    // The strict cookie stays away from the first load; the page that comes makes the load its own.
    const first = await at("/api/page", { headers: { ...page, "sec-fetch-site": "cross-site" } });
    assert.match(first.text, /http-equiv="refresh" content="0"/);
    assert.deepEqual([first.headers.location, seen.length], [undefined, 0]);
    const neighbour = await at("/api/page", { headers: { ...page, "sec-fetch-site": "same-site", cookie: cookie() } });
    assert.match(neighbour.text, /http-equiv="refresh" content="0"/);
    const second = await at("/api/page", { headers: { ...page, "sec-fetch-site": "same-origin", cookie: cookie() } });
    assert.deepEqual([second.status, second.text], [200, "the application"]);
  });
}
