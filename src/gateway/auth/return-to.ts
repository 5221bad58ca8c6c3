import { Problem } from "#contract/problem.ts";
import { canonicalise } from "#gateway/model/canonical-path.ts";

/** The browser carries it sealed in a cookie, of which it keeps no more than 4 KiB. */
const MAX_CHARACTERS = 2048;
const ENCODED_CONTROL = /%(?:[01][0-9A-F]|7F)/i;

/**
 * Where to go after sign-in: a path of this site in its one form, never another host, a control character or the sign-in
 * itself; at most 2,048 characters. Throws `bad_return_to`.
 */
export const parseReturnTo = (text: string): string => {
  const refuse = (cause?: unknown): never => {
    throw new Problem("bad_return_to", { cause });
  };
  if (text.length > MAX_CHARACTERS) refuse();
  let target: ReturnType<typeof canonicalise>;
  try {
    target = canonicalise(text);
  } catch (cause) {
    return refuse(cause);
  }
  if (target.marks.size > 0 || ENCODED_CONTROL.test(target.query)) refuse();
  if (target.path === "/auth" || target.path.startsWith("/auth/")) refuse();
  return target.path + target.query;
};

/** The query by which a sign-in comes back to a path; empty where the way back is too long, so that the sign-in itself goes on. */
export const returnQuery = (path: string): Readonly<Record<string, string>> => (path.length > MAX_CHARACTERS ? {} : { return_to: path });
