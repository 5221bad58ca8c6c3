import type { z } from "zod";
import { configKinds, configObjectKinds, type ConfigObjectKind } from "#contract/configs.ts";
import type { Issue, ProblemCode } from "#contract/problem.ts";
import type { DeploymentAction } from "#pdp-client/deployment-acts.ts";
import type { YamlDocument } from "#parsing/yaml-document.ts";
import type { Snapshot } from "#crud/tools/catalogue.ts";
import type { ToolTest } from "#crud/tools/tool.ts";
import type { ReadReference, References } from "#crud/systems/load-systems.ts";
import type { OwnerAt } from "#crud/systems/read-system-text.ts";
import type { PublishScope, TenantsOfSystem } from "./publish-scope.ts";
import type { StoredHead } from "#crud/versions/version-store.ts";

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
  readonly issues: readonly Issue[];
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
  check(by: PublishScope): Promise<readonly Issue[]>;
  /** What its publisher is to know of the catalogue as it would be. */
  readonly warnings?: (next: Snapshot, tenant: string) => readonly string[];
  /** Its tests, operation by operation; a document without has none. */
  readonly tests?: readonly OperationTest[];
  /** What its upstream offers and is not served, as it is now. */
  readonly refused?: () => readonly Issue[];
  /** What it could not do since: shown, and it serves on. */
  readonly problems?: () => readonly Issue[];
  /** It will not be placed. */
  discard(): void;
}

/** What could not serve as it stands there. */
export interface Refused {
  readonly name: string;
  readonly issues: readonly Issue[];
  /** What stands there, of a document that holds parts of several tenants. */
  readonly found?: unknown;
  /** Issues besides, that are looked for only as it is published. */
  check?(by: PublishScope): Promise<readonly Issue[]>;
}

export const isPrepared = (found: Prepared | { readonly issues: readonly Issue[] }): found is Prepared => "place" in found;

export interface Document {
  /** Undefined: what the document says of itself. */
  readonly name: string | undefined;
  readonly text: string;
  readonly read: ReadReference;
  /** Who writes it: documents of several tenants are read in turns. */
  readonly tenant?: string;
}

/** A text up to the shape of its kind, or its issues with the name and the owner that it states, where these can be read. */
export type ReadText<Value> =
  | { readonly value: Value; readonly yaml: YamlDocument }
  | { readonly issues: readonly Issue[]; readonly found?: unknown; readonly name?: string; readonly owner?: OwnerAt };

/** Reads a text, a large one in a thread. `without`: operations that are passed over. Throws `busy`. */
export type ReadDocument<Value> = (
  text: string,
  shown: string,
  more?: { readonly without?: readonly string[] | undefined; readonly tenant?: string | undefined },
) => Promise<ReadText<Value>>;

interface Parsed {
  readonly text: string;
  readonly value: unknown;
}

/** What each tenant sees of a document that holds parts of several. The rest exists for no answer and for no change of that tenant. */
export interface TenantShare {
  /** A document as the tenant sees it; undefined: all of it. */
  partFor(value: unknown, tenant: string): { readonly value: unknown; readonly text: string; readonly tag: string } | undefined;
  /** An object as the tenant sees it; of one whose newest version does not load, what serves. */
  objectFor(object: HeldObject, tenant: string): HeldObject;
  /** The whole document with what the tenant wrote in place of what it saw. */
  join(whole: Parsed, mine: Parsed, tenant: string): string;
  /** What of a tenant's document stands where others have something. */
  conflicts(whole: unknown, mine: YamlDocument, tenant: string): readonly Issue[];
  /** Those of the tenants that see a difference between two documents; null: all of them. */
  changedFor(before: Parsed, after: Parsed, all: readonly string[]): readonly string[] | null;
}

/** How objects of a kind are prepared. */
export interface Preparation {
  prepare(document: Document): Promise<Prepared | Refused>;
  /** What of a faulty document can serve; where its issues cannot be told apart, as `prepare`. */
  prepareHealthy(document: Document): Promise<Prepared | Refused>;
  /** What is where there is no such object. */
  absent(name: string): Place;
}

