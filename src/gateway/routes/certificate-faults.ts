import type { Fault } from "#contract/problem.ts";
import type { YamlDocument } from "#documents/yaml-document.ts";
import { readCertificates, readKeyPair } from "#http/pem-files.ts";
import type { RouteService } from "./route-service.ts";

/** What is wrong with the files by which services are known and the gateway to them: each with its place in the route file. */
export const certificateFaults = async (services: Iterable<RouteService>, source: YamlDocument): Promise<readonly Fault[]> => {
  const faults: Fault[] = [];
  for (const service of services) {
    const add = (key: string, message: string): void => void faults.push(source.fault(["services", service.name, key], message));
    if (service.caFile !== undefined) {
      const read = await readCertificates(service.caFile);
      if ("fault" in read) add("ca_file", read.fault);
    }
    if (service.clientCertFile === undefined || service.clientKeyFile === undefined) continue;
    const pair = await readKeyPair(service.clientCertFile, service.clientKeyFile);
    if (!("faults" in pair)) continue;
    if (pair.faults.cert !== undefined) add("client_cert_file", pair.faults.cert);
    if (pair.faults.key !== undefined) add("client_key_file", pair.faults.key);
  }
  return faults;
};
