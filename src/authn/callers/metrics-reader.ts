import { endpoint } from "#contract/endpoint.ts";
import { Problem } from "#contract/problem.ts";
import { z } from "zod";
import type { Authenticate } from "./authenticate.ts";

const exposition = endpoint("pdp", "GET", "/metrics", {
  reply: z.unknown(),
  auth: "bearer",
  agents: "never",
  scope: ["metrics.read"],
  summary: "Prometheus' text exposition.",
});

/** Refuses whoever may not read a service's metrics from elsewhere: a token of scope `metrics.read` is needed. */
export const createMetricsReader =
  (authenticate: Authenticate) =>
  async (request: Request): Promise<unknown> => {
    if (!request.headers.has("authorization"))
      throw new Problem("access_denied", { detail: "Metrics are for this machine, or for a token with scope metrics.read." });
    return authenticate(request, exposition);
  };
