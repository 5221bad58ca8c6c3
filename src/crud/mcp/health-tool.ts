import { builtInTools } from "#pdp-client/pairs.ts";
import { createBuiltInTool } from "./built-in-tool.ts";
import type { Definition, Tool } from "#crud/tools/tool.ts";

export type HealthChecks = () => Promise<Readonly<Record<string, "up" | "down">>>;

const definition: Omit<Definition, "annotations"> = {
  name: builtInTools.health,
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
};

/** The tool that is in every view and costs nothing. */
export const createHealthTool = (parts: { readonly version: string; readonly checks: HealthChecks }): Tool =>
  createBuiltInTool(definition, async (call) => {
    const checks = await parts.checks();
    const status = Object.values(checks).every((state) => state === "up") ? "ok" : "degraded";
    return {
      value: { status, version: parts.version, time: call.now.toISOString(), ...(call.arguments["verbose"] === true ? { checks } : {}) },
    };
  });