/**
 * One kind of configuration object, whole: what is stored, served, archived, watched and documented of it derives from here and from its row
 * in the contract. `Parts`: what its preparation needs.
 */
export interface ConfigKind<Value, Parts> {
  readonly kind: ConfigObjectKind;
  /** Its page of the reference: what it is of, and shipped files that are examples. */
  readonly manual: { readonly title: string; readonly about: string; readonly shown: readonly string[] };
  /** The shape of a document; where its `kind` decides that, the shape of each. */
  readonly schema: Readonly<Record<string, z.ZodType>>;
  /** What whoever changes an object of several tenants must be permitted. */
  readonly reach: DeploymentAction;
  /** The code of a refusal for issues of a document; `unprocessable` unless given. */
  readonly refusal?: ProblemCode;
  /** The system whose tools an object gives, and the service that the registry has for it; absent: its objects give none. */
  readonly systemOf?: (name: string) => { readonly tools: string; readonly service: string };
  /** Reads a text up to its shape; all that it needs is in the text, for large ones are read in a thread. */
  read(text: string, shown: string, without?: readonly string[]): ReadText<Value>;
  /** Of a kind whose one document holds parts of several tenants. */
  readonly share?: (tenantsOfSystem: TenantsOfSystem) => TenantShare;
  open(parts: Parts, read: ReadDocument<Value>): Preparation;
}

/** A kind as this process serves it. */
export interface OpenKind extends Preparation, Pick<ConfigKind<unknown, never>, "kind" | "reach" | "refusal" | "systemOf" | "share"> {
  readonly read: ReadDocument<unknown>;
}

/** An object as this process holds it. */
export interface HeldObject {
  readonly kind: ConfigObjectKind;
  readonly name: string;
  /** The version in force; absent where only a file that does not load has this name. */
  readonly head?: StoredHead | undefined;
  /** Whom a file that does not load names as its tenants, where there is no head; absent: nobody knows. */
  readonly tenants?: readonly string[] | undefined;
  /** What serves, and of which version it is: of none where it is what of a faulty file can serve. */
  readonly prepared?: Prepared | undefined;
  readonly serving: number | null;
  /** Why the version in force, or the file on disk, is not what serves. */
  readonly issues: readonly Issue[];
  /** The document that the issues are of, if it holds parts of several tenants and could be read. */
  readonly found?: unknown;
}

export const keyOf = (kind: string, name: string): string => `${kind}/${name}`;

/** True where it serves nobody but the tenant, now and later: what names no tenant serves all that will ever be. */
export const isOwn = (tenants: readonly string[] | null, tenant: string): boolean =>
  tenants !== null && tenants.every((one) => one === tenant);

/** The folder of a kind's documents; undefined: it has one document. */
export const folderOf = (kind: ConfigObjectKind): string | undefined => {
  const row = configKinds[kind];
  return "plural" in row ? row.plural : undefined;
};

/** Where an object lies in a configuration folder. */
export const fileOf = (kind: ConfigObjectKind, name: string): string => {
  const folder = folderOf(kind);
  return folder === undefined ? `${kind}.yaml` : `${folder}/${name}.yaml`;
};

/** The object that a path names: of a kind with one object its parameters name none. */
export const nameIn = (params: object | undefined, kind: ConfigObjectKind): string =>
  params !== undefined && "name" in params ? String(params.name) : kind;

/** Where it is read and changed over HTTP. */
export const addressOf = (kind: ConfigObjectKind, name: string): string => configKinds[kind].endpoints.read.path.replace("{name}", name);

/** The kind and name of a path below a configuration folder; undefined: no document lies there. */
export const objectAt = (path: string): { readonly kind: ConfigObjectKind; readonly name: string } | undefined => {
  const name = path.replace(/^[^/]*\//, "").replace(/\.yaml$/, "");
  const kind = configObjectKinds.find((one) => fileOf(one, folderOf(one) === undefined ? one : name) === path && !name.includes("/"));
  return kind === undefined ? undefined : { kind, name };
};
