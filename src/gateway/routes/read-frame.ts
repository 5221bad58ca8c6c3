import type { Fault } from "#contract/problem.ts";
import { routeFileShape, rowShape, serviceName, serviceShape, type RowShape, type ServiceShape } from "./route-row.ts";
import { shapeFaults } from "./shape-faults.ts";
import type { YamlSource } from "./yaml-source.ts";

/** The file's pieces that have their shape, and every fault of those that have not. */
export interface RouteFileFrame {
  readonly services: ReadonlyMap<string, ServiceShape>;
  /** Of all services that the file names, those with faults too. */
  readonly serviceNames: ReadonlySet<string>;
  readonly audiences: readonly string[];
  /** Every row. Of one with faults of its own the words in `bad` are not what the file says, and no rule may judge by them. */
  readonly rows: readonly (readonly [index: number, row: RowShape, bad: ReadonlySet<string>])[];
  readonly faults: readonly Fault[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
export const readFrame = (source: YamlSource): RouteFileFrame => {
  const faults: Fault[] = [];
  const whole = routeFileShape.safeParse(source.value);
  if (!whole.success) faults.push(...shapeFaults(whole.error, source));
  const value = isObject(source.value) ? source.value : {};
  const named = isObject(value["services"]) ? Object.entries(value["services"]) : [];
  const services = new Map<string, ServiceShape>();
  for (const [name, given] of named) {
    const at = ["services", name];
    const isNamed = serviceName.safeParse(name);
    if (!isNamed.success)
      for (const fault of shapeFaults(isNamed.error, source, at)) faults.push({ ...fault, ...source.placeOfKey(["services"], name) });
    const read = serviceShape.safeParse(given);
    if (read.success) services.set(name, read.data);
    else faults.push(...shapeFaults(read.error, source, at));
  }
  const rows: (readonly [number, RowShape, ReadonlySet<string>])[] = [];
  for (const [index, given] of (Array.isArray(value["routes"]) ? value["routes"] : []).entries()) {
    const read = rowShape.safeParse(given);
    if (read.success) {
      rows.push([index, read.data, new Set()]);
      continue;
    }
    faults.push(...shapeFaults(read.error, source, ["routes", index]));
    if (isObject(given)) rows.push([index, ...mendRow(given)]);
  }
  return {
    services,
    serviceNames: new Set(named.map(([name]) => name)),
    audiences: whole.success ? whole.data.audiences : [],
    rows,
    faults,
  };
};
