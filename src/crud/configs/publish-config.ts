import type { SealedCursors } from "#authn/sealing/sealed-cursors.ts";
import { strongSignIn } from "#authn/model/caller.ts";
import { configKinds, configObjectKinds, type ConfigObjectKind, type ConfigWritten } from "#contract/configs.ts";
import { Problem } from "#contract/problem.ts";
import type { PdpClient } from "#pdp-client/pdp-client.ts";
import { refusalOfAct } from "#pdp-client/deployment-acts.ts";
import type { ExternalSystem } from "#crud/mcp/external-system.ts";
import type { Tool } from "#crud/tools/tool.ts";
import { createYielding } from "#http/yielding.ts";
import { secretStandings, secretWarnings, type SecretStandingParts } from "#crud/model/secret-standing.ts";
import type { ConfigStore } from "./config-store.ts";
import { folderOf, type HeldObject } from "./config-kind.ts";
import type { ConfigWrite, Written } from "./plan-write.ts";
import type { createPreview } from "./preview-impact.ts";
import type { createToolRegistrar } from "./register-tools.ts";
import { writerOf, type Asked, type Publisher } from "#crud/versions/config-events.ts";

export interface PublisherParts {
  readonly store: ConfigStore;
  readonly pdpClient: Pick<PdpClient, "require" | "decide" | "decideMany" | "refusal">;
  /** The last name, version or place of the page before. */
  readonly cursors: SealedCursors<string>;
  /** Tools of a system that the tenant sees. */
  readonly toolsOf: (system: string, tenant: string) => readonly Tool[];
  /** Those that answer by themselves. */
  readonly external: () => readonly ExternalSystem[];
  readonly register: ReturnType<typeof createToolRegistrar>;
  readonly previewImpact: ReturnType<typeof createPreview>;
  readonly secretParts: SecretStandingParts;
}

const pause = createYielding(10);

/** How long who publishes a server waits to hear what it offers, milliseconds. */
const MAX_ASKED_MS = 5000;

/** A change as an endpoint asks for it. */
export type AskedWrite = Omit<ConfigWrite, "reachRefusal">;

type Act = "view" | "edit" | "delete";
/** The pair of an act on objects of a kind. */
const pairOf = (kind: ConfigObjectKind, act: Act): { readonly type: string; readonly action: string } => {
  const { view, edit, ...row } = configKinds[kind];
  const pairs: Readonly<Record<Act, string>> = { view, edit, delete: "delete" in row ? row.delete : edit };
  const [type = "", action = ""] = pairs[act].split("/");
  return { type, action };
};

