import { screens as rows, type ScreenId, type ScreenRow } from "#contract/screens.ts";
import type { Ask } from "../decisions/ask.ts";
import type { IconName } from "../ui/icon.tsx";

/** A screen as the client shows it: while its module is on and its question is answered with yes. */
export interface Screen extends ScreenRow {
  readonly id: ScreenId;
  readonly path: (typeof rows)[ScreenId]["path"];
  readonly icon: IconName;
  readonly ask: Ask | undefined;
}

/** In the order of the navigation. */
export const screenList: readonly Screen[] = (Object.keys(rows) as ScreenId[]).map((id) => {
  const row: ScreenRow & Pick<Screen, "path" | "icon"> = rows[id];
  return { ...row, id, ask: row.pair && { ...row.pair, key: `nav:${id}` } };
});

export const screens = Object.fromEntries(screenList.map((screen) => [screen.id, screen])) as Readonly<Record<ScreenId, Screen>>;
