import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Fault } from "#contract/problem.ts";
import type { RouteService } from "./route-service.ts";
import type { YamlSource } from "./yaml-source.ts";

type Read<T> = { readonly value: T } | { readonly fault: string };

const readAs = async <T>(file: string, what: string, parse: (bytes: Buffer) => T): Promise<Read<T>> => {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    return { fault: `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})` };
  }
  try {
    return { value: parse(bytes) };
  } catch {
    return { fault: `${file} is no ${what} in PEM` };
  }
};

const certificate = (file: string) => readAs(file, "certificate", (bytes) => new X509Certificate(bytes));

/** What is wrong with the files by which services are known and the gateway to them: each with its place in the route file. */
export const certificateFaults = async (services: Iterable<RouteService>, source: YamlSource): Promise<readonly Fault[]> => {
  const faults: Fault[] = [];
  for (const service of services) {
    const add = (key: string, message: string): void => {
      const at = ["services", service.name, key];
      faults.push({ path: `/${at.join("/")}`, message, file: source.file, ...source.placeOf(at) });
    };
    if (service.caFile !== undefined) {
      const read = await certificate(service.caFile);
      if ("fault" in read) add("ca_file", read.fault);
    }
    if (service.clientCertFile === undefined || service.clientKeyFile === undefined) continue;
    const own = await certificate(service.clientCertFile);
    const key = await readAs(service.clientKeyFile, "private key", (bytes) => createPrivateKey(bytes));
    if ("fault" in own) add("client_cert_file", own.fault);
    if ("fault" in key) add("client_key_file", key.fault);
    if ("value" in own && "value" in key && !own.value.checkPrivateKey(key.value))
      add("client_key_file", `${service.clientKeyFile} is not the key of client_cert_file`);
  }
  return faults;
};
