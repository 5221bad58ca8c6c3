import { createCarriedTrace } from "./carried-trace.ts";
import type { Telemetry, TelemetryParts } from "./telemetry.ts";

/** Opens what leaves Sallyport as telemetry. A collector that is away is never felt: neither here nor later. */
export const openTelemetry = async (parts: TelemetryParts): Promise<Telemetry> => {
  const { endpoint } = parts;
  if (endpoint === undefined) return { tracing: createCarriedTrace(), mirror: undefined, [Symbol.asyncDispose]: async () => {} };
  const { openOtlp } = await import("./otlp.ts");
  return openOtlp({ ...parts, endpoint });
};
