import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Facts } from "#contract/facts.ts";
import { tenantId } from "#contract/ids.ts";
import type { Issue } from "#contract/problem.ts";
import type { Schema } from "#pdp/bundle/schema.ts";
import { ConfigurationRefused, parseYamlFile } from "#pdp/model/configuration-file.ts";
import { bareResource, noFacts } from "./no-facts.ts";
import type { FactSource } from "./fact-source.ts";
import type { CandidateSource } from "#pdp/facts/candidate-source.ts";

/** Some hundred thousand rows. */
const MAX_MEBIBYTES = 64;

const name = z.string().min(1).max(1024);
const attributes = z.record(z.string(), z.unknown()).default({});

/** Who may ask and what may be asked about, for policies with a schema of their own. */
const shape = z.strictObject({
  /** All subjects are of this tenant, and all resources are shared. */
  tenant: tenantId,
  subjects: z.array(
    z.strictObject({
      id: name,
      /** Subject types of the protocol by which it may be named. */
      types: z.array(name).min(1),
      /** Its entity type in the schema. */
      kind: name,
      groups: z.array(name).default([]),
      disabled: z.boolean().default(false),
      attributes,
    }),
  ),
  resources: z.array(
    z.strictObject({
      type: name,
      id: name,
      owners: z.array(name).default([]),
      /** Subjects and groups to which it is granted. */
      granted: z.array(name).default([]),
      attributes,
    }),
  ),
});
type FactsFile = z.infer<typeof shape>;
type SubjectRow = FactsFile["subjects"][number];
type ResourceRow = FactsFile["resources"][number];

const keyOf = (type: string, id: string): string => JSON.stringify([type, id]);

/** By type and id; the same pair twice is a fault. */
const indexed = <T>(rows: readonly (readonly [type: string, id: string, row: T])[], path: string, issues: Issue[]): Map<string, T> => {
  const index = new Map<string, T>();
  for (const [type, id, row] of rows) {
    const key = keyOf(type, id);
    if (index.has(key)) issues.push({ path: `${path}/${id}`, message: `the ${type} ${id} stands there twice` });
    index.set(key, row);
  }
  return index;
};

const lacking = (kind: string, held: Readonly<Record<string, unknown>>, schema: Schema): readonly string[] =>
  Object.entries(schema.attributes(kind)).flatMap(([wanted, { required }]) =>
    required === false || Object.hasOwn(held, wanted) ? [] : [wanted],
  );

/** What of the file the schema has no place for, or wants and does not get. */
const schemaFaults = (file: FactsFile, schema: Schema, issues: Issue[]): void => {
  for (const { id, kind, attributes: held } of file.subjects) {
    if (!schema.entityTypes.has(kind)) issues.push({ path: `subjects/${id}`, message: `the schema has no entity type ${kind}` });
    // These the decision point makes itself.
    const own = { tenant: true, disabled: true, mfa_level: true, ...held };
    for (const wanted of lacking(kind, own, schema)) issues.push({ path: `subjects/${id}`, message: `lacks the attribute ${wanted}` });
  }
  const entityOf = new Map(
    [...schema.actions].flatMap(([key, { resourceTypes }]) => {
      const [first] = resourceTypes;
      return first === undefined ? [] : [[key.slice(0, Math.max(key.indexOf(":"), 0)), first] as const];
    }),
  );
  for (const { type, id, attributes: held } of file.resources) {
    const entity = entityOf.get(type);
    if (entity === undefined) issues.push({ path: `resources/${id}`, message: `the schema has no action of the type ${type}` });
    const own = { tenants: true, owners: true, restricted: true, controlled: true, step_up: true, instance: true, ...held };
    for (const wanted of entity === undefined ? [] : lacking(entity, own, schema))
      issues.push({ path: `resources/${id}`, message: `lacks the attribute ${wanted}` });
  }
};

const subjectFacts = (row: SubjectRow, tenant: string): NonNullable<Facts["subject"]> => ({
  id: row.id,
  kind: row.kind,
  name: row.id,
  tenant_ids: [tenant],
  groups: row.groups,
  disabled: row.disabled,
  mfa_level: null,
  attributes: row.attributes,
});

const resourceFacts = (row: ResourceRow, subject: SubjectRow | undefined): NonNullable<Facts["resource"]> => ({
  ...bareResource(row.id, row.type, [], row.owners),
  granted: subject !== undefined && [subject.id, ...subject.groups].some((id) => row.granted.includes(id)),
  attributes: row.attributes,
});

const behind = (rows: readonly { readonly id: string }[], after: string | undefined, limit: number): readonly string[] =>
  rows
    .map(({ id }) => id)
    .filter((id) => after === undefined || Buffer.compare(Buffer.from(id), Buffer.from(after)) > 0)
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .slice(0, limit);

/**
 * Facts that stand in a file, read once at the start. Nobody delegates here, so an agent never has a right. Throws
 * `ConfigurationRefused` with every fault: of the file itself, and of what the schema wants of it.
 */
export const readFactsFile = async (path: string, schema: Schema): Promise<{ facts: FactSource; candidates: CandidateSource }> => {
  const text = await readFile(path, "utf8").catch(() => {
    throw new ConfigurationRefused([{ path, file: path, message: "cannot be read" }]);
  });
  const file = parseYamlFile(text, path, shape, { mebibytes: MAX_MEBIBYTES });
  const issues: Issue[] = [];
  const subjects = indexed(
    file.subjects.flatMap((row) => row.types.map((type) => [type, row.id, row] as const)),
    "subjects",
    issues,
  );
  const resources = indexed(
    file.resources.map((row) => [row.type, row.id, row] as const),
    "resources",
    issues,
  );
  schemaFaults(file, schema, issues);
  if (issues.length > 0) throw new ConfigurationRefused(issues.map((issue) => ({ ...issue, path: `${path}#/${issue.path}`, file: path })));

  return {
    facts: {
      gather: async (asks) => ({
        graphVersion: 1,
        facts: asks.map((ask): Facts => {
          const subject = subjects.get(keyOf(ask.subject_type ?? "identity", ask.subject_id));
          const resource = resources.get(keyOf(ask.resource.type, ask.resource.external_id));
          return {
            ...noFacts,
            subject: subject === undefined ? null : subjectFacts(subject, file.tenant),
            definition_ok: true,
            resource: resource === undefined ? null : resourceFacts(resource, subject),
          };
        }),
      }),
      ready: async () => true,
    },
    candidates: {
      list: async ({ of, type, tenant_id: tenant, after, limit }) => {
        if (of === "subject" && tenant !== undefined && tenant !== file.tenant) return [];
        const rows =
          of === "resource" ? file.resources.filter((row) => row.type === type) : file.subjects.filter((row) => row.types.includes(type));
        return behind(rows, after, limit);
      },
    },
  };
};
