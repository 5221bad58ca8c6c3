import { logout } from "#contract/session.ts";
import type { Client } from "../api/client.ts";
import { forgetDrafts } from "../session/drafts.ts";

const CHANNEL = "sallyport";

/** Ends the session at the gateway, tells the other tabs, forgets what this tab kept. Throws when it did not work. */
export const signOut = async (client: Client, everywhere: boolean): Promise<void> => {
  const ended = await client.ask(logout, { body: everywhere ? { everywhere: true } : {} });
  forgetDrafts(sessionStorage);
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage({ type: "signed_out" });
  channel.close();
  const url = ended.end_session_url;
  location.assign(url !== undefined && /^https?:\/\//.test(url) ? url : "/");
};

/** Calls back when another tab signed out; returns how to stop listening. */
export const onSignOutElsewhere = (run: () => void): (() => void) => {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener("message", run);
  return () => channel.close();
};
