import type { Issue } from "#contract/problem.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";

const idOf = (source: YamlDocument, index: string): string | undefined => {
  const { routes } = (source.value ?? {}) as { readonly routes?: unknown };
  const row: unknown = Array.isArray(routes) ? routes[Number(index)] : undefined;
  const id = typeof row === "object" && row !== null ? (row as { readonly id?: unknown }).id : undefined;
  return typeof id === "string" && /^[\x21-\x7e]{1,64}$/.test(id) ? id : undefined;
};

/** The same issues, each of a row with the row's id in front: that is how whoever mends the table looks for it. */
export const nameRows = (issues: readonly Issue[], source: YamlDocument): readonly Issue[] =>
  issues.map((issue) => {
    const [, index] = /^\/routes\/(\d+)(?:\/|$)/.exec(issue.path) ?? [];
    const id = index === undefined ? undefined : idOf(source, index);
    return id === undefined ? issue : { ...issue, message: `row ${id}: ${issue.message}` };
  });
