import type { ConfigObjectKind } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import { unpackYaml, type PackedYaml } from "#parsing/yaml-document.ts";
import { createWorkThread } from "#parsing/work-thread.ts";
import type { ConfigKind, ReadDocument, ReadText } from "#crud/configs/config-kind.ts";

export interface DocumentQuestion {
  readonly kind: ConfigObjectKind;
  readonly text: string;
  readonly shown: string;
  readonly without?: readonly string[] | undefined;
}
export type DocumentAnswer =
  | { readonly value: unknown; readonly yaml: PackedYaml }
  | Extract<ReadText<unknown>, { readonly issues: unknown }>;

/** A text of so many characters is read within some ten milliseconds. */
const SMALL = 8192;

/** What no document that is read at all comes near to: 256 kB of YAML take half a second, 8 MiB of JSON as well. */
const LIMITS = { maxMs: 2000, heapMebibytes: 256 };

/**
 * Reads configuration documents, small ones here and large ones in threads, of two tenants at once. One that takes too much time or memory has
 * that for its issue. Throws `busy` where a thread failed, or too many of the tenant wait.
 */
export const createDocumentReader = ({ maxMs, heapMebibytes } = LIMITS) => {
  const thread = createWorkThread<DocumentQuestion, DocumentAnswer>({
    module: new URL("./document-thread.ts", import.meta.url),
    name: "documents",
    maxMs: maxMs,
    heapMebibytes,
    threads: 2,
    maxWaiting: 16,
    ended: (cause, why) => {
      if (why !== "late" && why !== "memory")
        return new Problem("busy", { detail: "The document could not be read now.", headers: { "retry-after": "5" }, cause });
      const what = why === "late" ? `${maxMs / 1000} s of processor time` : `${heapMebibytes} MiB of memory`;
      return new Problem("unprocessable", {
        errors: [{ path: "", message: `takes more than ${what} to be read`, code: "too_much_work" }],
        cause,
      });
    },
  });
  const ask = (question: DocumentQuestion, tenant: string | undefined): Promise<DocumentAnswer> =>
    thread.ask(question, { tenant }).catch((error: unknown) => {
      if (error instanceof Problem && error.options.errors !== undefined) return { issues: error.options.errors };
      throw error;
    });
  return <Value>({ kind, read }: Pick<ConfigKind<Value, never>, "kind" | "read">): ReadDocument<Value> =>
    async (text, shown, { without, tenant } = {}) => {
      if (text.length <= SMALL) return read(text, shown, without);
      const answer = await ask({ kind, text, shown, without }, tenant);
      return "issues" in answer ? answer : { value: answer.value as Value, yaml: unpackYaml(answer.yaml) };
    };
};
