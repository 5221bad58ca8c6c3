import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { AskOptions } from "#contract/ask.ts";
import type { Endpoint, SentQuery } from "#contract/endpoint.ts";
import { useClient } from "./client-context.ts";
import { nextOf, type Page } from "./queries.ts";

/** First member of a query's key: acts and live events name it to have the query read again. */
export const rootOf = ({ path }: Endpoint): string => {
  const [root = path] =
    /delegations|nodes|decisions|policies|requests|tools|secrets?|systems|definitions|imports|workflows|tasks|waiting/.exec(path) ?? [];
  if (root === "secret") return "secrets";
  return root === "definitions" || root === "imports" ? "systems" : root;
};

/** An endpoint of the contract for a component: called once, as a query, or page by page as far as somebody wants to see. */
export const useEndpoint = <E extends Endpoint>(endpoint: E) => {
  const client = useClient();
  const keyOf = (kind: string, options: AskOptions<E> | undefined) => [rootOf(endpoint), kind, endpoint.path, options] as const;
  return {
    ask: async (options?: AskOptions<E>) => await client.ask(endpoint, options),
    /** The reply as it is; no longer waited for once nobody looks at it. */
    query: (options?: AskOptions<E>) =>
      queryOptions({
        queryKey: keyOf("one", options),
        queryFn: async ({ signal }) => await client.ask(endpoint, { ...options, signal }),
      }),
    pages: (options?: AskOptions<E>) =>
      infiniteQueryOptions({
        queryKey: keyOf("pages", options),
        queryFn: async ({ pageParam, signal }) => {
          const query = { ...(options?.query as object | undefined), cursor: pageParam || undefined } as SentQuery<E>;
          return await client.ask(endpoint, { ...options, query, signal });
        },
        initialPageParam: "",
        getNextPageParam: (page) => nextOf(page as Page),
      }),
  };
};
