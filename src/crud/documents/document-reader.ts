import type { ConfigObjectKind } from "#contract/configs.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import { unpackYaml, type PackedYaml } from "#parsing/yaml-document.ts";
import { createWorkThread } from "#parsing/work-thread.ts";
import { readSystemText, type SystemText } from "#crud/systems/read-system-text.ts";
import type { SystemDocument } from "#crud/systems/system-document.ts";
import { readToolsDocument, type ToolsDocument } from "./tools-document.ts";

export interface DocumentQuestion {
  readonly kind: ConfigObjectKind;
  readonly text: string;
  readonly shown: string;
  readonly without?: readonly string[] | undefined;
}
export type DocumentAnswer =
  | { readonly document: SystemDocument; readonly yaml: PackedYaml }
  | { readonly value: ToolsDocument; readonly yaml: PackedYaml }
  | { readonly faults: readonly Fault[]; readonly found?: unknown };

interface ReadFor {
  /** Whose turn it counts to; nobody's unless given. */
  readonly tenant?: string | undefined;
}

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
      if (error instanceof Problem && error.options.errors !== undefined) return { faults: error.options.errors };
      throw error;
    });
  return {
    system: async (
      text: string,
      shown: string,
      { without, tenant }: ReadFor & { readonly without?: readonly string[] | undefined } = {},
    ): Promise<SystemText> => {
      if (text.length <= SMALL) return readSystemText(text, shown, without);
      const read = await ask({ kind: "system", text, shown, without }, tenant);
      if ("faults" in read) return read;
      if (!("document" in read)) throw new TypeError("the thread answers what it is asked");
      return { document: read.document, yaml: unpackYaml(read.yaml) };
    },
    tools: async (text: string, shown: string, { tenant }: ReadFor = {}): Promise<ReturnType<typeof readToolsDocument>> => {
      if (text.length <= SMALL) return readToolsDocument(text, shown);
      const read = await ask({ kind: "tools", text, shown }, tenant);
      if ("faults" in read) return read;
      if (!("value" in read)) throw new TypeError("the thread answers what it is asked");
      return { value: read.value, yaml: unpackYaml(read.yaml) };
    },
  };
};
export type DocumentReader = ReturnType<typeof createDocumentReader>;
