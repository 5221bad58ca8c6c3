import { z } from "zod";
import { MAX_CONFIG_BYTES, workflowName } from "#contract/configs.ts";
import { isTlsOrLoopback } from "#contract/loopback.ts";
import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import { secretReference } from "#contract/secret-reference.ts";
import { identity, titled } from "#crud/systems/operation-members.ts";
import { boundedList } from "#parsing/bounded-list.ts";
import { longNames } from "#parsing/long-names.ts";
import { said } from "#parsing/said.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlDocument } from "#parsing/yaml-document.ts";

const kinds = ["task", "access_request", "tool_approval"] as const;
export type ChannelKind = (typeof kinds)[number];

/** The shape of `config/notifications/<name>.yaml`. */
export const channelShape = z.strictObject({
  apiVersion: said(z.literal("notifications/v1"), "The version of this format.", "notifications/v1"),
  name: said(workflowName, "Its name, which is the file's too.", "ops-chat"),
  title: said(titled, "What people read as its name.", "Operations chat"),
  tenants: said(boundedList(identity, 200).min(1).optional(), "Tenants whose notices it gets; without it, all.", ["tenant:example"]),
  format: said(
    z.enum(["generic", "slack", "teams"]),
    "`generic`: JSON, signed as Standard Webhooks; `slack`: an incoming webhook; `teams`: a workflow that takes Adaptive Cards.",
    "generic",
  ),
  url: said(
    z.string().min(1).max(1024),
    "Where notices go: https, or a secret URI; of `slack` and `teams` always a secret URI, for who knows the address may post there.",
    "https://hooks.example/sallyport",
  ),
  signing_secret: said(
    secretReference.optional(),
    "Of `generic`: secret URI of the key, `whsec_` and 24 to 64 bytes in base64.",
    "yaml://secret/hooks#signing_secret",
  ),
  kinds: said(
    z
      .array(z.enum(kinds))
      .min(1)
      .default([...kinds]),
    "Of what it is notified.",
    ["task"],
  ),
  network: said(
    z
      .strictObject({
        allow: said(boundedList(z.string(), 100).default([]), "Networks (CIDR) that are not public and may be dialled.", ["10.1.0.0/16"]),
      })
      .prefault({}),
    "`allow`: networks (CIDR) that may be dialled though they are not public, within `TOOLS_NETWORK_CEILING`.",
    { allow: ["10.1.0.0/16"] },
  ),
});
export type ChannelDocument = z.output<typeof channelShape>;

export const isSecret = (url: string): boolean => secretReference.safeParse(url).success;

/** What no single member can say. */
const together = ({ format, url, signing_secret: key }: ChannelDocument, yaml: YamlDocument): readonly Issue[] => {
  const isOpen = !isSecret(url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isPlain = parsed === undefined || parsed.username !== "" || parsed.password !== "" || !isTlsOrLoopback(url);
  return [
    ...(isOpen && format !== "generic"
      ? [yaml.issue(["url"], "must be a secret URI with a key: who knows the address may post there", { code: "credential_literal" })]
      : isOpen && isPlain
        ? [yaml.issue(["url"], "must be https, without a user, or a secret URI with a key")]
        : []),
    ...(format === "generic" && key === undefined ? [yaml.issue(["signing_secret"], "is needed: generic notices are signed")] : []),
    ...(format !== "generic" && key !== undefined ? [yaml.issue(["signing_secret"], "is of generic alone", { onKey: true })] : []),
  ];
};

/** Reads one document; every issue at its place, with the name that it gives itself, where that could be read. */
export const readChannel = (
  text: string,
  file: string,
): { readonly value: ChannelDocument; readonly yaml: YamlDocument } | { readonly issues: readonly Issue[]; readonly name?: string } => {
  const { document: yaml, issues } = readYaml(text, file, { mebibytes: MAX_CONFIG_BYTES / 1_048_576 });
  if (yaml === undefined) return { issues };
  const parsed = channelShape.safeParse(yaml.value);
  const long = longNames(yaml, yaml.value, MAX_ISSUES);
  const found = [...long, ...(parsed.success ? together(parsed.data, yaml) : shapeIssues(yaml, parsed.error, { shape: channelShape }))];
  if (parsed.success && found.length === 0) return { value: parsed.data, yaml };
  const name = z.object({ name: workflowName }).safeParse(yaml.value).data?.name;
  return { issues: found, ...(name === undefined ? {} : { name }) };
};
