import type { SessionView } from "#contract/session.ts";
import { createListeners } from "../model/listeners.ts";

/** What the page knows of who is signed in. `ended`: it was signed in and is no more, so the person's place is kept. */
export type SessionState =
  | { readonly phase: "loading" }
  | { readonly phase: "failed"; readonly error: unknown }
  | { readonly phase: "signed-out" }
  | { readonly phase: "ended" }
  | { readonly phase: "signed-in"; readonly session: SignedIn };

export interface SignedIn {
  readonly subject: { readonly id: string; readonly name: string };
  readonly tenant: string;
  readonly csrfToken: string;
  readonly acr: string | undefined;
  /** Seconds since 1970. */
  readonly authTime: number | undefined;
  readonly expiresAt: string | undefined;
  /** Values of secrets may be shown here. */
  readonly canReveal: boolean;
}

export interface SessionHolder {
  state(): SessionState;
  subscribe(listener: () => void): () => void;
  /** Reads the session; all who ask while one read is under way share it. Never throws. */
  recheck(): Promise<void>;
  csrfToken(): string | undefined;
  /** The person signed out here or in another tab. */
  end(): void;
}

const signedInOf = (view: SessionView): SignedIn | undefined => {
  if (!view.authenticated || view.subject === undefined || view.tenant === undefined || view.csrf_token === undefined) return undefined;
  return {
    subject: view.subject,
    tenant: view.tenant,
    csrfToken: view.csrf_token,
    acr: view.acr,
    authTime: view.auth_time,
    expiresAt: view.expires_at,
    canReveal: view.secret_reveal === true,
  };
};

export const createSessionStore = (parts: {
  readonly read: () => Promise<SessionView>;
  /** Another person or tenant is signed in now: nothing on the page may stay. */
  readonly reload: () => void;
}): SessionHolder => {
  let state: SessionState = { phase: "loading" };
  let reading: Promise<void> | undefined;
  const { tell, subscribe } = createListeners();
  const become = (next: SessionState): void => {
    state = next;
    tell();
  };

  const settle = (view: SessionView): void => {
    const session = signedInOf(view);
    const before = state.phase === "signed-in" ? state.session : undefined;
    if (session === undefined) {
      become({ phase: before !== undefined || state.phase === "ended" ? "ended" : "signed-out" });
      return;
    }
    const changed = before !== undefined && (before.subject.id !== session.subject.id || before.tenant !== session.tenant);
    if (changed || state.phase === "ended") {
      parts.reload();
      return;
    }
    become({ phase: "signed-in", session });
  };

  const recheck = async (): Promise<void> => {
    reading ??= parts
      .read()
      .then(settle)
      .catch((error: unknown) => {
        if (state.phase !== "signed-in" && state.phase !== "ended") become({ phase: "failed", error });
      })
      .finally(() => {
        reading = undefined;
      });
    await reading;
  };

  return {
    state: () => state,
    subscribe,
    recheck,
    csrfToken: () => (state.phase === "signed-in" ? state.session.csrfToken : undefined),
    end: () => {
      if (state.phase === "signed-in") become({ phase: "ended" });
    },
  };
};
