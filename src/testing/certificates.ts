import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type ServerOptions } from "node:https";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "./clean-up.ts";

const run = promisify(execFile);

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Certificates for `localhost`, made by openssl for one test; all but `selfSigned` are of the authority in `caFile`. */
export interface TestCertificates {
  readonly caFile: string;
  readonly good: Certificate;
  readonly expired: Certificate;
  readonly wrongName: Certificate;
  readonly selfSigned: Certificate;
}

const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

export const testCertificates = async (t: TestContext): Promise<TestCertificates> => {
  const folder = await mkdtemp(join(tmpdir(), "certificates-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const openssl = (...words: string[]) => run("openssl", words, { cwd: folder });
  const named = (name: string) => ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
  const read = async (name: string): Promise<Certificate> => ({
    cert: await readFile(at(`${name}.pem`)),
    key: await readFile(at(`${name}.key`)),
    certFile: at(`${name}.pem`),
    keyFile: at(`${name}.key`),
  });
  await openssl("req", "-x509", ...EC, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority of the test", "-days", "2");
  const signed = async (name: string, host: string, days: number): Promise<Certificate> => {
    await openssl("req", ...EC, "-keyout", `${name}.key`, "-out", `${name}.csr`, ...named(host));
    const authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    await openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      ...authority,
      "-days",
      String(days),
      "-copy_extensions",
      "copy",
      "-out",
      `${name}.pem`,
    );
    return read(name);
  };
  const good = await signed("good", "localhost", 2);
  const expired = await signed("expired", "localhost", -1);
  const wrongName = await signed("wrong", "other.example", 2);
  await openssl("req", "-x509", ...EC, "-keyout", "self.key", "-out", "self.pem", ...named("localhost"), "-days", "2");
  return { caFile: at("ca.pem"), good, expired, wrongName, selfSigned: await read("self") };
};

/** A server over TLS on a free port of `localhost`, and how to change its certificate. */
export const tlsServer = async (t: TestContext, options: ServerOptions, listener: RequestListener) => {
  const server = createServer(options, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    use: (certificate: Certificate): void => {
      server.closeAllConnections();
      server.setSecureContext({ cert: certificate.cert, key: certificate.key });
    },
  };
};
