import { RE2JS } from "re2js";

/** Stands in documents for the folder of whoever calls. */
export const TENANT_FOLDER = "${TENANT_FOLDER}";

/** A pattern of RE2 in which `${TENANT_FOLDER}` stands for itself; `undefined`: it is none. Matching is linear. */
export const compileArgument = (pattern: string): ((text: string) => boolean) | undefined => {
  try {
    const compiled = RE2JS.compile(pattern.split(TENANT_FOLDER).join(RE2JS.quote(TENANT_FOLDER)));
    return (text) => compiled.matches(text);
  } catch {
    return undefined;
  }
};
