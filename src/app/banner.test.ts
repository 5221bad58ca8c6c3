import assert from "node:assert/strict";
import { test } from "node:test";
import { bannerLines } from "./banner.ts";
import { parseCommandLine } from "./model/command-line.ts";
import { addressesOf } from "./model/addresses.ts";
import { readInstanceSettings } from "./model/settings.ts";

const bannerOf = (argv: readonly string[], environment: Readonly<Record<string, string>> = {}): string => {
  const commandLine = parseCommandLine(argv);
  const { settings } = readInstanceSettings({ ENVIRONMENT: "dev", ...environment });
  const addresses = addressesOf(commandLine.port, settings);
  const lines = bannerLines({
    commandLine,
    addresses,
    servesIssuer: commandLine.serve.has("issuer") && settings.authn.oidcIssuer === undefined,
    servesPeople: false,
    seconds: 1,
    demoPassword: "word",
    demoTotpSecret: "SECRET",
    isDevelopment: true,
    isTls: settings.http.tlsCertFile !== undefined,
  });
  return lines.join("\n");
};

test("the gateway is named where it listens, and opened at the public origin that is there, else at the first", () => {
  const replica = bannerOf(["--serve", "gateway", "--port", "9080"], { PUBLIC_ORIGINS: "http://localhost:8080,http://localhost:9080" });
  assert.match(replica, /^ {2}gateway {6}http:\/\/localhost:9080$/m);
  assert.match(replica, /Open http:\/\/localhost:9080 and sign in; MCP clients use http:\/\/localhost:9080\/mcp/);
  const behindProxy = bannerOf(["--serve", "gateway", "--port", "9080"], { PUBLIC_ORIGINS: "https://gate.example" });
  assert.match(behindProxy, /^ {2}gateway {6}http:\/\/localhost:9080$/m);
  assert.match(behindProxy, /Open https:\/\/gate\.example and sign in/);
  assert.match(
    bannerOf(["--port", "9443"], { PUBLIC_ORIGINS: "https://localhost:9443", TLS_CERT_FILE: "c.pem", TLS_KEY_FILE: "k.pem" }),
    /^ {2}gateway {6}https:\/\/localhost:9443$/m,
  );
});

test("the port that a scheme has anyway stands in no origin", () => {
  assert.match(bannerOf(["--port", "80"]), /Open http:\/\/localhost and sign in; MCP clients use http:\/\/localhost\/mcp/);
  const { settings } = readInstanceSettings({ ENVIRONMENT: "dev" });
  assert.deepEqual(addressesOf(80, settings).publicOrigins, ["http://localhost", "http://127.0.0.1", "http://[::1]"]);
});

test("an instance without demo and provider says how somebody comes to sign in", () => {
  const empty = bannerOf(["--no-demo"]);
  assert.match(empty, /Nobody can sign in yet.*\n.*npm run admin -- first --issuer URL.*first-administrator\.md/);
  assert.doesNotMatch(empty, /and sign in/);
  const own = bannerOf(["--no-demo"], { OIDC_ISSUER: "https://login.example", OIDC_CLIENT_SECRET: "x".repeat(32) });
  assert.match(own, /and sign in/);
});

test("another's OpenID provider is named by its own address, and no port of ours where nothing listens", () => {
  const foreign = bannerOf(["--port", "9300"], { OIDC_ISSUER: "https://login.example/realm", OIDC_CLIENT_SECRET: "x".repeat(32) });
  assert.match(foreign, /^ {2}issuer {7}https:\/\/login\.example\/realm \(not of this deployment\)$/m);
  assert.doesNotMatch(foreign, /9301/);
  assert.match(bannerOf(["--port", "9300"]), /^ {2}issuer {7}http:\/\/localhost:9301$/m);
});
