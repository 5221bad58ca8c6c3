import { join } from "node:path";
import { openPythonEnvironment } from "#testing/python-environment.ts";

/** Path of Schemathesis, installed once. `undefined` without a Python for it; throws when it cannot be installed. */
export const openSchemathesis = (say: (line: string) => void): string | undefined => {
  const bin = openPythonEnvironment("fuzz", join(import.meta.dirname, "requirements.txt"), say);
  return bin === undefined ? undefined : join(bin, "schemathesis");
};
