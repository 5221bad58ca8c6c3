import type { ConfigKind, Document, Place, Preparation, Prepared, ReadDocument, Refused } from "#crud/configs/config-kind.ts";
import { fileOf, isOwn } from "#crud/configs/config-kind.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import { channelShape, isSecret, readChannel, type ChannelDocument } from "#crud/notifications/channel-document.ts";
import type { Channel, PlacedChannels } from "#crud/notifications/placed-channels.ts";
import { parseNetworks, type NetworkCeiling } from "#crud/upstream/network-rules.ts";

export interface ChannelSources {
  readonly catalogue: Pick<CatalogueKeeper, "preview" | "snapshot">;
  readonly channels: PlacedChannels;
  readonly ceiling: NetworkCeiling;
  readonly internalPorts: ReadonlySet<number>;
}

const open = (parts: ChannelSources, readDocument: ReadDocument<ChannelDocument>): Preparation => {
  const { channels, ceiling, internalPorts } = parts;
  const place = (name: string, channel: Channel | undefined): Place => ({
    preview: () => parts.catalogue.snapshot,
    place: () => channels.place(name, channel),
  });
  const prepare = async ({ name: given, text, tenant }: Document): Promise<Prepared | Refused> => {
    const read = await readDocument(text, given === undefined ? "notifications.yaml" : fileOf("notifications", given), { tenant });
    if ("issues" in read) return { name: read.name ?? given ?? "", issues: read.issues };
    const { value: document, yaml } = read;
    const { name, title, url, format, signing_secret: key, tenants = null } = document;
    const networks = parseNetworks(document.network.allow, ceiling);
    const issues = [
      ...(given === undefined || given === name ? [] : [yaml.issue(["name"], `must be ${given}, as the file and the address have it`)]),
      ...networks.issues.map(({ index, message }) => yaml.issue(["network", "allow", index], message)),
    ];
    if (issues.length > 0) return { name: given ?? name, issues };
    const shared = yaml.issue(["tenants"], "gets notices of other tenants too", { code: "cross_tenant" });
    return {
      ...place(name, { document, rules: { allow: networks.blocks, ceiling, internalPorts } }),
      name,
      yaml,
      refs: {},
      about: { title, kind: format },
      tenants,
      issues: [],
      isOff: false,
      hosts: isSecret(url) ? [] : [new URL(url).host],
      secrets: [...(isSecret(url) ? [url] : []), ...(key === undefined ? [] : [key])],
      stdioServers: [],
      problems: () => channels.problems(name),
      check: async (by) => (isOwn(tenants, by.tenant) ? [] : [{ ...shared, hint: `tenants: [${by.tenant}]` }]),
      discard: () => undefined,
    };
  };
  return { absent: (name) => place(name, undefined), prepare, prepareHealthy: prepare };
};

/** Channels of notifications: `notifications/<name>.yaml`. */
export const notificationsKind: ConfigKind<ChannelDocument, ChannelSources> & { readonly kind: "notifications" } = {
  kind: "notifications",
  manual: {
    title: "Channels of notifications",
    about: "`config/notifications/<name>.yaml`, one file a channel: a webhook that gets a message when something waits for a decision.",
    shown: [],
  },
  schema: { "": channelShape },
  reach: "edit_systems",
  read: readChannel,
  open,
};
