import { prepareSchema } from "#documents/foreign-schema.ts";
import { sha256Of } from "./digest.ts";
import { HEALTH, underscoreOf } from "./names.ts";
import type { Definition, Tool } from "./tool.ts";

export type HealthChecks = () => Promise<Readonly<Record<string, "up" | "down">>>;

const definition: Definition = {
  name: HEALTH,
  title: "Health",
  description: "Says whether the tool server is well; verbose adds its parts.",
  inputSchema: {
    type: "object",
    properties: { verbose: { type: "boolean", description: "Also the parts." } },
    additionalProperties: false,
  },
  outputSchema: {
    type: "object",
    required: ["status", "version", "time"],
    properties: {
      status: { type: "string", enum: ["ok", "degraded"] },
      version: { type: "string" },
      time: { type: "string", format: "date-time" },
      checks: { type: "object", additionalProperties: { type: "string" } },
    },
  },
  annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
};

/** The tool that is in every view and costs nothing. */
export const createHealthTool = (parts: { readonly version: string; readonly checks: HealthChecks }): Tool => ({
  name: HEALTH,
  underscore: underscoreOf(HEALTH),
  definition,
  digest: sha256Of(definition),
  source: "system",
  provider: "system",
  instance: "health",
  state: "serving",
  isBuiltIn: true,
  checkArguments: prepareSchema(definition.inputSchema),
  rules: { scopes: [], mappings: [], masks: [], timeoutMs: 5000, reserveMicro: 0n, isReadOnly: true, isDestructive: false },
  connector: async (call) => {
    const checks = await parts.checks();
    const status = Object.values(checks).every((state) => state === "up") ? "ok" : "degraded";
    return {
      value: { status, version: parts.version, time: call.now.toISOString(), ...(call.arguments["verbose"] === true ? { checks } : {}) },
    };
  },
});
