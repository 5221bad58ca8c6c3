import { z } from "zod";
import { probedEndpoints } from "./probes/probes.ts";

export type Json = { readonly [name: string]: unknown };
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Optional in its form, and refused without by the handler. */
  readonly needed?: boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export const schemaOf = (schema: z.ZodType): Schema => z.toJSONSchema(schema, { unrepresentable: "any", io: "input" }) as Schema;

/** Values that a form alone does not tell, by the name of the member. */
const known: Readonly<Record<string, unknown>> = {
  agent_id: "agent:hr-assistant",
  delegator_id: "person:ben",
  user_id: "person:ben",
  subject_id: "person:ben",
  node_id: "person:ben",
  tool_id: "people.demo.get_employee",
  tenant_id: "tenant:acme",
  call_id: "00000000-0000-4000-8000-000000000000",
  uri: "yaml://secret/people/demo#api_key",
  purpose: "For a test",
  reason: "For a test",
  issuer: "https://login.example.test",
  person_id: "person:ben",
  message: "For a test",
  from: "2026-01-01T00:00:00Z",
  to: "2026-02-01T00:00:00Z",
  definition_digest: "0".repeat(64),
  evaluations: [],
};

/** Whole bodies and queries where the least that the form takes is not enough. */
export const samples: Readonly<Record<string, Json | undefined>> = Object.fromEntries(
  probedEndpoints.map(({ name, probe }) => [name, probe.sample]),
);

/** The least that the schema takes. */
export const sampleOf = (schema: Schema, name: string): unknown => {
  const one = schema.anyOf?.[0] ?? schema.oneOf?.[0] ?? schema.allOf?.[0];
  if (one !== undefined) return sampleOf(one, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === "object")
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([member, { needed }]) => needed === true || schema.required?.includes(member) === true)
        .map(([member, one]) => [member, sampleOf(one, member)]),
    );
  if (schema.type === "array") return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}, name));
  if (schema.format === "date-time") return "2026-01-01T00:00:00Z";
  if (schema.type === "number" || schema.type === "integer") return Math.max(schema.minimum ?? 1, 1);
  if (schema.type === "boolean") return true;
  return known[name] ?? (name === "action" ? "view" : "x");
};

/** Every place of a value: the path to it and what stands there. */
export const placesOf = (
  schema: Schema,
  path: readonly string[] = [],
): readonly { readonly path: readonly string[]; readonly schema: Schema }[] => {
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((one) => placesOf(one, path));
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, one]) => placesOf(one, [...path, name]));
  const items = schema.items === undefined ? [] : placesOf(schema.items, [...path, "0"]);
  return path.length > 6 ? [] : [...(path.length === 0 ? [] : [{ path, schema }]), ...inner, ...members, ...items];
};

/** A value with another one at a place. */
export const put = (value: unknown, [name, ...rest]: readonly string[], at: unknown): unknown => {
  if (name === undefined) return at;
  if (name === "0") return [put(Array.isArray(value) ? value[0] : undefined, rest, at)];
  const held = typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
  return { ...held, [name]: put(held[name], rest, at) };
};

/** The least that an endpoint takes, by its name and the form of its body or query. */
export const leastOf = (name: string, form: z.ZodType | undefined): Readonly<Record<string, string>> =>
  (samples[name] ?? (form === undefined ? {} : sampleOf(schemaOf(form), name))) as Readonly<Record<string, string>>;
