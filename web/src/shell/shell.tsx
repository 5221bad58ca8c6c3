import { ActionIcon } from "@mantine/core";
import { lazyRouteComponent, Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect, useState, type ReactElement } from "react";
import { useLive } from "../live/live-context.ts";
import { useSession } from "../session/session-context.ts";
import { words } from "../strings/en.ts";
import { visibleText } from "../strings/format.ts";
import { BreadcrumbSlot } from "../ui/breadcrumbs.tsx";
import { Icon, Sign } from "../ui/icon.tsx";
import { Boundary } from "../ui/panel.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { Navigation } from "./navigation.tsx";
import { Notices } from "./notices.tsx";
import { screenList } from "./screens.ts";
import { useKeys } from "./use-keys.ts";
import { useScreens } from "./use-screen.ts";
import { Late } from "../ui/late.tsx";

const Palette = lazyRouteComponent(async () => await import("./palette.tsx"), "Palette");
const NavigationDrawer = lazyRouteComponent(async () => await import("./navigation-drawer.tsx"), "NavigationDrawer");
const HelpDialog = lazyRouteComponent(async () => await import("./help-dialog.tsx"), "HelpDialog");

/** The frame around every screen: name, navigation, account, notices. Screens that may not be seen are not in it. */
export const Shell = (): ReactElement => {
  const may = useScreens();
  const path = useLocation({ select: (location) => location.pathname });
  const { tenant } = useSession();
  const { state } = useLive();
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const shown = screenList.filter((screen) => may[screen.id] === "allowed");
  useKeys({
    openPalette: () => setPaletteOpen(true),
    openHelp: () => setHelpOpen(true),
    screens: shown,
    isOpening: isMenuOpen || isPaletteOpen || isHelpOpen,
  });
  // Whoever presses the keys types on at once.
  useEffect(() => {
    const timer = setTimeout(() => {
      for (const dialog of [NavigationDrawer, Palette, HelpDialog]) void dialog.preload?.()?.catch(() => undefined);
    }, 2_000);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => setMenuOpen(false), [path]);

  return (
    <div className="sp-frame">
      <a className="sp-skip" href="#content">
        {words.common.skip}
      </a>
      <header className="sp-head">
        <ActionIcon
          className="sp-menu-button"
          variant="default"
          size="lg"
          aria-label={words.shell.openMenu}
          aria-expanded={isMenuOpen}
          aria-haspopup="dialog"
          onClick={() => setMenuOpen(true)}
        >
          <Icon name="menu" />
        </ActionIcon>
        <div className="sp-crumbs" ref={setSlot} />
        <button type="button" className="sp-jump" onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
          <span>{words.shell.palette}</span>
          <kbd aria-hidden="true">{words.shell.paletteKeys}</kbd>
        </button>
        {state.phase === "live" ? <span className="sp-live-state">{words.shell.live}</span> : null}
        <ActionIcon variant="default" size={30} aria-label={words.shell.help} onClick={() => setHelpOpen(true)}>
          <Icon name="question" />
        </ActionIcon>
        <AccountMenu />
      </header>
      <div className="sp-nav sp-wide-only">
        <div className="sp-brand">
          <Link to="/">
            <Sign />
            {words.product}
          </Link>
          <span title={tenant}>{visibleText(tenant)}</span>
        </div>
        <Navigation screens={shown} />
      </div>
      <main id="content" className="sp-main" tabIndex={-1}>
        <Notices />
        <BreadcrumbSlot value={slot}>
          <Boundary key={path}>
            <Outlet />
          </Boundary>
        </BreadcrumbSlot>
      </main>
      {isMenuOpen ? (
        <Late>
          <NavigationDrawer screens={shown} onClose={() => setMenuOpen(false)} />
        </Late>
      ) : null}
      {isPaletteOpen ? (
        <Late>
          <Palette isOpen onClose={() => setPaletteOpen(false)} />
        </Late>
      ) : null}
      {isHelpOpen ? (
        <Late>
          <HelpDialog isOpen onClose={() => setHelpOpen(false)} />
        </Late>
      ) : null}
    </div>
  );
};
