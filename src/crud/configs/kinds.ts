import type { ConfigObjectKind } from "#contract/configs.ts";
import { createYielding } from "#http/yielding.ts";
import { pointerText } from "#contract/json-pointer.ts";
import type { Fault } from "#contract/problem.ts";
import { PLATFORM } from "#contract/secret-schemes.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import type { ReadSystemText } from "#crud/systems/read-system-text.ts";
import type { DocumentReader } from "#crud/documents/document-reader.ts";
import { findView, systemsIn } from "#crud/mcp/views.ts";
import { emptyToolsDocument, joinToolsDocuments, type ToolsDocument } from "#crud/documents/tools-document.ts";
import type { CatalogueKeeper } from "#crud/mcp/catalogue-store.ts";
import type { Snapshot } from "#crud/mcp/catalogue.ts";
import type { ToolTest } from "#crud/mcp/tool.ts";
import type { PreparedSystem, Sources } from "#crud/mcp/sources.ts";
import type { CompiledSystem } from "#crud/systems/compile-system.ts";
import { readSystem, type ReadReference, type References, type SystemFile } from "#crud/systems/load-systems.ts";
import type { OwnerAt } from "#crud/systems/read-system-text.ts";
import { credentialMembers } from "#crud/systems/system-document.ts";
import { prepareHealthy, type Refused } from "./healthy-operations.ts";
import { systemOfTool, UNSEEN, type PublishScope } from "./publish-scope.ts";
import type { createOwnerCheck } from "./system-owner.ts";

/** What takes the place of what serves under a name. */
export interface Place {
  /** The catalogue as it would be. */
  preview(): Snapshot;
  /** Serves from now on, once the catalogue is built anew. */
  place(): void;
}

/** A test of a document, and where it stands there. */
export interface OperationTest extends ToolTest {
  readonly operation: string;
  readonly path: readonly (string | number)[];
}

/** A document that was read and could serve. */
export interface Prepared extends Place {
  readonly name: string;
  readonly yaml: YamlDocument;
  readonly refs: References;
  /** What a list shows of it. */
  readonly about: { readonly kind?: string; readonly title?: string; readonly owner?: string };
  /** Null: all. */
  readonly tenants: readonly string[] | null;
  /** Of operations that were left out; of a document that serves whole there are none. */
  readonly faults: readonly Fault[];
  /** Known, but without a value for one of its settings here. */
  readonly isOff: boolean;
  /** Where it leads to, and which secrets go there. */
  readonly hosts: readonly string[];
  readonly secrets: readonly string[];
  /** Names of the operator's servers that it starts on the machine. */
  readonly stdioServers: readonly string[];
  /** Networks that it leads to and does not allow. */
  readonly unlisted?: readonly string[];
  /** What is asked of a document only as it is published; `cross_tenant`: it reaches beyond the tenant. */
  check(by: PublishScope): Promise<readonly Fault[]>;
  /** Its tests, operation by operation; a document without has none. */
  readonly tests?: readonly OperationTest[];
  /** What its upstream offers and is not served, as it is now. */
  readonly refused?: () => readonly Fault[];
  /** It will not be placed. */
  discard(): void;
}

export const isPrepared = (found: Prepared | { readonly faults: readonly Fault[] }): found is Prepared => "place" in found;

export interface Document {
  /** Undefined: what the document says of itself. */
  readonly name: string | undefined;
  readonly text: string;
  readonly read: ReadReference;
  /** Who writes it: documents of several tenants are read in turns. */
  readonly tenant?: string;
}

/** Where an object lies in a configuration folder. */
export const fileOf = (kind: ConfigObjectKind, name: string): string => (kind === "tools" ? "tools.yaml" : `systems/${name}.yaml`);

/** One kind of configuration object. */
export interface ConfigKind {
  prepare(document: Document): Promise<Prepared | Refused>;
  /** What of a faulty document can serve; where its faults cannot be kept apart, as `prepare`. */
  prepareHealthy(document: Document): Promise<Prepared | Refused>;
  /** What is where there is no such object. */
  absent(name: string): Place;
}

/** True where it serves nobody but the tenant, now and later: what names no tenant serves all that will ever be. */
export const isOwn = (tenants: readonly string[] | null, tenant: string): boolean =>
  tenants !== null && tenants.every((one) => one === tenant);

