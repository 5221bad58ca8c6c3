import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, type ReactElement } from "react";
import { ClientProvider } from "./api/client-context.ts";
import type { Client } from "./api/client.ts";
import { DecisionContext, type LoadDecision } from "./decisions/decisions-context.ts";
import { LiveProvider } from "./live/live-provider.tsx";
import { router } from "./routes.tsx";
import { SessionStoreProvider, useSessionState } from "./session/session-context.ts";
import type { SessionHolder } from "./session/session-store.ts";
import { onSignOutElsewhere } from "./shell/sign-out.ts";
import { Ended, OpeningPage, SessionUnknown, SignedOut } from "./shell/doorstep.tsx";
import { WaitingProvider } from "./shell/waiting-provider.tsx";
import { cssVariables, theme } from "./theme/theme.ts";
import { Boundary } from "./ui/panel.tsx";

export interface AppProps {
  readonly session: SessionHolder;
  readonly client: Client;
  readonly decide: LoadDecision;
  readonly queries: QueryClient;
  readonly styleNonce: () => string;
}

const Inside = ({ session, queries }: Pick<AppProps, "session" | "queries">): ReactElement => {
  const state = useSessionState();
  useEffect(() => onSignOutElsewhere(() => void session.recheck()), [session]);
  useEffect(() => {
    // Whoever looks at this screen next must not find what the last person saw.
    if (state.phase === "ended" || state.phase === "signed-out") queries.clear();
  }, [state.phase, queries]);
  switch (state.phase) {
    case "loading":
      return <OpeningPage />;
    case "failed":
      return <SessionUnknown onRetry={() => void session.recheck()} />;
    case "signed-out":
      return <SignedOut />;
    case "ended":
      return <Ended />;
    case "signed-in":
      return (
        <LiveProvider>
          <WaitingProvider>
            <RouterProvider router={router} />
          </WaitingProvider>
        </LiveProvider>
      );
  }
};

export const App = ({ session, client, decide, queries, styleNonce }: AppProps): ReactElement => (
  <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto" getStyleNonce={styleNonce}>
    <Notifications position="bottom-right" />
    <Boundary>
      <SessionStoreProvider value={session}>
        <ClientProvider value={client}>
          <QueryClientProvider client={queries}>
            <DecisionContext value={decide}>
              <Inside session={session} queries={queries} />
            </DecisionContext>
          </QueryClientProvider>
        </ClientProvider>
      </SessionStoreProvider>
    </Boundary>
  </MantineProvider>
);
