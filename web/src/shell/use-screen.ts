import { useStanding, type Can } from "../decisions/use-can.ts";
import { screenList, type Screen } from "./screens.ts";
import { useUi } from "./use-modules.ts";

export type ScreenState = Can | "off";

const combine = (can: Can, screen: Screen, modules: Readonly<Record<string, boolean>> | undefined): ScreenState => {
  // What the decision point refuses is said to be refused, as the gateway's 403 for the same address says.
  if (screen.module === undefined || can === "denied") return can;
  if (modules === undefined) return "pending";
  return modules[screen.module] === true ? can : "off";
};

const always = { type: "streams", action: "config", key: "nav:stream" };

/** May this screen be shown, and if not, by which decision? Asked under the same key as the navigation asks, so it is the same question. */
export const useScreenStanding = (screen: Screen): { readonly state: ScreenState; readonly decisionId: string | undefined } => {
  const ui = useUi();
  const { can, decisionId } = useStanding(screen.ask ?? always);
  if (screen.ask === undefined) return { state: combine("allowed", screen, ui?.modules), decisionId: undefined };
  return { state: combine(can, screen, ui?.modules), decisionId };
};

/** All screens at once: one batch. The list never changes, nor does the order in which it is asked. */
export const useScreens = (): Readonly<Record<Screen["id"], ScreenState>> =>
  Object.fromEntries(screenList.map((screen) => [screen.id, useScreenStanding(screen).state])) as Readonly<
    Record<Screen["id"], ScreenState>
  >;
