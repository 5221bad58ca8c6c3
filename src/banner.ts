import type { CommandLine } from "./command-line.ts";
import type { HouseAddresses } from "./house-addresses.ts";

/** What a newcomer reads when the house is ready: where to go and how to sign in. */
export const bannerLines = (parts: {
  readonly commandLine: CommandLine;
  readonly addresses: HouseAddresses;
  readonly servesIssuer: boolean;
  readonly servesPeople: boolean;
  readonly seconds: number;
  readonly demoPassword: string;
  readonly demoTotpSecret: string;
  readonly isDevelopment: boolean;
}): readonly string[] => {
  const { commandLine, addresses } = parts;
  const address = (port: number): string => `http://localhost:${port}`;
  const served = [...commandLine.serve].map(
    (part) => `  ${part.padEnd(12)} ${part === "gateway" ? addresses.publicOrigin : address(addresses.ports[part])}`,
  );
  if (parts.servesPeople) served.push(`  ${"demo people".padEnd(12)} ${address(addresses.ports.people)}`);
  const lines = ["", `Sallyport is ready (${parts.seconds.toFixed(1)} s).`, "", ...served, ""];
  if (commandLine.serve.has("gateway"))
    lines.push(`  Open ${addresses.publicOrigin} and sign in; MCP clients use ${addresses.publicOrigin}/mcp`, "");
  if (commandLine.demo && parts.servesIssuer && parts.isDevelopment) {
    lines.push(
      `  Demo sign-ins (password ${parts.demoPassword}):`,
      "    ada   platform administrator        ben   HR manager        cleo  analyst",
      "    dan   contractor, home page only    eve   another tenant (Globex)",
      `  Second factor for all of them: TOTP secret ${parts.demoTotpSecret}`,
      `  An agent's token: npm run --silent token -- --user ben --agent agent:hr-assistant${commandLine.port === 8080 ? "" : ` --port ${commandLine.port}`}`,
      "",
    );
  }
  return lines;
};
