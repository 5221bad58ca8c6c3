import { metadata } from "#contract/authzen.ts";
import type { Router } from "#http/serve.ts";
import type { Caller } from "#authn/caller.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";

/** Where the endpoints of this decision point are, and which obligations it may set. */
export const serveMetadata = (router: Router<Caller>, parts: { readonly publicUrl: string; readonly bundle: Bundle }): void => {
  const base = parts.publicUrl.replace(/\/$/, "");
  router.serve(metadata, async () => ({
    policy_decision_point: base,
    access_evaluation_endpoint: `${base}/access/v1/evaluation`,
    access_evaluations_endpoint: `${base}/access/v1/evaluations`,
    supported_obligations: [...parts.bundle.obligations].map(([id, { type, properties }]) => ({
      id,
      type,
      ...(typeof properties["kind"] === "string" ? { kind: properties["kind"] } : {}),
    })),
    capabilities: [],
  }));
};
