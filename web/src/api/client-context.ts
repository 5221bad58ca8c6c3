import { requiredContext } from "../model/required-context.ts";
import type { Client } from "./client.ts";

export const [ClientProvider, useClient] = requiredContext<Client>("client");
