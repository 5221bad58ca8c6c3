/** Numbers, money and times as people read them. One locale for the whole page: the browser's first. */

/**
 * The first of the browser's languages that formats can be made for. Browsers on a POSIX locale name `en-US@posix`, which
 * is no language tag: its part before the `@` is tried too, then English.
 */
export const localeOf = (languages: readonly string[]): string => {
  const isKnown = (tag: string): boolean => {
    try {
      return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
    } catch {
      return false;
    }
  };
  return languages.flatMap((language) => [language, language.split("@")[0] ?? ""]).find(isKnown) ?? "en";
};

const locale = localeOf(typeof navigator === "undefined" ? [] : [navigator.language]);

const number = new Intl.NumberFormat(locale);
const dollars = new Intl.NumberFormat(locale, { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 6 });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const moment = new Intl.DateTimeFormat(locale, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

export const formatCount = (value: number): string => number.format(value);

/** USD with two to six decimals. */
export const formatMoney = (usd: number): string => dollars.format(usd);

export const formatClock = (at: Date): string => clock.format(at);
export const formatMoment = (at: string): string => moment.format(new Date(at));

const units: readonly { readonly unit: Intl.RelativeTimeFormatUnit; readonly seconds: number }[] = [
  { unit: "day", seconds: 86_400 },
  { unit: "hour", seconds: 3_600 },
  { unit: "minute", seconds: 60 },
  { unit: "second", seconds: 1 },
];

/** "in 3 days", "2 minutes ago": the largest whole unit. */
export const formatRelative = (at: string, now: Date): string => {
  const seconds = (new Date(at).getTime() - now.getTime()) / 1000;
  const row = units.find((candidate) => Math.abs(seconds) >= candidate.seconds) ?? { unit: "second" as const, seconds: 1 };
  return relative.format(Math.trunc(seconds / row.seconds), row.unit);
};

const MONEY = /^(?:0|[1-9]\d*)(?:\.(\d{1,6}))?$/;

/** Decimal text to USD; `undefined` unless it is a plain number of at most six decimals, not negative. */
export const parseMoney = (text: string): number | undefined => (MONEY.test(text.trim()) ? Number(text.trim()) : undefined);

const WHOLE = /^(?:0|[1-9]\d{0,14})$/;

/** Decimal text to a whole number, not negative. */
export const parseWhole = (text: string): number | undefined => (WHOLE.test(text.trim()) ? Number(text.trim()) : undefined);

/**
 * Text of others, made safe to read: control characters and those that turn the reading direction are shown as their
 * code point, so that a name cannot look like another.
 */
export const visibleText = (text: string): string =>
  text.replace(/(?![\t\n])[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
