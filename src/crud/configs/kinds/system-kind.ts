import { createYielding } from "#http/yielding.ts";
import { pointerText } from "#contract/json-pointer.ts";
import type { Issue } from "#contract/problem.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import type { ReadSystemText } from "#crud/systems/read-system-text.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import type { PreparedSystem, Sources } from "#crud/connectors/sources.ts";
import { fileOf, isOwn, type ConfigKind, type Document, type OperationTest } from "#crud/configs/config-kind.ts";
import type { Place, Preparation, Prepared, ReadDocument, Refused } from "#crud/configs/config-kind.ts";
import type { PublishScope } from "#crud/configs/publish-scope.ts";
import type { CompiledSystem } from "#crud/connectors/connector-kind.ts";
import { connectorOf } from "#crud/connectors/connectors.ts";
import { readSystem, type SystemFile } from "#crud/systems/load-systems.ts";
import { readSystemText, type OwnerAt } from "#crud/systems/read-system-text.ts";
import { documentKinds, type SystemDocument } from "#crud/systems/system-document.ts";
import { prepareHealthy } from "./healthy-operations.ts";
import type { createOwnerCheck } from "./system-owner.ts";

/** Whose secrets a system may name: a tenant's system its tenant's, one for several tenants the platform's. Where there is one tenant, both. */
const secretPlaces = (tenants: readonly string[] | null, by: PublishScope): readonly string[] => {
  if (by.others.length === 0) return [by.tenant, PLATFORM];
  return [isOwn(tenants, by.tenant) ? by.tenant : PLATFORM];
};

/** Credentials that the system must not name, whoever publishes it: no call could use them. */
const foreignSecrets = (
  { document, yaml }: SystemFile,
  allowed: readonly string[],
  ownerOf: (uri: string) => string | undefined,
): readonly Issue[] =>
  connectorOf(document)
    .secretsOf(document)
    .flatMap(({ member, uri }) => {
      const owner = ownerOf(uri);
      if (owner === undefined || allowed.includes(owner)) return [];
      const whose = `lies at a place that is not ${allowed[0] === PLATFORM ? "the platform's" : "yours"}`;
      return [yaml.issue(["auth", member], whose, { code: "foreign_secret", hint: "TENANT_ALLOWED_MOUNTS names the places." })];
    });

/** Each may take as long as one call; so between two others have their turn. */
const testsOf = (system: string, compiled: CompiledSystem): readonly OperationTest[] => {
  if (compiled.kind !== "tools") return [];
  const turn = createYielding(PIECE_MS);
  return compiled.tools.flatMap(({ name, tests = [] }) => {
    const operation = name.slice(system.length + 1);
    return tests.map((test, index) => ({
      ...test,
      operation,
      path: ["operations", operation, "tests", index],
      run: async () => {
        await turn();
        return test.run();
      },
    }));
  });
};
const PIECE_MS = 8;

export interface SystemKindParts {
  readonly sources: Sources;
  readonly catalogue: Pick<CatalogueKeeper, "preview" | "snapshot">;
  readonly ownerIssues: ReturnType<typeof createOwnerCheck>;
  /** Whose place a secret URI names: a tenant's, or `platform`; `undefined`: nobody's. */
  readonly secretOwner: (uri: string) => string | undefined;
}

const open = (parts: SystemKindParts, readDocument: ReadDocument<SystemDocument>): Preparation => {
  const { sources, catalogue } = parts;
  const place = (name: string, prepared: PreparedSystem | undefined): Place => ({
    preview: () => {
      const { tools, external } = sources.preview(name, prepared);
      return catalogue.preview({ tools: () => tools, external: () => external });
    },
    place: () => sources.place(name, prepared),
  });
  const prepare = async ({ name: given, text, read, tenant }: Document, without: readonly string[]): Promise<Prepared | Refused> => {
    const shown = given === undefined ? "system.yaml" : fileOf("system", given);
    const readText: ReadSystemText = (of, as, less) => readDocument(of, as, { without: less, tenant });
    const file = await readSystem({ name: given, text, shown, read, readText, without });
    const ownerCheck =
      ({ owner, at }: OwnerAt) =>
      (by: { readonly tenant: string; readonly correlationId: string }) =>
        parts.ownerIssues({ owner, at, tenant: by.tenant, correlationId: by.correlationId });
    if ("issues" in file) {
      const { owner, ...refused } = file;
      return owner === undefined ? refused : { ...refused, check: ownerCheck(owner) };
    }
    const { name, document, yaml, refs } = file;
    const connector = connectorOf(document);
    const compiled = await sources.compile(file);
    const checkOwner = ownerCheck({ owner: document.owner, at: yaml.issue(["owner"], "") });
    if (compiled.kind === "degraded") return { name, issues: compiled.issues, check: checkOwner };
    const prepared: PreparedSystem = { name, compiled, file };
    const tests = testsOf(name, compiled);
    const tenants = document.tenants ?? null;
    return {
      ...place(name, prepared),
      name,
      yaml,
      refs,
      tenants,
      issues: [],
      about: { kind: document.kind, title: document.title, owner: document.owner },
      isOff: compiled.kind === "off",
      refused: () =>
        (sources.external.find((one) => one.name === name)?.refused ?? []).map(({ name: tool, reason }) => ({
          path: pointerText(["tools", tool]),
          message: `is not served: ${reason}`,
          code: "tool_refused",
        })),
      hosts: connector.hostsOf(document),
      secrets: connector.secretsOf(document).map(({ uri }) => uri),
      stdioServers: connector.serversOf(document),
      unlisted: compiled.kind === "tools" ? (compiled.unlisted ?? []) : [],
      check: async (by) => {
        const others = tenants?.filter((one) => one !== by.tenant).join(", ");
        const whose = others === undefined ? "names no tenant: it would serve every tenant" : `names ${others}, which is not yours`;
        const wall = yaml.issue(["tenants"], whose, { code: "cross_tenant", hint: `tenants: [${by.tenant}]` });
        const lost =
          tenants?.includes(by.tenant) === false ? [yaml.issue(["tenants"], `does not name ${by.tenant}: you would not see it again`)] : [];
        const failed: Issue[] = [];
        for (const test of tests) {
          const wrong = await test.run();
          if (wrong !== undefined) failed.push(yaml.issue(test.path, `${test.name}: ${wrong}`, { code: "tests_failed" }));
        }
        return [
          ...(isOwn(tenants, by.tenant) ? [] : [wall]),
          ...lost,
          ...(await checkOwner(by)),
          ...foreignSecrets(file, secretPlaces(tenants, by), parts.secretOwner),
          ...failed,
        ];
      },
      tests,
      discard: () => sources.discard(prepared),
    };
  };
  return {
    absent: (name) => place(name, undefined),
    prepare: (document) => prepare(document, []),
    prepareHealthy: (document) => prepareHealthy((without) => prepare(document, without)),
  };
};

/** Systems: `systems/<provider>.<instance>.yaml`. */
export const systemKind: ConfigKind<SystemDocument, SystemKindParts> & { readonly kind: "system" } = {
  kind: "system",
  manual: {
    title: "Systems",
    about: "`config/systems/<provider>.<instance>.yaml`, one file a system; its `kind` says how the system is reached.",
    shown: ["config/systems/sallyport.local.yaml", "config/demo/systems/people.demo.yaml", "config/demo/systems/memory.demo.yaml"],
  },
  schema: documentKinds,
  reach: "edit_systems",
  systemOf: (name) => ({ tools: name, service: name }),
  read: readSystemText,
  open,
};
