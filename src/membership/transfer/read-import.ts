import { createHash } from "node:crypto";
import { Problem, type Issue } from "#contract/problem.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { importLine, type ImportLine } from "#contract/transfer.ts";
import { parseStrictJson } from "#http/strict-json.ts";
import { createYielding } from "#http/yielding.ts";
import { edgeDraftOf, nodeDraftOf, tenantOfWriter, type EdgeEnds } from "#membership/graph-edit/edits.ts";
import { edgeKindRow, isEdgeKind, isNodeKind, nodeKindRow, propNames } from "#membership/model/kinds.ts";
import type { EdgeDraft } from "#membership/graph/put-edge.ts";
import type { NodeDraft } from "#membership/graph/put-node.ts";
import type { TenantScope } from "#membership/graph/tenant-scope.ts";
import { createCsvReader } from "./csv.ts";
import { createCsvLines, type CsvFile } from "./csv-lines.ts";

const LINE_CHARACTERS = 262_144;
/** Issues that are kept; all are counted. */
const MAX_ISSUES = 1_000;

interface Placed<T> {
  readonly line: number;
  readonly value: T;
}

/** A whole file, read and checked as far as can be without the graph. */
export interface ImportPlan {
  readonly lines: number;
  readonly nodes: readonly Placed<NodeDraft>[];
  readonly edges: readonly Placed<EdgeDraft>[];
  readonly drops: readonly Placed<Extract<ImportLine, { drop: unknown }>["drop"]>[];
  /** SHA-256 of all bytes, hex. */
  readonly digest: string;
}

/** Collects what is wrong with a file; throws it all at once. */
export const createIssues = () => {
  const kept: Issue[] = [];
  let count = 0;
  return {
    add: (issues: readonly Issue[]): void => {
      count += issues.length;
      if (kept.length < MAX_ISSUES) kept.push(...issues.slice(0, MAX_ISSUES - kept.length));
    },
    isEmpty: (): boolean => count === 0,
    /** Throws `import_refused` where anything was added. */
    require: (): void => {
      if (count === 0) return;
      const errors = kept.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
      throw new Problem("import_refused", { detail: "Nothing of it was written.", errors, members: { issues: count } });
    },
  };
};

/** What a problem says of the one line that it is about. */
export const problemIssues = (problem: Problem, line?: number): readonly Issue[] => {
  const { errors, detail } = problem.options;
  const placed = errors ?? [{ path: "/", message: detail ?? problem.title }];
  return placed.map((issue) => ({ ...issue, line, code: issue.code ?? problem.code }));
};

const keyOf = ({ kind, src, dst, discr = "" }: EdgeEnds): string => `${kind}\n${src}\n${dst}\n${discr}`;

/**
 * Reads a file piece by piece. Throws `import_refused` with the issues by line, `body_unreadable` where it is not text at all. Cost:
 * about ten microseconds a line, in slices.
 */
