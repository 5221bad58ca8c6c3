import { createContext, useContext } from "react";
import type { Client } from "./client.ts";

const ClientContext = createContext<Client | undefined>(undefined);

export const ClientProvider = ClientContext.Provider;

export const useClient = (): Client => {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error("no client around this component");
  return client;
};
