import { localeOf } from "./format.ts";

const locale = localeOf(typeof navigator === "undefined" ? [] : [navigator.language]);

const units = (
  [
    ["day", 86_400_000],
    ["hour", 3_600_000],
    ["minute", 60_000],
    ["second", 0],
  ] as const
).map(([unit, from]) => ({
  from,
  size: from === 0 ? 1_000 : from,
  format: new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 }),
}));

/** How long something took, from milliseconds: "0.2 sec", "1.5 hr". */
export const formatSpan = (milliseconds: number): string => {
  const unit = units.find(({ from }) => milliseconds >= from);
  return unit === undefined ? "" : unit.format.format(milliseconds / unit.size);
};
