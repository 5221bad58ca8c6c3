import { z } from "zod";
import { MAX_CONFIG_BYTES, MAX_SYSTEM_BYTES } from "#contract/configs.ts";
import { isObject } from "#contract/is-object.ts";
import { parsePointer } from "#contract/json-pointer.ts";
import { MAX_ISSUES, type Issue } from "#contract/problem.ts";
import { longNames } from "#parsing/long-names.ts";
import { shapeIssues } from "#parsing/shape-issues.ts";
import { readYaml, type YamlDocument } from "#parsing/yaml-document.ts";
import { credentialMembers, documentKinds, plannedKinds, type SystemDocument } from "./system-document.ts";

/** Whom a document names as its owner, and an issue's place there. */
export interface OwnerAt {
  readonly owner: string;
  readonly at: Issue;
}

/** A document, or its issues with the name that it gives itself and its owner, where these can be read. */
export type SystemText =
  | { readonly value: SystemDocument; readonly yaml: YamlDocument }
  | { readonly issues: readonly Issue[]; readonly name?: string; readonly owner?: OwnerAt };
/** Operations named in `without` are passed over, as if they did not stand there. */
export type ReadSystemText = (text: string, shown: string, without?: readonly string[]) => SystemText | Promise<SystemText>;

const { provider, instance, owner: ownerShape } = documentKinds.http.shape;
const namedShape = z.object({ provider, instance });
const kindOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;
const isKind = (kind: unknown): kind is keyof typeof documentKinds => typeof kind === "string" && Object.hasOwn(documentKinds, kind);

/** A hand writes YAML; what is larger was written by an import, as JSON. */
export const systemLimits = { mebibytes: MAX_CONFIG_BYTES / 1_048_576, printedMebibytes: MAX_SYSTEM_BYTES / 1_048_576, sent: "bind" };

/** Reads a system's text up to its shape; `shown` is how issues name it. Cost: half a second for 256 kB of YAML, which `createDocumentReader` spends in a thread. */
export const readSystemText = (text: string, shown: string, without: readonly string[] = []): SystemText => {
  const read = readYaml(text, shown, systemLimits);
  const yaml = read.document;
  if (yaml === undefined) return { issues: read.issues };
  const kind = kindOf(yaml.value);
  if (!isKind(kind)) {
    const isPlanned = typeof kind === "string" && plannedKinds.includes(kind);
    const message = isPlanned ? `${kind} has no connector in this version` : `must be one of ${Object.keys(documentKinds).join(", ")}`;
    return { issues: [yaml.issue(["kind"], message, isPlanned ? { code: "connector_not_available" } : {})] };
  }
  const value = withoutOperations(yaml.value, without);
  const parsed = documentKinds[kind].safeParse(value);
  const long = longNames(yaml, value, MAX_ISSUES);
  if (parsed.success && long.length === 0) return { value: parsed.data, yaml };
  const named = namedShape.safeParse(yaml.value).data;
  const name = named === undefined ? {} : { name: `${named.provider}.${named.instance}` };
  const owner = z.object({ owner: ownerShape }).safeParse(yaml.value).data?.owner;
  const answers = owner === undefined ? {} : { owner: { owner, at: yaml.issue(["owner"], "") } };
  const issues = [...long, ...(parsed.success ? [] : shapeIssues(yaml, parsed.error, { shape: documentKinds[kind] }))];
  return {
    issues: issues.map((issue) => (isLiteral(issue, yaml.value) ? { ...issue, code: "credential_literal" } : issue)),
    ...name,
    ...answers,
  };
};

/** What stands where a secret's address belongs may be the credential itself. */
const isLiteral = ({ path }: Issue, value: unknown): boolean => {
  const [holder, member = "", ...rest] = parsePointer(path);
  const auth = isObject(value) ? value["auth"] : undefined;
  return holder === "auth" && rest.length === 0 && credentialMembers.has(member) && isObject(auth) && Object.hasOwn(auth, member);
};

const withoutOperations = (value: unknown, without: readonly string[]): unknown => {
  if (without.length === 0 || !isObject(value) || !isObject(value["operations"])) return value;
  const left = Object.entries(value["operations"]).filter(([base]) => !without.includes(base));
  return { ...value, operations: Object.fromEntries(left) };
};
