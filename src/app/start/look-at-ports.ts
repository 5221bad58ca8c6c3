import { createServer } from "node:net";
import { partNames } from "#app/model/command-line.ts";
import { fault, note, ok, type Finding } from "./finding.ts";
import type { StartPlan } from "./start-plan.ts";

/** Why a port cannot be listened on at an address; undefined where it can. */
const obstacleAt = (port: number, host: string): Promise<string | undefined> =>
  new Promise((answer) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => answer(error.code ?? error.message));
    server.listen({ port, host, exclusive: true, ipv6Only: host.includes(":") }, () => server.close(() => answer(undefined)));
  });

/** A machine without IPv6 has no `::1`; that is no issue while another address is there. */
const absent: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

const lookAtPort = async (port: number, part: string, hosts: readonly string[], holder: number | undefined): Promise<Finding> => {
  const tried = await Promise.all(hosts.map(async (host) => ({ host, code: await obstacleAt(port, host) })));
  const failed = tried.filter(({ code }) => code !== undefined);
  const [worst] = [...failed.filter(({ code }) => !absent.has(code ?? "")), ...(failed.length === tried.length ? failed : [])];
  if (worst === undefined) return ok("port", `${port} for ${part}`);
  const { host, code } = worst;
  if (code !== "EADDRINUSE")
    return fault(
      "port",
      `LISTEN_HOSTS: port ${port} for ${part} cannot be listened on at ${host} (${code}). Name an address of this machine.`,
    );
  if (holder !== undefined) return note("port", `${port} for ${part} is taken, and an instance is running on this data folder`);
  return fault("port", `Port ${port} for ${part} is in use by another program. Stop it, or choose other ports with --port.`);
};

/** Every port of this start, all at once. `holder`: the process of an instance that runs on the data folder already. */
export const lookAtPorts = async (plan: StartPlan, holder: number | undefined): Promise<readonly Finding[]> => {
  const { commandLine, addresses, settings, servesIssuer } = plan;
  const parts = partNames.filter((part) => commandLine.serve.has(part) && (part !== "issuer" || servesIssuer));
  const people =
    commandLine.demo && commandLine.serve.has("secrets") ? [lookAtPort(addresses.ports.people, "people", ["127.0.0.1"], holder)] : [];
  return Promise.all([...parts.map((part) => lookAtPort(addresses.ports[part], part, settings.instance.listenHosts, holder)), ...people]);
};
