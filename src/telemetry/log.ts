import pino from "pino";

/** Structured logs: one JSON line each. Fields are wire names; what looks like a credential is replaced.  */
export interface Log {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
  child(fields: Readonly<Record<string, unknown>>, level?: LogLevel): Log;
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

/** Parts joined by at least two dots. A token is looked for in each, and not from each place that begins like one. */
const DOTTED = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*){2,}/g;

const credentials: readonly RegExp[] = [
  /\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}/g,
  /\bhv[sbr]\.[A-Za-z0-9_-]{8,}/g,
  /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g,
  /(?:password|passwd|secret|api[_-]?key)=[^&\s"]+/gi,
  /(?:__Host-Http-sid|sallyport_dev_sid_\d+)=[^;\s"]+/g,
];

/** What every one of them holds: nearly every text is passed by this one look. */
const SUSPECT = /eyJ|[Bb]earer|hv[sbr]\.|-----BEGIN|(?:password|passwd|secret|api[_-]?key)=|sid/i;

/** Time linear in the text. */
const redactText = (text: string): string => {
  if (!SUSPECT.test(text)) return text;
  const open = text.replace(DOTTED, (word) => word.replace(/eyJ.*/, "[redacted]"));
  return credentials.reduce((held, pattern) => held.replace(pattern, "[redacted]"), open);
};

const isBare = (item: unknown): boolean =>
  typeof item === "string" ? !SUSPECT.test(item) : typeof item === "number" || typeof item === "boolean";

/** Nearly every line is a plain object with nothing to hide: it needs no copy, and no list of what it holds. */
const isBareRecord = (value: object): boolean => {
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const name in value) if (!isBare(value[name as keyof typeof value])) return false;
  return true;
};

/** Replaces what looks like a credential anywhere in a value. A cause shows its type and code, never its message. */
export const redact = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (depth > 6) return "[deep]";
  if (value instanceof Error) {
    const { code, error } = value as { code?: unknown; error?: unknown };
    return {
      type: value.name,
      ...(typeof code === "string" ? { code } : {}),
      // What an OAuth server answered, e.g. invalid_grant: a word of its protocol, without which nobody can find the fault.
      ...(typeof error === "string" && /^[a-z_]{1,64}$/.test(error) ? { oauth_error: error } : {}),
      at: redactText(value.stack?.split("\n").slice(1, 4).join(" ").trim() ?? ""),
    };
  }
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  if (isBareRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redact(item, depth + 1)]));
};

export interface LogOptions {
  readonly level: LogLevel;
  readonly service: string;
  readonly version: string;
  readonly environment: string;
  /** Where lines go; standard output unless given (tests collect them). */
  readonly write?: (line: string) => void;
}

/**
 * Standard output, a few KiB at a time: a write a line costs more than the request that it tells of. What is held back
 * leaves within 100 ms; with an error and at the end of the process all of it leaves at once.
 */
const standardOutput = (): pino.DestinationStream & { flushSync(): void } => {
  const output = pino.destination({ fd: 1, sync: true, minLength: 4096, periodicFlush: 100 });
  process.on("exit", () => output.flushSync());
  return output;
};

/** Lines of one millisecond share the text of their time. */
const createTimestamp = (): (() => string) => {
  let at = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== at) text = `,"time":"${new Date((at = now)).toISOString()}"`;
    return text;
  };
};

export const createLog = (options: LogOptions): Log => {
  const base = { service: options.service, version: options.version, environment: options.environment };
  const settings = {
    level: options.level,
    base,
    messageKey: "event",
    timestamp: createTimestamp(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (options.write !== undefined) return wrap(pino(settings, { write: options.write }), () => {});
  const output = standardOutput();
  return wrap(pino(settings, output), () => output.flushSync());
};

const wrap = (logger: pino.Logger, flush: () => void): Log => {
  const at =
    (level: "debug" | "info" | "warn" | "error") =>
    (event: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (!logger.isLevelEnabled(level)) return;
      logger[level](redact(fields) as object, event);
      if (level === "error") flush();
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields, level) => wrap(logger.child(redact(fields) as object, level === undefined ? {} : { level }), flush),
  };
};

/** Says nothing; for tests and tools. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silentLog };
