import { z } from "zod";
import { jsonMembers } from "#contract/json-members.ts";
import { Problem, type Fault } from "#contract/problem.ts";
import { sizeFault } from "./item-size.ts";

type Members = Readonly<Record<string, unknown>>;

/** One question of a client, well-formed; nothing in it is believed yet. */
export interface FacadeItem {
  readonly action: { readonly name: string; readonly properties: Members };
  readonly resource: { readonly type: string; readonly id: string | undefined; readonly properties: Members };
  readonly context: Members;
  /** True: the client named a subject; it is not looked at. */
  readonly hasSubject: boolean;
}

export interface Entry {
  readonly key: string | undefined;
  /** The question, or what is wrong with it. */
  readonly item: FacadeItem | string;
}

export type Semantic = "execute_all" | "deny_on_first_deny" | "permit_on_first_permit";

/** What was asked, in the form it was asked. */
export type FacadeAsk =
  | { readonly form: "single"; readonly entry: Entry }
  | { readonly form: "array" | "object"; readonly entries: readonly Entry[]; readonly semantic: Semantic };

export interface FacadeLimits {
  readonly items: number;
  /** Bytes of the properties and the context of one item, as JSON. */
  readonly itemBytes: number;
}

const word = z.string().regex(/^[A-Za-z0-9._:/-]{1,128}$/, "must be 1-128 of A-Z a-z 0-9 . _ : / -");
const id = z
  .string()
  .min(1)
  .max(1024)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), "holds a control character");
const itemShape = z.looseObject({
  action: z.looseObject({ name: word, properties: jsonMembers.optional() }),
  resource: z.looseObject({ type: word, id: id.optional(), properties: jsonMembers.optional() }),
  context: jsonMembers.optional(),
});
const keyShape = z.string().min(1).max(256);
const semanticShape = z.enum(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]);

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

const parseItem = (value: unknown, limits: FacadeLimits): FacadeItem | readonly Fault[] => {
  const read = itemShape.safeParse(value);
  if (!read.success) return read.error.issues.map((issue) => ({ path: `/${issue.path.map(String).join("/")}`, message: issue.message }));
  const { action, resource, context } = read.data;
  if (resource.id === "*") throw new Problem("reserved_resource_id");
  const tooLarge = sizeFault([action.properties, resource.properties, context], limits.itemBytes);
  if (tooLarge !== undefined) return [{ path: "", message: tooLarge }];
  return {
    action: { name: action.name, properties: action.properties ?? {} },
    resource: { type: resource.type, id: resource.id, properties: resource.properties ?? {} },
    context: context ?? {},
    hasSubject: Object.hasOwn(read.data, "subject"),
  };
};

const isFaulty = (item: FacadeItem | readonly Fault[]): item is readonly Fault[] => Array.isArray(item);

/** An item's member takes the place of the whole default; nothing is merged deeper. */
export const withDefaults = (item: unknown, defaults: Members): unknown => {
  if (!isObject(item)) return item;
  const given: Record<string, unknown> = {};
  for (const name of ["subject", "action", "resource", "context"]) {
    const value = Object.hasOwn(item, name) ? item[name] : Object.hasOwn(defaults, name) ? defaults[name] : undefined;
    if (value !== undefined) given[name] = value;
  }
  return given;
};

const parseKey = (key: unknown, path: string): string => {
  const read = keyShape.safeParse(key);
  if (read.success) return read.data;
  throw new Problem("invalid_request", { errors: [{ path, message: "must be 1-256 characters" }] });
};

/** Own keys, `__proto__` among them, in their order. */
const entriesOf = (value: Members): [string, unknown][] =>
  Object.keys(value).map((key) => [key, Object.getOwnPropertyDescriptor(value, key)?.value]);

/** Reads the body of a single evaluation. Throws `invalid_request` with every fault. */
export const parseEvaluation = (body: unknown, limits: FacadeLimits): FacadeAsk => {
  if (!isObject(body)) throw new Problem("invalid_request", { errors: [{ path: "", message: "must be an object" }] });
  const key = Object.hasOwn(body, "key") ? parseKey(body["key"], "/key") : undefined;
  const item = parseItem(body, limits);
  if (isFaulty(item)) throw new Problem("invalid_request", { errors: item });
  return { form: "single", entry: { key, item } };
};

/**
 * Reads the body of a batch: the standard's array, or an object whose keys name the items. Without items it is a single
 * evaluation. Throws `too_many_evaluations`, `duplicate_key`, `reserved_resource_id`, `invalid_request`.
 */
export const parseEvaluations = (body: unknown, limits: FacadeLimits): FacadeAsk => {
  if (!isObject(body)) throw new Problem("invalid_request", { errors: [{ path: "", message: "must be an object" }] });
  const evaluations = body["evaluations"];
  if (evaluations === undefined) return parseEvaluation(body, limits);
  if (!Array.isArray(evaluations) && !isObject(evaluations))
    throw new Problem("invalid_request", { errors: [{ path: "/evaluations", message: "must be an array, or an object by key" }] });
  const given: readonly [string | undefined, unknown][] = Array.isArray(evaluations)
    ? evaluations.map((item) => [undefined, item])
    : entriesOf(evaluations);
  if (given.length === 0) return parseEvaluation(body, limits);
  if (given.length > limits.items) throw new Problem("too_many_evaluations", { detail: `At most ${limits.items} in one call.` });
  const options = isObject(body["options"]) ? body["options"] : {};
  const semantic = semanticShape.optional().safeParse(options["evaluations_semantic"]);
  if (!semantic.success)
    throw new Problem("invalid_request", { errors: [{ path: "/options/evaluations_semantic", message: "is not one of the standard's" }] });
  const seen = new Set<string>();
  const entries = given.map(([outer, item], index): Entry => {
    const own = isObject(item) && Object.hasOwn(item, "key") ? item["key"] : undefined;
    const path = outer === undefined ? `/evaluations/${index}` : `/evaluations/${outer}`;
    if (outer !== undefined && own !== undefined)
      throw new Problem("invalid_request", { errors: [{ path: `${path}/key`, message: "the item has a key already" }] });
    const key = outer !== undefined ? parseKey(outer, path) : own === undefined ? undefined : parseKey(own, `${path}/key`);
    if (key !== undefined && seen.has(key))
      throw new Problem("duplicate_key", { errors: [{ path, message: "another item has this key" }] });
    if (key !== undefined) seen.add(key);
    const read = parseItem(withDefaults(item, body), limits);
    return { key, item: isFaulty(read) ? read.map((fault) => `${fault.path} ${fault.message}`.trim()).join("; ") : read };
  });
  return { form: Array.isArray(evaluations) ? "array" : "object", entries, semantic: semantic.data ?? "execute_all" };
};
