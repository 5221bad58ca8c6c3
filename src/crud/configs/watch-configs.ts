import { configObjectKinds, type ConfigObjectKind } from "#contract/configs.ts";
import type { Reported, Watched } from "#events/streams/stream.ts";
import type { ConfigStore } from "./config-store.ts";
import { addressOf, type HeldObject } from "./config-kind.ts";
import { showObject } from "./show-object.ts";

/** A larger document is read where it lies. */
const MAX_BODY_CHARACTERS = 262_144;

const reportOf = (object: HeldObject): Reported => {
  const { kind, name, head } = object;
  const { version, etag, state, document } = showObject(object);
  const isLarge = (head?.text?.length ?? 0) > MAX_BODY_CHARACTERS;
  const body = isLarge ? { href: addressOf(kind, name) } : { body: document };
  return { event: "object", data: { kind, id: name, version, etag, state, ...body } };
};

/** The configuration that a tenant sees, as a list and as what becomes of it: `object {kind, id, version, etag, state, body | href}`, `removed {kind, id, version}`. */
export const watchConfigs = (store: ConfigStore, tenant: string, kinds: ReadonlySet<string>): Watched => {
  const list = (kind: ConfigObjectKind): readonly HeldObject[] => store.list(kind, tenant);
  return {
    list: async () => {
      await store.follow();
      return configObjectKinds.filter((kind) => kinds.has(kind)).flatMap((kind) => list(kind).map((object) => () => reportOf(object)));
    },
    now: async ({ data }) => {
      const [kind, id, version] = [String(data["kind"]) as ConfigObjectKind, String(data["id"]), Number(data["version"])];
      const find = (): HeldObject | undefined => list(kind).find(({ name }) => name === id);
      // This process may hear of a change before it has taken it up.
      if ((find()?.head?.version ?? 0) < version) await store.follow();
      const object = find();
      return object === undefined ? { event: "removed", data: { kind, id, version } } : reportOf(object);
    },
  };
};
