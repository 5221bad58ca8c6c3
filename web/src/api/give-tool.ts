import { putGraphEdge } from "#contract/graph-edit.ts";
import { useEndpoint } from "./use-endpoint.ts";

export interface Gift {
  readonly kind: "GRANTS_ACCESS" | "HAS_CAPABILITY";
  /** A person, group or agent. */
  readonly to: string;
  readonly tool: string;
  readonly by: string;
  readonly reason: string;
  /** The definition for which an agent gets it. */
  readonly digest: string;
}

/** Lets a person, or whoever is in a group, call a tool; or gives it to an agent for the definition of the digest alone. */
export const useGiveTool = () => {
  const put = useEndpoint(putGraphEdge);
  return async ({ kind, to, tool, by, reason, digest }: Gift) =>
    await put.ask({
      params: { kind, src: to, dst: tool },
      query: {},
      body: kind === "HAS_CAPABILITY" ? { props: { granted_by: by }, reason, digest } : { props: {}, reason },
    });
};
