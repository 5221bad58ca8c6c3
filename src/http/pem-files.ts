import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";

/** What a file holds, or what is wrong with it. */
export type PemRead<T> = { readonly text: string; readonly value: T } | { readonly issue: string };

export const issueOf = (read: PemRead<unknown>): string | undefined => ("issue" in read ? read.issue : undefined);

const readPem = async <T>(file: string, what: string, parse: (text: string) => T): Promise<PemRead<T>> => {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    return { issue: `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})` };
  }
  try {
    return { text, value: parse(text) };
  } catch {
    return { issue: `${file} is no ${what} in PEM` };
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
): Promise<{ readonly cert: string; readonly key: string } | { readonly issues: Readonly<Partial<Record<"cert" | "key", string>>> }> => {
  const [cert, key] = await Promise.all([readCertificates(certFile), readPrivateKey(keyFile)]);
  if ("issue" in cert || "issue" in key) return { issues: { cert: issueOf(cert), key: issueOf(key) } };
  if (cert.value[0]?.checkPrivateKey(key.value) !== true) return { issues: { key: `${keyFile} is not the key of ${certFile}` } };
  return { cert: cert.text, key: key.text };
};
