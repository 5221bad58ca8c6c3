import { isObject } from "#contract/is-object.ts";
import type { Issue } from "#contract/problem.ts";
import { missesOf } from "#contract/shape-issues.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import { routeFileShape, rowShape, serviceName, serviceShape, type RowShape, type ServiceShape } from "./route-row.ts";

/** The file's pieces that have their shape, and every issue of those that have not. */
export interface RouteFileFrame {
  readonly services: ReadonlyMap<string, ServiceShape>;
  /** Of all services that the file names, those with issues too. */
  readonly serviceNames: ReadonlySet<string>;
  readonly audiences: readonly string[];
  /** Every row. Of one with issues of its own the words in `bad` are not what the file says, and no rule may judge by them. */
  readonly rows: readonly (readonly [index: number, row: RowShape, bad: ReadonlySet<string>])[];
  readonly issues: readonly Issue[];
}

/** What a row says without its faulty words, so that these hide nothing of the others; and which they are. */
const mendRow = (given: Readonly<Record<string, unknown>>): readonly [row: RowShape, bad: ReadonlySet<string>] => {
  const bad = new Set<string>();
  const good: Record<string, unknown> = { id: "x", path: "/", methods: ["GET"], auth: "none", authz: "none" };
  for (const [key, shape] of Object.entries(rowShape.shape)) {
    if (!shape.safeParse(given[key]).success) bad.add(key);
    else if (given[key] !== undefined) good[key] = given[key];
  }
  return [rowShape.parse(good), bad];
};

/** Reads services and rows one by one: what is wrong with one of them hides nothing of the others. */
export const readFrame = (source: YamlDocument): RouteFileFrame => {
  const issues: Issue[] = [];
  const whole = routeFileShape.safeParse(source.value);
  if (!whole.success) issues.push(...shapeIssues(source, whole.error));
  const value = isObject(source.value) ? source.value : {};
  const named = isObject(value["services"]) ? Object.entries(value["services"]) : [];
  const services = new Map<string, ServiceShape>();
  for (const [name, given] of named) {
    const at = ["services", name];
    const isNamed = serviceName.safeParse(name);
    if (!isNamed.success) for (const { message } of missesOf(isNamed.error)) issues.push(source.issue(at, message, { onKey: true }));
    const read = serviceShape.safeParse(given);
    if (read.success) services.set(name, read.data);
    else issues.push(...shapeIssues(source, read.error, { under: at }));
  }
  const rows: (readonly [number, RowShape, ReadonlySet<string>])[] = [];
  for (const [index, given] of (Array.isArray(value["routes"]) ? value["routes"] : []).entries()) {
    const read = rowShape.safeParse(given);
    if (read.success) {
      rows.push([index, read.data, new Set()]);
      continue;
    }
    issues.push(...shapeIssues(source, read.error, { under: ["routes", index] }));
    if (isObject(given)) rows.push([index, ...mendRow(given)]);
  }
  return {
    services,
    serviceNames: new Set(named.map(([name]) => name)),
    audiences: whole.success ? whole.data.audiences : [],
    rows,
    issues,
  };
};
