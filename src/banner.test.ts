import assert from "node:assert/strict";
import { test } from "node:test";
import { bannerLines } from "./banner.ts";
import { parseCommandLine } from "./command-line.ts";
import { addressesOf } from "./house-addresses.ts";

const nowhereElse = { issuer: undefined, pdpUrl: undefined, crudUrl: undefined, membershipUrl: undefined, secretsUrl: undefined };

const bannerOf = (argv: readonly string[], given: { publicOrigins?: readonly string[]; issuer?: string; isTls?: boolean } = {}): string => {
  const commandLine = parseCommandLine(argv);
  const addresses = addressesOf({ ...nowhereElse, port: commandLine.port, publicOrigins: [], ...given });
  const lines = bannerLines({
    commandLine,
    addresses,
    servesIssuer: commandLine.serve.has("issuer") && given.issuer === undefined,
    servesPeople: false,
    seconds: 1,
    demoPassword: "word",
    demoTotpSecret: "SECRET",
    isDevelopment: true,
    isTls: given.isTls ?? false,
  });
  return lines.join("\n");
};

test("the gateway is named where it listens, and opened at the public origin that is there, else at the first", () => {
  const two = ["http://localhost:8080", "http://localhost:9080"];
  const replica = bannerOf(["--serve", "gateway", "--port", "9080"], { publicOrigins: two });
  assert.match(replica, /^ {2}gateway {6}http:\/\/localhost:9080$/m);
  assert.match(replica, /Open http:\/\/localhost:9080 and sign in; MCP clients use http:\/\/localhost:9080\/mcp/);
  const behindProxy = bannerOf(["--serve", "gateway", "--port", "9080"], { publicOrigins: ["https://gate.example"] });
  assert.match(behindProxy, /^ {2}gateway {6}http:\/\/localhost:9080$/m);
  assert.match(behindProxy, /Open https:\/\/gate\.example and sign in/);
  assert.match(
    bannerOf(["--port", "9443"], { publicOrigins: ["https://localhost:9443"], isTls: true }),
    /^ {2}gateway {6}https:\/\/localhost:9443$/m,
  );
});

test("another's OpenID provider is named by its own address, and no port of ours where nothing listens", () => {
  const foreign = bannerOf(["--port", "9300"], { issuer: "https://login.example/realm" });
  assert.match(foreign, /^ {2}issuer {7}https:\/\/login\.example\/realm \(not of this house\)$/m);
  assert.doesNotMatch(foreign, /9301/);
  assert.match(bannerOf(["--port", "9300"]), /^ {2}issuer {7}http:\/\/localhost:9301$/m);
});
