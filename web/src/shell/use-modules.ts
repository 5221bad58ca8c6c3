import { useQuery } from "@tanstack/react-query";
import { uiConfig } from "#contract/tools.ts";
import { useClient } from "../api/client-context.ts";

/** Module switches and names of this house, for this person; `undefined` while they are read. A missing key is off. */
export const useUi = ():
  | { readonly modules: Readonly<Record<string, boolean>>; readonly brand: Readonly<Record<string, string>> }
  | undefined => {
  const client = useClient();
  const query = useQuery({
    queryKey: ["ui"],
    queryFn: async ({ signal }) => await client.ask(uiConfig, { signal }),
    staleTime: 60_000,
  });
  if (query.data !== undefined) return query.data;
  return query.isError ? { modules: {}, brand: {} } : undefined;
};
