import type { CommandLine, PartName } from "./model/command-line.ts";
import { demoAgent } from "#demo/sign-ins.ts";
import type { ServiceAddresses } from "./model/addresses.ts";

/** What a newcomer reads when Sallyport is ready: where to go and how to sign in. */
export const bannerLines = (parts: {
  readonly commandLine: CommandLine;
  readonly addresses: ServiceAddresses;
  readonly servesIssuer: boolean;
  readonly servesPeople: boolean;
  readonly seconds: number;
  readonly demoPassword: string;
  readonly demoTotpSecret: string;
  readonly isDevelopment: boolean;
  /** Sallyport's listeners speak TLS themselves. */
  readonly isTls: boolean;
}): readonly string[] => {
  const { commandLine, addresses } = parts;
  const address = (port: number): string => `${parts.isTls ? "https" : "http"}://localhost:${port}`;
  const gateway = address(addresses.ports.gateway);
  const addressOf = (part: PartName): string => {
    if (part === "gateway") return gateway;
    return part === "issuer" && !parts.servesIssuer ? `${addresses.issuer} (not of this deployment)` : address(addresses.ports[part]);
  };
  // Where it listens is where one looks first; behind a proxy only the public origin leads there.
  const open = addresses.publicOrigins.includes(gateway) ? gateway : addresses.publicOrigin;
  const served = [...commandLine.serve].map((part) => `  ${part.padEnd(12)} ${addressOf(part)}`);
  if (parts.servesPeople) served.push(`  ${"demo people".padEnd(12)} ${addresses.people}`);
  const lines = ["", `Sallyport is ready (${parts.seconds.toFixed(1)} s).`, "", ...served, ""];
  const hasDemoSignIns = commandLine.demo && parts.servesIssuer && parts.isDevelopment;
  // Our own issuer signs in demo people alone.
  const isEmpty = parts.servesIssuer && !commandLine.demo;
  if (commandLine.serve.has("gateway"))
    lines.push(
      ...(isEmpty
        ? [
            "  Nobody can sign in yet: that needs an OpenID provider (OIDC_ISSUER) and a first administrator, made while Sallyport is stopped:",
            "    npm run admin -- first --issuer URL --subject SUB --tenant NAME    (docs/howto/first-administrator.md)",
            `  Then open ${open}; MCP clients use ${open}/mcp`,
          ]
        : [`  Open ${open} and sign in; MCP clients use ${open}/mcp`]),
      "",
    );
  if (hasDemoSignIns) {
    lines.push(
      `  Demo sign-ins (password ${parts.demoPassword}):`,
      "    ada   platform administrator        ben   HR manager        cleo  analyst",
      "    dan   contractor, home page only    eve   another tenant (Globex)",
      `  Second factor for all of them: TOTP secret ${parts.demoTotpSecret}`,
      `  An agent's token: npm run --silent token -- --user ben --agent ${demoAgent}${commandLine.port === 8080 ? "" : ` --port ${commandLine.port}`}`,
      "",
    );
  }
  return lines;
};
