import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** A certificate for these names that is its own authority, with its key (PEM). Needs `openssl`. */
export const selfSigned = async (
  t: Pick<TestContext, "after">,
  names: readonly string[],
): Promise<{ readonly cert: string; readonly key: string }> => {
  const folder = await mkdtemp(join(tmpdir(), "certificate-"));
  cleanUp(t, () => rm(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const alternatives = names.map((name) => `${isIP(name) === 0 ? "DNS" : "IP"}:${name}`).join(",");
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${alternatives}`];
  await promisify(execFile)("openssl", [...kind, "-keyout", key, "-out", cert, ...subject]);
  return { cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") };
};
