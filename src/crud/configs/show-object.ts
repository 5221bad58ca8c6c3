import type { HeldObject } from "./held-object.ts";
import { etagOf } from "./version-store.ts";

/** Whether its newest version serves. */
export const stateOf = ({ faults, prepared, head }: HeldObject): "serving" | "degraded" | "off" | "deleted" =>
  faults.length > 0 ? "degraded" : head?.text === null ? "deleted" : prepared?.isOff === true ? "off" : "serving";
export const tagOf = ({ head }: HeldObject): string => (head === undefined ? "" : etagOf(head));

/** What a list shows of it. */
export const rowOf = (object: HeldObject) => ({
  name: object.name,
  version: object.head?.version ?? 0,
  etag: tagOf(object),
  state: stateOf(object),
  author: object.head?.author ?? "",
  at: object.head?.at ?? new Date(0).toISOString(),
  ...(object.faults.length > 0 ? { degraded: { errors: [...object.faults], serving_version: object.serving } } : {}),
});
/** An object as a reader sees it. */
export const showObject = (object: HeldObject) => ({
  ...rowOf(object),
  reason: object.head?.reason ?? "",
  document: object.prepared?.yaml.value ?? null,
});
