import { useQuery } from "@tanstack/react-query";
import { uiConfig } from "#contract/tools.ts";
import { useEndpoint } from "../api/use-endpoint.ts";

/** Module switches and names of this deployment, for this person; `undefined` while they are read. A missing key is off. */
export const useUi = ():
  | { readonly modules: Readonly<Record<string, boolean>>; readonly brand: Readonly<Record<string, string>> }
  | undefined => {
  const query = useQuery({ ...useEndpoint(uiConfig).query(), staleTime: 60_000 });
  if (query.data !== undefined) return query.data;
  return query.isError ? { modules: {}, brand: {} } : undefined;
};
