import { z } from "zod";
import { isObject } from "#contract/is-object.ts";
import { entityId, semantics, word } from "#contract/authzen.ts";
import { jsonMembers } from "#contract/json-members.ts";
import { Problem, type Issue } from "#contract/problem.ts";
import { withDefaults } from "#pdp-client/item-defaults.ts";
import type { Semantic } from "#pdp-client/point-answers.ts";
import { issuesOf } from "#contract/shape-issues.ts";
import { MAX_MEMBERS } from "#http/strict-json.ts";
import { createItemSizes, sizeIssue, type ItemSize } from "./item-size.ts";

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

/** What was asked, in the form it was asked. */
export type FacadeAsk =
  | { readonly form: "single"; readonly entry: Entry }
  | { readonly form: "array" | "object"; readonly entries: readonly Entry[]; readonly semantic: Semantic };

export interface FacadeLimits {
  readonly items: number;
  /** Bytes of the properties and the context of one item, as JSON. */
  readonly itemBytes: number;
}

const itemShape = z.looseObject({
  action: z.looseObject({ name: word, properties: jsonMembers.optional() }),
  resource: z.looseObject({ type: word, id: entityId.optional(), properties: jsonMembers.optional() }),
  context: jsonMembers.optional(),
});
/** Of all items together, with what each inherits. */
const MAX_BYTES = 1_048_576;
const keyShape = z.string().min(1).max(256);

const partOf = (item: unknown, name: string): unknown => (isObject(item) ? item[name] : undefined);

/** Of what was sent, before anything else looks at it: what an item inherits costs each of them anew. */
const sizedParts = (item: unknown): readonly unknown[] => [
  partOf(partOf(item, "action"), "properties"),
  partOf(partOf(item, "resource"), "properties"),
  partOf(item, "context"),
];

const parseItem = (value: unknown, size: ItemSize, limits: FacadeLimits): FacadeItem | readonly Issue[] => {
  const tooLarge = sizeIssue(size, limits.itemBytes);
  if (tooLarge !== undefined) return [{ path: "", message: tooLarge }];
  const read = itemShape.safeParse(value);
  if (!read.success) return issuesOf(read.error);
  const { action, resource, context } = read.data;
  if (resource.id === "*") throw new Problem("reserved_resource_id");
  return {
    action: { name: action.name, properties: action.properties ?? {} },
    resource: { type: resource.type, id: resource.id, properties: resource.properties ?? {} },
    context: context ?? {},
    hasSubject: Object.hasOwn(read.data, "subject"),
  };
};

const isFaulty = (item: FacadeItem | readonly Issue[]): item is readonly Issue[] => Array.isArray(item);

const parseKey = (key: unknown, path: string): string => {
  const read = keyShape.safeParse(key);
  if (read.success) return read.data;
  throw new Problem("invalid_request", { errors: [{ path, message: "must be 1-256 characters" }] });
};

export const requireObject = (value: unknown): Members => {
  if (isObject(value)) return value;
  throw new Problem("invalid_request", { errors: [{ path: "", message: "must be an object" }] });
};

/** Own keys, `__proto__` among them, in their order. */
const entriesOf = (value: Members): [string, unknown][] =>
  Object.keys(value).map((key) => [key, Object.getOwnPropertyDescriptor(value, key)?.value]);

/** Reads the body of a single evaluation. Throws `invalid_request` with every fault. */
export const parseEvaluation = (sent: unknown, limits: FacadeLimits): FacadeAsk => {
  const body = requireObject(sent);
  const key = Object.hasOwn(body, "key") ? parseKey(body["key"], "/key") : undefined;
  const item = parseItem(body, createItemSizes()(sizedParts(body)), limits);
  if (isFaulty(item)) throw new Problem("invalid_request", { errors: item });
  return { form: "single", entry: { key, item } };
};

/** The decision point is asked each item whole, and takes so much of a batch. Throws `body_too_large`. */
const guardWhole = (sizes: readonly ItemSize[]): void => {
  const sum = (name: keyof ItemSize): number => sizes.reduce((all, size) => all + size[name], 0);
  if (sum("bytes") > MAX_BYTES || sum("members") > MAX_MEMBERS)
    throw new Problem("body_too_large", {
      detail: `With what they inherit, the evaluations hold more than ${MAX_BYTES} bytes or ${MAX_MEMBERS} members of properties and context.`,
    });
};

/**
 * Reads the body of a batch: the standard's array, or an object whose keys name the items. Without items it is a single
 * evaluation. Throws `too_many_evaluations`, `body_too_large`, `duplicate_key`, `reserved_resource_id`, `invalid_request`.
 */
export const parseEvaluations = (sent: unknown, limits: FacadeLimits): FacadeAsk => {
  const body = requireObject(sent);
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
  const semantic = semantics.optional().safeParse(options["evaluations_semantic"]);
  if (!semantic.success)
    throw new Problem("invalid_request", { errors: [{ path: "/options/evaluations_semantic", message: "is not one of the standard's" }] });
  const sizeOf = createItemSizes();
  const whole = given.map(([, item]) => withDefaults(item, body));
  const sizes = whole.map((item) => sizeOf(sizedParts(item)));
  guardWhole(sizes.filter((size) => size.bytes <= limits.itemBytes));
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
    const read = parseItem(whole[index], sizes[index] as ItemSize, limits);
    return { key, item: isFaulty(read) ? read.map((issue) => `${issue.path} ${issue.message}`.trim()).join("; ") : read };
  });
  return { form: Array.isArray(evaluations) ? "array" : "object", entries, semantic: semantic.data ?? "execute_all" };
};
