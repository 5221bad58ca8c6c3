import { Button } from "@mantine/core";
import type { RouteComponent } from "@tanstack/react-router";
import { useEffect, useState, type ComponentType, type ReactElement } from "react";
import { words } from "../strings/en.ts";
import { Page } from "../ui/page.tsx";
import { Waiting } from "../ui/query-view.tsx";

const isReachable = async (): Promise<boolean> => {
  try {
    return (await fetch("/", { method: "HEAD", cache: "no-store" })).ok;
  } catch {
    return false;
  }
};

const RELOADED = "sp.reloaded-for-page";

/** Sallyport may have been renewed since this was opened, and have other files now: once, the app is loaded anew. */
const reloadOnce = (): boolean => {
  if (sessionStorage.getItem(RELOADED) === location.href) return false;
  sessionStorage.setItem(RELOADED, location.href);
  location.reload();
  return true;
};

/**
 * A page whose code comes when it is opened first. If it cannot come, the app stands and says so: it is left only for an instance
 * that answers.
 */
export const lazyPage = <Name extends string>(read: () => Promise<Readonly<Record<Name, ComponentType>>>, name: Name): RouteComponent => {
  let held: ComponentType | undefined;
  const load = async (): Promise<ComponentType> => (held ??= (await read())[name]);
  const LazyPage = (): ReactElement => {
    const [page, setPage] = useState(() => held);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (page !== undefined || hasFailed) return undefined;
      let isLeft = false;
      const fail = async (): Promise<void> => {
        if (!((await isReachable()) && !isLeft && reloadOnce()) && !isLeft) setFailed(true);
      };
      load().then(
        (loaded) => {
          if (isLeft) return;
          sessionStorage.removeItem(RELOADED);
          setPage(() => loaded);
        },
        () => void fail(),
      );
      return () => {
        isLeft = true;
      };
    }, [page, hasFailed]);
    if (page !== undefined) {
      const Loaded = page;
      return <Loaded />;
    }
    if (!hasFailed) return <Waiting rows={6} />;
    return (
      <Page title={words.gate.pageUnloaded}>
        <div className="sp-state sp-failure" data-tone="quiet" role="alert">
          <p>{words.gate.pageUnloadedHint}</p>
          <Button variant="default" onClick={() => setFailed(false)}>
            {words.common.retry}
          </Button>
        </div>
      </Page>
    );
  };
  // Ahead of a click; what fails here is tried again by the click.
  return Object.assign(LazyPage, { preload: async () => void (await load().catch(() => {})) });
};
