import { createContext, useContext, useSyncExternalStore } from "react";
import type { SessionState, SessionHolder, SignedIn } from "./session-store.ts";

const StoreContext = createContext<SessionHolder | undefined>(undefined);

export const SessionStoreProvider = StoreContext.Provider;

export const useSessionStore = (): SessionHolder => {
  const store = useContext(StoreContext);
  if (store === undefined) throw new Error("no session around this component");
  return store;
};

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
