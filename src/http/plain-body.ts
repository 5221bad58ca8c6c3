import { Problem } from "#contract/problem.ts";

/** Refuses a body that is encoded (`Content-Encoding`): its bytes would be taken for what they are not. Throws `unsupported_media_type`. */
export const guardPlainBody = (encoding: string | null | undefined): void => {
  if (encoding === null || encoding === undefined || /^[ \t]*(?:identity)?[ \t]*$/i.test(encoding)) return;
  throw new Problem("unsupported_media_type", { detail: "Send the body unencoded.", headers: { "accept-encoding": "identity" } });
};
