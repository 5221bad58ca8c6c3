import { z } from "zod";
import { Problem } from "#contract/problem.ts";
import { fetchBounded } from "./read-bounded.ts";

/** Where a decision point takes questions. */
export interface PointEndpoints {
  readonly evaluation: URL;
  /** Absent: it takes one at a time. */
  readonly evaluations?: URL;
}

/** What answers there is not the decision point that is configured: no waiting mends it. */
export class MetadataRefused extends Error {
  override readonly name = "MetadataRefused";
}

export interface Discovery {
  /** Throws `pdp_unavailable` when nobody answers, `pdp_bad_answer` when somebody else does. Asked once, then known. */
  endpoints(): Promise<PointEndpoints>;
  /** As `endpoints`, but throws `MetadataRefused` for somebody else, and asks anew even if known. */
  look(): Promise<PointEndpoints>;
}

const MAX_BYTES = 65_536;

const metadata = z.looseObject({
  policy_decision_point: z.string(),
  access_evaluation_endpoint: z.string(),
  access_evaluations_endpoint: z.string().optional(),
});

/** The well-known part goes between host and path, as for every issuer. */
const addressOf = (identifier: string): URL => {
  const address = new URL(identifier);
  const path = address.pathname.replace(/\/$/, "");
  return new URL(`/.well-known/authzen-configuration${path}`, address.origin);
};

/** Reads where a decision point takes its questions, from nowhere but its own metadata. */
export const createDiscovery = (parts: { readonly identifier: string; readonly timeoutMs: number }): Discovery => {
  const { identifier } = parts;
  const { origin } = new URL(identifier);
  const where = addressOf(identifier);
  let known: PointEndpoints | undefined;
  let looking: Promise<PointEndpoints> | undefined;

  const endpoint = (name: string, text: string): URL => {
    const address = URL.canParse(text) ? new URL(text) : undefined;
    if (address === undefined || address.origin !== origin || address.username !== "" || address.password !== "" || address.hash !== "")
      throw new MetadataRefused(`${where.href}: ${name} is not an address of ${origin}`);
    return address;
  };

  const read = async (): Promise<PointEndpoints> => {
    const unavailable = (cause: unknown): Problem => new Problem("pdp_unavailable", { cause, headers: { "retry-after": "1" } });
    const answer = await fetchBounded(
      where,
      { headers: { accept: "application/json" } },
      { timeoutMs: parts.timeoutMs, maxBytes: MAX_BYTES },
    ).catch((cause: unknown) => {
      throw cause instanceof RangeError ? new MetadataRefused(cause.message) : unavailable(cause);
    });
    if (answer.status === 429 || answer.status >= 500) throw unavailable({ status: answer.status });
    if (answer.status !== 200) throw new MetadataRefused(`${where.href} answered with ${answer.status}`);
    let value: unknown;
    try {
      value = JSON.parse(answer.text);
    } catch {
      throw new MetadataRefused(`${where.href} is not JSON`);
    }
    const said = metadata.safeParse(value);
    if (!said.success) throw new MetadataRefused(`${where.href} is not the metadata of a decision point`);
    if (said.data.policy_decision_point !== identifier)
      throw new MetadataRefused(`${where.href} says it is ${said.data.policy_decision_point.slice(0, 256)}, not ${identifier}`);
    const many = said.data.access_evaluations_endpoint;
    return {
      evaluation: endpoint("access_evaluation_endpoint", said.data.access_evaluation_endpoint),
      evaluations: many === undefined ? undefined : endpoint("access_evaluations_endpoint", many),
    };
  };

  /** Everybody who waits for it waits for the same answer. */
  const look = (): Promise<PointEndpoints> => {
    looking ??= read()
      .then((found) => (known = found))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  return {
    look,
    endpoints: async () => {
      if (known !== undefined) return known;
      try {
        return await look();
      } catch (cause) {
        throw cause instanceof MetadataRefused ? new Problem("pdp_bad_answer", { cause }) : cause;
      }
    },
  };
};
