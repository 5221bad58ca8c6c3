/** Takes the values of credentials out of everything that comes back, in the spellings in which an upstream might echo them. */

const REDACTED = "[redacted]";

const spellings = (secret: string): readonly string[] => {
  const base64 = Buffer.from(secret).toString("base64");
  return [
    secret,
    base64,
    base64.replace(/=+$/, ""),
    Buffer.from(secret).toString("base64url"),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ];
};

/** Shorter values would take innocent text with them; nobody's credential is that short. */
const MIN_LENGTH = 6;

export type Redact = <T>(value: T) => T;

export const createRedact = (secrets: Iterable<string>): Redact => {
  const needles = [...new Set([...secrets].filter((secret) => secret.length >= MIN_LENGTH).flatMap(spellings))].toSorted(
    (a, b) => b.length - a.length,
  );
  const clean = (text: string): string => needles.reduce((held, needle) => held.replaceAll(needle, REDACTED), text);
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return clean(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [clean(name), walk(item)]));
  };
  return (needles.length === 0 ? (value: unknown) => value : walk) as Redact;
};