export const readImport = async (
  pieces: AsyncIterable<Uint8Array>,
  given: { readonly scope: TenantScope; readonly csv: CsvFile | undefined; readonly onLines?: (lines: number) => void },
): Promise<ImportPlan> => {
  const issues = createIssues();
  const nodes: Placed<NodeDraft>[] = [];
  const edges: Placed<EdgeDraft>[] = [];
  const drops: Placed<Extract<ImportLine, { drop: unknown }>["drop"]>[] = [];
  const seen = new Map<string, number>();
  const digest = createHash("sha256");
  /** Of the lines before the last. */
  const body = createHash("sha256");
  let end: { readonly nodes: number; readonly edges: number; readonly sha256: string } | undefined;
  let lines = 0;
  const turn = createYielding(10);
  const own = tenantOfWriter(given.scope);

  const once = (key: string, line: number): boolean => {
    const first = seen.get(key);
    if (first === undefined) seen.set(key, line);
    else issues.add([{ path: "/", message: `is there already, at line ${first}`, code: "conflict", line }]);
    return first === undefined;
  };
  const take = (value: unknown, line: number): void => {
    if (end !== undefined) return issues.add([{ path: "/end", message: "is not the last line", line }]);
    const read = importLine.safeParse(value);
    if (!read.success) return issues.add(given.csv === undefined ? lineFaults(value, line) : lineFaults(value, line).map(asColumn));
    const one = read.data;
    if ("node" in one) {
      if (!once(one.node.id, line)) return;
      const { tenant_id = own, ...node } = one.node;
      nodes.push({ line, value: nodeDraftOf(node, tenant_id) });
    } else if ("edge" in one) {
      if (once(keyOf(one.edge), line)) edges.push({ line, value: edgeDraftOf(one.edge) });
    } else if ("drop" in one) drops.push({ line, value: one.drop });
    else end = one.end;
  };
  const guarded = (work: () => void, line: number): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      issues.add(problemIssues(error, line));
    }
  };

  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (piece?: Uint8Array): string => {
    try {
      return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
    } catch (cause) {
      throw new Problem("body_unreadable", { detail: `Behind line ${lines} it is not UTF-8.`, cause });
    }
  };
  const csvReader = given.csv === undefined ? undefined : createCsvReader(LINE_CHARACTERS);
  const csvLine = given.csv === undefined ? undefined : createCsvLines(given.csv);
  let rest = "";
  const takeText = async (text: string, isEnd: boolean): Promise<void> => {
    if (csvReader !== undefined && csvLine !== undefined) {
      const rows = [...csvReader.read(text), ...(isEnd ? csvReader.end() : [])];
      for (const row of rows) {
        lines = row.line;
        const made = csvLine(row);
        if (made.issues !== undefined) issues.add(made.issues);
        else if (made.value !== undefined) guarded(() => take(made.value, row.line), row.line);
        await turn();
      }
      return;
    }
    const parts = `${rest}${text}${isEnd ? "\n" : ""}`.split("\n");
    rest = parts.pop() ?? "";
    if (rest.length > LINE_CHARACTERS) throw new Problem("body_unreadable", { detail: `Line ${lines + 1} is longer than 256 KiB.` });
    for (const [at, part] of parts.entries()) {
      // What ends the file is no line of its own.
      if (isEnd && at === parts.length - 1 && part === "") break;
      const line = ++lines;
      const written = part.endsWith("\r") ? part.slice(0, -1) : part;
      if (written.trim() === "") continue;
      guarded(() => {
        if (written.length > LINE_CHARACTERS) throw new Problem("body_too_large", { detail: "is longer than 256 KiB" });
        take(parseStrictJson(written, { depth: 64 }), line);
      }, line);
      if (end === undefined) body.update(`${part}\n`);
      await turn();
    }
  };
  for await (const piece of pieces) {
    digest.update(piece);
    await takeText(decode(piece), false);
    given.onLines?.(lines);
  }
  await takeText(decode(), true);
  if (end !== undefined && (end.nodes !== nodes.length || end.edges !== edges.length || end.sha256 !== body.digest("hex")))
    issues.add([{ path: "/end", message: "says that the lines before it are not all, or were changed", line: lines }]);
  issues.require();
  return { lines, nodes, edges, drops, digest: digest.digest("hex") };
};

/** An issue of a row is at its column: `/id`, and no member of a line that nobody wrote. */
const asColumn = (issue: Issue): Issue => ({ ...issue, path: issue.path.replace(/^\/(?:node|edge)(?=\/)/, "") });

/** What is wrong with a line, by the member that it has. */
const lineFaults = (value: unknown, line: number): readonly Issue[] => {
  const place = typeof value === "object" && value !== null ? Object.keys(value)[0] : undefined;
  const shape = importLine.options.find((option) => place !== undefined && Object.hasOwn(option.shape, place));
  if (shape === undefined) return [{ path: "/", message: "must be one of node, edge, drop, end", code: "invalid_body", line }];
  const read = shape.safeParse(value);
  if (read.success || place === undefined) return [];
  const held = (value as Readonly<Record<string, unknown>>)[place];
  const kind = isObject(held) && typeof held["kind"] === "string" ? held["kind"] : "";
  const props = isNodeKind(kind) ? propNames(nodeKindRow(kind)) : isEdgeKind(kind) ? propNames(edgeKindRow(kind)) : [];
  return issuesOf(read.error).map((issue) => {
    const [, member, ...deeper] = parsePointer(issue.path);
    const isProp = issue.code === "unknown" && member !== undefined && deeper.length === 0 && props.includes(member);
    return { ...issue, code: issue.code ?? "invalid_body", line, ...(isProp ? { hint: `did you mean /${place}/props/${member}?` } : {}) };
  });
};
