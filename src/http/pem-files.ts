import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";

/** What a file holds, or what is wrong with it. */
export type PemRead<T> = { readonly text: string; readonly value: T } | { readonly fault: string };

export const faultOf = (read: PemRead<unknown>): string | undefined => ("fault" in read ? read.fault : undefined);

const readPem = async <T>(file: string, what: string, parse: (text: string) => T): Promise<PemRead<T>> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    return { fault: `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})` };
  }
  try {
    return { text, value: parse(text) };
  } catch {
    return { fault: `${file} is no ${what} in PEM` };
  }
};

/** All certificates of a file, at least one, in their order. */
export const readCertificates = (file: string): Promise<PemRead<readonly X509Certificate[]>> =>
  readPem(file, "certificate", (text) => {
    const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
    if (found === null) throw new Error("none");
    return found.map((one) => new X509Certificate(one));
  });

export const readPrivateKey = (file: string): Promise<PemRead<KeyObject>> => readPem(file, "private key", (text) => createPrivateKey(text));

/** A chain and its key together: what is wrong with either (`cert`, `key`), or that they are none of each other. */
export const readKeyPair = async (
  certFile: string,
  keyFile: string,
): Promise<{ readonly cert: string; readonly key: string } | { readonly faults: Readonly<Partial<Record<"cert" | "key", string>>> }> => {
  const [cert, key] = await Promise.all([readCertificates(certFile), readPrivateKey(keyFile)]);
  if ("fault" in cert || "fault" in key) return { faults: { cert: faultOf(cert), key: faultOf(key) } };
  if (cert.value[0]?.checkPrivateKey(key.value) !== true) return { faults: { key: `${keyFile} is not the key of ${certFile}` } };
  return { cert: cert.text, key: key.text };
};
