import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { copyText } from "../ui/copy-button.tsx";
import type { Screen } from "./screens.ts";

const SINGLE_OFF = "sallyport.single-keys-off";

/** Single-letter keys can be switched off, for people who talk to their computer. */
export const areSingleKeysOn = (): boolean => localStorage.getItem(SINGLE_OFF) === null;
export const setSingleKeys = (isOn: boolean): void => {
  if (isOn) localStorage.removeItem(SINGLE_OFF);
  else localStorage.setItem(SINGLE_OFF, "1");
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

const isDialogOpen = (): boolean => document.querySelector('[role="dialog"], [role="menu"]') !== null;

/** Moves to the next (or previous) row of the first list on the page. */
const moveRow = (by: 1 | -1): void => {
  const links = [...document.querySelectorAll<HTMLElement>("main [data-row]")]
    .map((row) => row.querySelector<HTMLElement>("a, button"))
    .filter((link) => link?.checkVisibility() === true);
  const at = links.findIndex((link) => link === document.activeElement);
  const next = links[at === -1 ? (by === 1 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1)];
  next?.focus();
};

const focusFilter = (): void => document.querySelector<HTMLElement>("main [data-filter]")?.focus();

export interface KeyActions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  /** Screens that may be shown, for `g` and a letter. */
  readonly screens: readonly Screen[];
  /** A dialog is open, or comes when its code is there: letters are meant for it. */
  readonly isOpening: boolean;
}

/** The keys that work everywhere. */
export const useKeys = (actions: KeyActions): void => {
  const navigate = useNavigate();
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let afterG = false;
    const single = (key: string): boolean => {
      if (afterG) {
        afterG = false;
        const screen = latest.current.screens.find((candidate) => candidate.letter === key);
        if (screen === undefined) return false;
        void navigate({ to: screen.path });
        return true;
      }
      switch (key) {
        case "g":
          afterG = true;
          setTimeout(() => {
            afterG = false;
          }, 1_500);
          return true;
        case "?":
          latest.current.openHelp();
          return true;
        case "/":
          focusFilter();
          return true;
        case "j":
          moveRow(1);
          return true;
        case "k":
          moveRow(-1);
          return true;
        case "c":
          void copyText(location.href);
          return true;
        default:
          return false;
      }
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.altKey) return;
      const isMod = event.ctrlKey || event.metaKey;
      if (isMod && event.key.toLowerCase() === "k") {
        event.preventDefault();
        latest.current.openPalette();
        return;
      }
      if (isMod && event.key === "Enter" && event.target instanceof Element) {
        const form = event.target.closest("form");
        if (form !== null) {
          event.preventDefault();
          form.requestSubmit();
        }
        return;
      }
      if (isMod || isTyping(event.target) || latest.current.isOpening || isDialogOpen() || !areSingleKeysOn()) return;
      if (single(event.key)) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate]);
};
