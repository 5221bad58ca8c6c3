import { Problem } from "#contract/problem.ts";
import { ServerSilent, SqlError } from "./sql-error.ts";

/** Why PostgreSQL cannot be had. sysexits.h: 69 unavailable, 78 configuration. */
export interface PostgresRefusal {
  readonly exitCode: 69 | 78;
  /** One sentence and what to do. Host, port, database and user are named, never the password. */
  readonly message: string;
}

/** What the operating system, the driver or the server said; of several attempts the first. */
const causeOf = (error: unknown): unknown => {
  if (error instanceof Problem) return error.options.cause === undefined ? error : causeOf(error.options.cause);
  if (error instanceof AggregateError) return causeOf(error.errors[0]);
  return error instanceof ServerSilent && error.cause !== undefined ? causeOf(error.cause) : error;
};

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "no such host is known",
  EAI_AGAIN: "the name of the host could not be looked up",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "it did not answer in time",
  ECONNRESET: "it broke the connection off",
};

/** Of what `createPostgres` threw for the URL of a setting; undefined where that says nothing of the server. */
export const postgresRefusal = (setting: string, url: string, error: unknown): PostgresRefusal | undefined => {
  const { hostname, port, pathname, username } = new URL(url);
  const place = `PostgreSQL at ${hostname === "" ? "this machine's socket" : hostname}:${port === "" ? "5432" : port}`;
  const cause = causeOf(error);
  if (cause instanceof SqlError && /^(?:28|3D)/.test(cause.code))
    return {
      exitCode: 78,
      message: `${setting}: ${place} does not let user ${decodeURIComponent(username)} into database ${decodeURIComponent(pathname.slice(1))} (${cause.message}). Correct user, password or database.`,
    };
  const isUnavailable = error instanceof Problem && error.code === "store_unavailable";
  if (!isUnavailable) {
    if (!(cause instanceof Error) || cause instanceof TypeError || cause instanceof SqlError || cause instanceof Problem) return undefined;
    return { exitCode: 78, message: `${setting}: ${place}: ${cause.message}.` };
  }
  const { code = "", message = "" } = (cause ?? {}) as { code?: string; message?: string };
  const why = words[code] ?? (/timeout/i.test(message) ? "it did not answer in time" : message);
  return { exitCode: 69, message: `${setting}: ${place} is not available: ${why}. Start it, or correct the address.` };
};
