import { metadata, metadataKeys } from "#contract/authzen.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import { answer, type Router } from "#http/serve.ts";
import type { Caller } from "#authn/model/caller.ts";
import type { Bundle } from "#pdp/bundle/bundle.ts";
import type { MetadataKey } from "#pdp/endpoints/metadata-key.ts";

export interface MetadataParts {
  readonly publicUrl: string;
  /** `undefined`: another decision point decides, of which only evaluations are served. */
  readonly bundle: () => Bundle | undefined;
  readonly key: MetadataKey;
}

/** Members of the metadata by the path that serves them: only what is served is named. */
const endpointMembers: Readonly<Record<string, string>> = {
  "/access/v1/evaluation": "access_evaluation_endpoint",
  "/access/v1/evaluations": "access_evaluations_endpoint",
  "/access/v1/search/subject": "search_subject_endpoint",
  "/access/v1/search/resource": "search_resource_endpoint",
  "/access/v1/search/action": "search_action_endpoint",
  "/access/v1/requests": "access_request_endpoint",
};

const obligationsOf = (bundle: Bundle): Pick<ReplyOf<typeof metadata>, "supported_obligations"> => {
  const declared = new Map(
    [...bundle.obligations].map(([name, { id = name, type, properties }]) => [
      id,
      { id, type, ...(typeof properties["kind"] === "string" ? { kind: properties["kind"] } : {}) },
    ]),
  );
  // As the standard has it, a list of nothing is left out.
  return declared.size === 0 ? {} : { supported_obligations: [...declared.values()] };
};

/** Where the endpoints of this decision point are, which obligations it may set, and its signature under that. */
export const serveMetadata = (router: Router<Caller>, parts: MetadataParts): void => {
  const base = parts.publicUrl.replace(/\/$/, "");
  let signed: { readonly text: string; readonly jwt: string } | undefined;

  router.serve(metadata, async () => {
    const bundle = parts.bundle();
    const endpoints = router.served.flatMap(({ method, path }) => {
      const member = method === "POST" ? endpointMembers[path] : undefined;
      return member === undefined || (bundle === undefined && !member.startsWith("access_evaluation"))
        ? []
        : [[member, `${base}${path}`] as const];
    });
    const plain = {
      policy_decision_point: base,
      ...(Object.fromEntries(endpoints) as Pick<ReplyOf<typeof metadata>, "access_evaluation_endpoint" | "access_evaluations_endpoint">),
      ...(bundle === undefined ? {} : obligationsOf(bundle)),
      jwks_uri: `${base}${metadataKeys.path}`,
    };
    const text = JSON.stringify(plain);
    if (signed?.text !== text) signed = { text, jwt: await parts.key.sign(plain, base) };
    return answer({ ...plain, signed_metadata: signed.jwt }, { headers: { "cache-control": "public, max-age=60" } });
  });
  router.serve(metadataKeys, async () =>
    answer({ keys: parts.key.jwks.keys.map((key) => ({ ...key })) }, { headers: { "cache-control": "public, max-age=300" } }),
  );
};
