import { z } from "zod";
import type { Issue } from "#contract/problem.ts";
import { flag, plainAddresses, setting, type Environment, type SettingsOf, type SettingTable } from "#contract/setting.ts";

const isCollector = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname, search, username } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && pathname === "/" && search === "" && username === "";
};

/** Settings of what leaves Sallyport as telemetry. */
export const telemetrySettings = {
  telemetryEnabled: setting("TELEMETRY_ENABLED", flag(), {
    description: "false: no traces and metrics are sent, whatever OTLP_ENDPOINT says. Logs and /metrics are not meant.",
    default: "true",
  }),
  otlpEndpoint: setting(
    "OTLP_ENDPOINT",
    z.string().refine(isCollector, "must be like http://localhost:4317 or https://host:4317").optional(),
    {
      description: "OTLP gRPC collector for traces and metrics; https = TLS. Unset: nothing is sent.",
    },
  ),
  traceSampleRatio: setting(
    "TRACE_SAMPLE_RATIO",
    z
      .string()
      .regex(/^(?:0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)$/, "must be 0 to 1")
      .transform(Number)
      .optional() as unknown as z.ZodType<number | undefined>,
    { description: "Part of the requests that are traced. Unset: 1 in dev and test, else 0.1." },
  ),
} satisfies SettingTable;

/** What no single row can say: in production telemetry leaves the machine over TLS alone. */
export const telemetryIssues = (config: SettingsOf<typeof telemetrySettings>, environment: Environment): readonly Issue[] =>
  plainAddresses({ OTLP_ENDPOINT: config.telemetryEnabled ? config.otlpEndpoint : undefined }, environment);