const hostsOf = ({ document }: SystemFile): readonly string[] => {
  if (document.kind === "http") return [document.baseUrl, ...(document.auth.type === "oauth2_client" ? [document.auth.tokenUrl] : [])];
  return document.kind === "mcp" ? [`stdio:${document.transport.command}`] : [];
};
const secretsOf = ({ document }: SystemFile): readonly string[] =>
  document.kind === "http"
    ? Object.entries(document.auth).flatMap(([key, value]) => (credentialMembers.has(key) ? [String(value)] : []))
    : [];

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
): readonly Fault[] =>
  document.kind !== "http"
    ? []
    : Object.entries(document.auth).flatMap(([key, value]) => {
        const owner = credentialMembers.has(key) ? ownerOf(String(value)) : undefined;
        if (owner === undefined || allowed.includes(owner)) return [];
        const whose = `lies at a place that is not ${allowed[0] === PLATFORM ? "the platform's" : "yours"}`;
        return [yaml.fault(["auth", key], whose, { code: "foreign_secret", hint: "TENANT_ALLOWED_MOUNTS names the places." })];
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

/** Systems: `systems/<provider>.<instance>.yaml`. */
export const systemKind = (parts: {
  readonly sources: Sources;
  readonly catalogue: Pick<CatalogueKeeper, "preview">;
  readonly ownerFaults: ReturnType<typeof createOwnerCheck>;
  readonly reader: DocumentReader;
  /** Whose place a secret URI names: a tenant's, or `platform`; `undefined`: nobody's. */
  readonly secretOwner: (uri: string) => string | undefined;
}): ConfigKind => {
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
    const readText: ReadSystemText = (of, as, less) => parts.reader.system(of, as, { without: less, tenant });
    const file = await readSystem({ name: given, text, shown, read, readText, without });
    const ownerCheck =
      ({ owner, at }: OwnerAt) =>
      (by: { readonly tenant: string; readonly correlationId: string }) =>
        parts.ownerFaults({ owner, at, tenant: by.tenant, correlationId: by.correlationId });
    if ("faults" in file) {
      const { owner, ...refused } = file;
      return owner === undefined ? refused : { ...refused, check: ownerCheck(owner) };
    }
    const { name, document, yaml, refs } = file;
    const compiled = await sources.compile(file);
    const checkOwner = ownerCheck({ owner: document.owner, at: yaml.fault(["owner"], "") });
    if (compiled.kind === "degraded") return { name, faults: compiled.faults, check: checkOwner };
    const prepared: PreparedSystem = { name, compiled, file };
    const tests = testsOf(name, compiled);
    const tenants = document.tenants ?? null;
    return {
      ...place(name, prepared),
      name,
      yaml,
      refs,
      tenants,
      faults: [],
      about: { kind: document.kind, title: document.title, owner: document.owner },
      isOff: compiled.kind === "off",
      refused: () =>
        (sources.external.find((one) => one.name === name)?.refused ?? []).map(({ name: tool, reason }) => ({
          path: pointerText(["tools", tool]),
          message: `is not served: ${reason}`,
          code: "tool_refused",
        })),
      hosts: hostsOf(file),
      secrets: secretsOf(file),
      stdioServers: document.kind === "mcp" ? [document.transport.command] : [],
      unlisted: compiled.kind === "tools" ? (compiled.unlisted ?? []) : [],
      check: async (by) => {
        const others = tenants?.filter((one) => one !== by.tenant).join(", ");
        const whose = others === undefined ? "names no tenant: it would serve every tenant" : `names ${others}, which is not yours`;
        const wall = yaml.fault(["tenants"], whose, { code: "cross_tenant", hint: `tenants: [${by.tenant}]` });
        const lost =
          tenants?.includes(by.tenant) === false ? [yaml.fault(["tenants"], `does not name ${by.tenant}: you would not see it again`)] : [];
        const failed: Fault[] = [];
        for (const test of tests) {
          const wrong = await test.run();
          if (wrong !== undefined) failed.push(yaml.fault(test.path, `${test.name}: ${wrong}`, { code: "tests_failed" }));
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

/** The one tools document of Sallyport, `tools.yaml`; what further folders add to it stays theirs. */
export const toolsKind = (parts: {
  readonly catalogue: Pick<CatalogueKeeper, "preview" | "snapshot">;
  /** Of the folders behind the first one. */
  readonly layer: ToolsDocument;
  readonly hold: (document: ToolsDocument) => void;
  readonly held: () => ToolsDocument;
  readonly reader: DocumentReader;
}): ConfigKind => {
  const { catalogue, layer } = parts;
  const place = (own: ToolsDocument): Place => {
    const { document } = joinToolsDocuments([{ value: own }, { value: layer }]);
    return { preview: () => catalogue.preview({ document: () => document }), place: () => parts.hold(document) };
  };
  const prepare: ConfigKind["prepare"] = async ({ text, tenant }) => {
    const read = await parts.reader.tools(text, fileOf("tools", "tools"), { tenant });
    if ("faults" in read) return { name: "tools", ...read };
    const { value, yaml } = read;
    // Views of the further folders come first here: it is this document that names one of them twice.
    const { faults } = joinToolsDocuments([{ value: layer }, read]);
    if (faults.length > 0) return { name: "tools", faults, found: yaml.value };
    return {
      ...place(value),
      name: "tools",
      yaml,
      refs: {},
      tenants: null,
      faults: [],
      about: {},
      isOff: false,
      hosts: [],
      secrets: [],
      stdioServers: [],
      check: async (by) => {
        const short = [...value.views.entries()].filter(([, { prefix }]) => prefix === "none");
        const tools = short.length === 0 ? [] : [...place(value).preview().tools.values()];
        const unclear: Fault[] = [];
        const turn = createYielding(PIECE_MS);
        for (const [index, { filters, tenants }] of short) {
          await turn();
          const systems = systemsIn(tools, filters, tenants);
          const said = `needs tools of one system alone: these are of ${systems.map((name) => name.slice(0, -1)).join(", ")}`;
          if (systems.length > 1) unclear.push(yaml.fault(["views", index, "prefix"], said));
        }
        if (unclear.length > 0) return unclear;
        const before = parts.held();
        const viewsOf = ({ views }: ToolsDocument) => new Map(views.map((view) => [view.name, view]));
        const [had, has] = [viewsOf(before), viewsOf({ ...value, views: [...value.views, ...layer.views] })];
        const reported: Fault[] = [];
        const tell = (path: readonly (string | number)[], what: string): void => {
          const more = { code: "cross_tenant", hint: `tenants: [${by.tenant}]` };
          reported.push(yaml.fault(path, `${what} other tenants of this deployment too`, more));
        };
        for (const name of new Set([...had.keys(), ...has.keys()])) {
          const both = [had.get(name), has.get(name)];
          if (JSON.stringify(both[0]) === JSON.stringify(both[1])) continue;
          // A view that exists by itself is somebody's too.
          const replaced = both[0] === undefined ? findView(catalogue.snapshot.views, name, by.tenant) : undefined;
          const isWalled = [...both, replaced].every(
            (view) => view === undefined || (view.tenants.length > 0 && isOwn(view.tenants, by.tenant)),
          );
          const index = value.views.findIndex((view) => view.name === name);
          if (!isWalled) tell(["views", ...(index === -1 ? [] : [index, "tenants"])], `changes the view ${name}, which is for`);
        }
        const all = { ...layer.overrides, ...value.overrides };
        for (const name of new Set([...Object.keys(before.overrides), ...Object.keys(all)])) {
          if (JSON.stringify(before.overrides[name]) === JSON.stringify(all[name])) continue;
          const tool = catalogue.snapshot.tools.get(name);
          const tenants = tool === undefined ? by.tenantsOfSystem(systemOfTool(name)) : (tool.tenants ?? null);
          // It would be in force the moment that another tenant publishes such a system.
          if (tenants === undefined) reported.push(yaml.fault(["overrides", name], UNSEEN, { code: "cross_tenant" }));
          else if (!isOwn(tenants, by.tenant)) tell(["overrides", name], `changes ${name}, which serves`);
        }
        return reported;
      },
      discard: () => undefined,
    };
  };
  return { absent: () => place(emptyToolsDocument), prepare, prepareHealthy: prepare };
};
