import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { getNode } from "#contract/membership.ts";
import { useEndpoint } from "../../api/use-endpoint.ts";
import { Who } from "../../ui/who.tsx";

/** A person, group or agent by name; by the id where the name is not for the reader. */
export const useName = (id: string | null): string | undefined => {
  const query = useQuery({
    ...useEndpoint(getNode).query({ params: { node_id: id ?? "" } }),
    enabled: id !== null,
    retry: false,
    staleTime: 300_000,
  });
  return query.data?.display_name ?? query.data?.name;
};

export const Person = ({ id }: { readonly id: string }): ReactElement => <Who id={id} name={useName(id)} isShort />;
