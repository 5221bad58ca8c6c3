/** First that fits wins: most browsers also name the ones they descend from. */
const browsers: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
  [/\bcurl\//, "curl"],
];
const systems: readonly (readonly [mark: RegExp, name: string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux/, "Linux"],
];
const find = (rows: readonly (readonly [RegExp, string])[], text: string): string | undefined =>
  rows.find(([mark]) => mark.test(text))?.[1];

/** A name by which a person knows their own session again, e.g. `Firefox on Linux`; nothing more is kept of the header. */
export const clientName = (userAgent: string): string => {
  const browser = find(browsers, userAgent) ?? "another client";
  const system = find(systems, userAgent);
  return system === undefined ? browser : `${browser} on ${system}`;
};
