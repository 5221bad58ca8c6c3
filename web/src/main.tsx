import { styleNonce } from "./model/harden.ts";
import "./theme/mantine.css";
import "./theme/tokens.css";
import "./theme/app.css";
import { QueryClient } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { ask } from "#contract/ask.ts";
import { getSession } from "#contract/session.ts";
import { createBrowserPeer } from "./api/browser-peer.ts";
import { createClient } from "./api/client.ts";
import { sendBatch } from "./api/decisions.ts";
import { App } from "./app.tsx";
import { createDecisionLoader } from "./decisions/decision-loader.ts";
import { createSessionStore } from "./session/session-store.ts";

const newId = (): string => crypto.randomUUID();

const session = createSessionStore({
  read: async () => await ask(peer, getSession, { baseUrl: location.origin }),
  reload: () => location.reload(),
});

const peer = createBrowserPeer({
  fetch: async (input, init) => await fetch(input, init),
  session,
  newId,
  sleep: async (milliseconds) => await new Promise((resolve) => setTimeout(resolve, milliseconds)),
  random: Math.random,
});

const client = createClient({ peer, origin: location.origin, newId });
const decide = createDecisionLoader(async (items) => await sendBatch(client, items));

/** The peer repeats what may be repeated; here nothing is, and nothing waits for the browser's idea of being online. */
const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, networkMode: "always", staleTime: 5_000, refetchOnWindowFocus: true },
    mutations: { retry: false, networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (root !== null)
  createRoot(root).render(<App session={session} client={client} decide={decide} queries={queries} styleNonce={styleNonce} />);
void session.recheck();
