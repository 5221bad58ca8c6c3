import type { Caller } from "#authn/caller.ts";
import type { SealedCursors } from "#authn/sealed-cursors.ts";
import type { ConfigWritten } from "#contract/configs.ts";
import type { Decider } from "#decide/decider.ts";
import type { Tool } from "#crud/mcp/tool.ts";
import type { ConfigStore, ConfigWrite, Written } from "./config-store.ts";
import type { createToolRegistrar } from "./register-tools.ts";
import { writerOf, type Writer } from "./tell.ts";

export interface PublisherParts {
  readonly store: ConfigStore;
  readonly decider: Pick<Decider, "require">;
  /** The last name, version or place of the page before. */
  readonly cursors: SealedCursors<string>;
  /** Tools of a system that the tenant sees. */
  readonly toolsOf: (system: string, tenant: string) => readonly Tool[];
  readonly register: ReturnType<typeof createToolRegistrar>;
}

export interface Asked {
  readonly caller: Caller;
  readonly correlationId: string;
}

/** How every endpoint changes configuration: asked for by its pair, written, made known to the graph. */
export interface ConfigPublisher extends PublisherParts {
  /** Throws `access_denied`. */
  require(asked: Asked, type: "system" | "config", action: string, id: string): Promise<Writer>;
  /** Throws as the store's `write`. */
  publish(asked: Asked, change: ConfigWrite): Promise<Written>;
  reply(written: Written): ConfigWritten;
}

export const createConfigPublisher = (parts: PublisherParts): ConfigPublisher => {
  const { store, decider, toolsOf, register } = parts;
  return {
    ...parts,
    require: async ({ caller, correlationId }, type, action, id) => {
      const { decisionId } = await decider.require(caller, { type, action, id }, correlationId);
      return writerOf(caller, correlationId, decisionId);
    },
    publish: async ({ caller, correlationId }, change) => {
      const written = await store.write(change);
      if (change.isDryRun || change.kind !== "system") return written;
      const about = store.list("system", caller.tenant).find(({ name }) => name === written.name)?.prepared?.about ?? {};
      const tools = toolsOf(written.name, caller.tenant);
      const told = await register({ caller, correlationId, about, system: written.name, removed: written.diff.tools_removed, tools });
      return { ...written, warnings: [...written.warnings, ...told] };
    },
    reply: ({ name, version, etag, diff, warnings, faults }) => ({
      name,
      version,
      etag,
      diff,
      warnings: [...warnings],
      ...(faults === undefined ? {} : { valid: faults.length === 0, errors: [...faults] }),
    }),
  };
};
