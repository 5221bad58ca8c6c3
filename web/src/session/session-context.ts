import { useSyncExternalStore } from "react";
import { requiredContext } from "../model/required-context.ts";
import type { SessionState, SessionHolder, SignedIn } from "./session-store.ts";

export const [SessionStoreProvider, useSessionStore] = requiredContext<SessionHolder>("session");

export const useSessionState = (): SessionState => {
  const store = useSessionStore();
  return useSyncExternalStore(store.subscribe, store.state);
};

/** The signed-in person; only inside what is drawn for one. */
export const useSession = (): SignedIn => {
  const state = useSessionState();
  if (state.phase !== "signed-in") throw new Error("nobody is signed in");
  return state.session;
};
