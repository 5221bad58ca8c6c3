import { Button, Loader } from "@mantine/core";
import { useEffect, type ReactElement, type ReactNode } from "react";
import { signInPath } from "../session/step-up.ts";
import { words } from "../strings/en.ts";
import { Sign } from "../ui/icon.tsx";
import { useDelayed } from "../ui/timers.ts";

const here = (): string => location.pathname + location.search;

const signIn = (): void => location.assign(signInPath(here()));

/** Before anybody is known: the product's name, one sentence, one button. */
const Welcome = ({ children }: { readonly children: ReactNode }): ReactElement => (
  <main className="sp-center">
    <div className="sp-welcome">
      <Sign size={44} />
      <h1>{words.product}</h1>
      {children}
    </div>
  </main>
);

export const SignedOut = (): ReactElement => {
  useEffect(() => {
    document.title = words.product;
  }, []);
  return (
    <Welcome>
      <p>{words.signedOut.sentence}</p>
      <Button size="sm" onClick={signIn}>
        {words.signedOut.signIn}
      </Button>
    </Welcome>
  );
};

/** The session is over; what was being filled in is kept, and the way leads back to the same place. */
export const Ended = (): ReactElement => (
  <main className="sp-center">
    <div className="sp-welcome sp-panel" role="alertdialog" aria-labelledby="ended-title" aria-describedby="ended-text">
      <h1 id="ended-title">{words.ended.title}</h1>
      <p id="ended-text">{words.ended.sentence}</p>
      <Button size="sm" autoFocus onClick={signIn}>
        {words.ended.signIn}
      </Button>
    </div>
  </main>
);

export const SessionUnknown = ({ onRetry }: { readonly onRetry: () => void }): ReactElement => (
  <Welcome>
    <p role="alert">{words.signedOut.failed}</p>
    <Button size="sm" variant="default" onClick={onRetry}>
      {words.common.retry}
    </Button>
  </Welcome>
);

export const OpeningPage = (): ReactElement => {
  const isLate = useDelayed(true, 300);
  return <main className="sp-center">{isLate ? <Loader aria-label={words.common.loading} /> : null}</main>;
};
