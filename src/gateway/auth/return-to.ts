import { Problem } from "#contract/problem.ts";
import { canonicalise } from "#gateway/canonical-path.ts";

const ENCODED_CONTROL = /%(?:[01][0-9A-F]|7F)/i;

/**
 * Where to go after sign-in: a path of this site in its one form, never another host, a control character or the sign-in
 * itself. Throws `bad_return_to`.
 */
export const parseReturnTo = (text: string): string => {
  const refuse = (cause?: unknown): never => {
    throw new Problem("bad_return_to", { cause });
  };
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