/** How every endpoint changes configuration: asked for by its pair, written, made known to the graph. */
export const createConfigPublisher = (parts: PublisherParts) => {
  const { store, pdpClient, register } = parts;
  /** The tools that serve, and what its publisher is to know of the others. */
  const servedTools = async (system: string, tenant: string): Promise<{ tools: readonly Tool[]; unheard: readonly string[] }> => {
    const external = parts.external().find(({ name }) => name === system);
    await external?.asked(MAX_ASKED_MS);
    const all = parts.toolsOf(system, tenant);
    const tools = all.filter(({ state }) => state !== "quarantined");
    const waiting = all.length - tools.length;
    const unheard = [
      ...(external?.isUp === false ? ["Its server has not answered yet: publish the same document again when it does."] : []),
      ...(waiting > 0 ? [`${waiting} of its tools wait for an approval: GET /config/definitions.`] : []),
    ];
    return { tools, unheard };
  };
  /** How the secrets stand that the document names; of a faulty one nothing is asked. */
  const tellSecrets = async (asked: Asked, { name, secrets, diff, issues = [] }: Written): Promise<readonly string[]> => {
    if (secrets.length === 0 || issues.length > 0) return [];
    const tool = parts.toolsOf(name, asked.caller.tenant)[0]?.name ?? diff.tools_added[0] ?? `${name}.any`;
    try {
      return secretWarnings(name, await secretStandings(parts.secretParts, { ...asked, tool }, secrets));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return [`Whether its secrets can be used could not be looked up (${error.code}).`];
    }
  };
  /** What a change that would be taken means beside itself. */
  const previewImpact = async ({ caller, correlationId }: Asked, { kind }: ConfigWrite, written: Written): Promise<Written> => {
    const { name, touched, issues = [], isSame } = written;
    if (issues.length > 0 || isSame) return written;
    const { diff, warnings } = await parts.previewImpact({ caller, correlationId, kind, name, touched });
    return { ...written, diff: { ...written.diff, ...diff }, warnings: [...written.warnings, ...warnings] };
  };
  /** Makes the tools of a system known to the graph, and says what else stands between it and a call. */
  const tell = async (asked: Asked, change: ConfigWrite, made: Written): Promise<Written> => {
    const written = change.isDryRun ? await previewImpact(asked, change, made) : made;
    const system = store.kinds[change.kind].systemOf?.(written.name);
    if (system === undefined) return written;
    const missing = await tellSecrets(asked, written);
    if (change.isDryRun) return { ...written, warnings: [...written.warnings, ...missing] };
    const { caller, correlationId } = asked;
    const { about = {}, tenants } = store.list(change.kind, caller.tenant).find(({ name }) => name === written.name)?.prepared ?? {};
    const isShared = tenants === null;
    // A service of many objects has the owner and the title of none.
    const of = system.service === system.tools ? about : {};
    // The same text again writes nothing; in the deployment's name it makes nothing known either.
    if (isShared && (await change.reachRefusal()) !== undefined) return { ...written, warnings: [...written.warnings, ...missing] };
    const { tools, unheard } = await servedTools(system.tools, caller.tenant);
    const reported = await register({
      caller,
      correlationId,
      system: system.service,
      about: of,
      isShared,
      removed: written.diff.tools_removed,
      tools,
    });
    return { ...written, warnings: [...written.warnings, ...unheard, ...reported, ...missing] };
  };
  const withReach = (asked: Asked, change: AskedWrite): ConfigWrite => {
    let refusal: Promise<Problem | undefined> | undefined;
    return { ...change, reachRefusal: () => (refusal ??= refusalOfAct(pdpClient, asked, store.kinds[change.kind].reach)) };
  };
  /** Throws `access_denied`, `step_up_required`. */
  const require = async (
    { caller, correlationId }: Asked,
    question: { readonly type: string; readonly action: string; readonly id: string },
  ): Promise<Publisher> => {
    const decided = await pdpClient.require(caller, question, correlationId);
    return {
      ...writerOf(caller, correlationId, decided.decisionId),
      // What starts a program of this machine is published by who has just signed in, whatever the policies ask.
      requireReach: (stdioServers) => {
        const refused = stdioServers.length === 0 ? undefined : pdpClient.refusal(caller, decided, { signIn: strongSignIn });
        if (refused !== undefined) throw refused;
      },
    };
  };
  return {
    ...parts,
    /** Files of which nobody knows whose they are, for who runs the deployment. */
    unclaimed: async (asked: Asked): Promise<readonly HeldObject[]> => {
      const found = store.unclaimed();
      const refusal = found.length === 0 ? undefined : await refusalOfAct(pdpClient, asked, "edit_systems");
      return refusal === undefined || refusal.code === "step_up_required" ? found : [];
    },
    require,
    /** As `require`, for an act on one object, or for `*` on all of its kind. */
    requireObject: (asked: Asked, act: Act, kind: ConfigObjectKind, name: string): Promise<Publisher> => {
      const pair = pairOf(kind, act);
      const isAmongOthers = pair.type === "config" && folderOf(kind) !== undefined;
      return require(asked, { ...pair, id: isAmongOthers ? `${kind}:${name}` : name });
    },
    /** As `require`, for an act on all objects of every kind; `id` is what configuration as a whole is asked for. */
    requireOfAll: async (asked: Asked, act: "view" | "edit", id: string): Promise<Publisher> => {
      const by = await require(asked, { type: "config", action: act === "view" ? "read" : "write", id });
      for (const pair of configObjectKinds.map((kind) => pairOf(kind, act)))
        if (pair.type !== "config") await require(asked, { ...pair, id: "*" });
      return by;
    },
    /** Throws as the store's `write`. */
    publish: async (asked: Asked, sent: AskedWrite): Promise<Written> => {
      const change = withReach(asked, sent);
      return tell(asked, change, await store.write(change));
    },
    /** Throws as the store's `writeAll`. */
    publishAll: async (asked: Asked, sent: readonly AskedWrite[]): Promise<readonly Written[]> => {
      const changes = sent.map((change) => withReach(asked, change));
      const written = await store.writeAll(changes);
      const reported: Written[] = [];
      for (const [at, change] of changes.entries()) {
        await pause();
        const one = written[at];
        if (one !== undefined) reported.push(one.isSame ? one : await tell(asked, change, one));
      }
      return reported;
    },
    reply: ({ name, version, etag, diff, warnings, issues }: Written): ConfigWritten => ({
      name,
      version,
      etag,
      diff,
      warnings: [...warnings],
      ...(issues === undefined ? {} : { valid: issues.length === 0, errors: [...issues] }),
    }),
  };
};
export type ConfigPublisher = ReturnType<typeof createConfigPublisher>;
