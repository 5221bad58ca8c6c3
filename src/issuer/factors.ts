import { Secret, TOTP } from "otpauth";
import { statement, type Database } from "#store/database.ts";
import { isPassword } from "#authn/sealing/password.ts";
import type { Person, SignIns } from "./sign-ins.ts";

/** What a sign-in page needs to know of an attempt. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: "wrong" | "locked" | "used" | "no_secret" };

export interface Factors {
  password(login: string, password: string): Promise<Checked<Person>>;
  /** `once`: the code is used up by it. Without it the code is only looked at. */
  code(person: Person, code: string, once: boolean): Promise<Checked<true>>;
  find(sub: string): Person | undefined;
}

type Factor = "password" | "code";

/** Wrong tries that lock a factor of an account, and for how long. */
const MAX_FAILURES = { password: 10, code: 5 } as const satisfies Record<Factor, number>;
const LOCK_SECONDS = 300;
const PERIOD_SECONDS = 30;
/** One step to either side, for clocks that differ. */
const WINDOW = 1;

const countFailures = statement<{ readonly failures: number }>(
  "authn.failed_sign_in.count",
  `select failures from authn.failed_sign_in where sub = $1 and factor = $2 and since > $3`,
);
const addFailure = statement<never>(
  "authn.failed_sign_in.add",
  `insert into authn.failed_sign_in as held (sub, factor, failures, since) values ($1, $2, 1, $3)
   on conflict (sub, factor) do update
   set failures = case when held.since > $4 then held.failures + 1 else 1 end,
       since = $3`,
);
const forgetFailures = statement<never>("authn.failed_sign_in.forget", `delete from authn.failed_sign_in where sub = $1 and factor = $2`);
const useStep = statement<{ readonly step: bigint }>(
  "authn.used_code.add",
  `insert into authn.used_code (sub, step, expires_at) values ($1, $2, $3) on conflict do nothing returning step`,
);

/**
 * Password and one-time code of the embedded issuer. Wrong tries are counted for each account and lock that factor for
 * five minutes; a time step's code is accepted once. An unknown name costs as much time as a wrong password.
 */
export const createFactors = (parts: { readonly database: Database; readonly signIns: SignIns; readonly now: () => Date }): Factors => {
  const byLogin = new Map(parts.signIns.persons.map((person) => [person.login, person]));
  const bySub = new Map(parts.signIns.persons.map((person) => [person.sub, person]));
  /** What a password is held against for an unknown name. */
  const someHash = parts.signIns.persons[0]?.passwordHash ?? "";
  const horizon = (): Date => new Date(parts.now().getTime() - LOCK_SECONDS * 1000);

  const isLocked = async (person: Person, factor: Factor): Promise<boolean> => {
    const [row] = await parts.database.run(countFailures, [person.sub, factor, horizon()]);
    return (row?.failures ?? 0) >= MAX_FAILURES[factor];
  };
  const fail = async (person: Person, factor: Factor): Promise<{ ok: false; why: "wrong" }> => {
    await parts.database.run(addFailure, [person.sub, factor, parts.now(), horizon()]);
    return { ok: false, why: "wrong" };
  };

  return {
    find: (sub) => bySub.get(sub),
    password: async (login, password) => {
      const person = byLogin.get(login.trim().toLowerCase());
      if (person !== undefined && (await isLocked(person, "password"))) return { ok: false, why: "locked" };
      const right = await isPassword(person?.passwordHash ?? someHash, password);
      if (person === undefined) return { ok: false, why: "wrong" };
      if (!right) return fail(person, "password");
      await parts.database.run(forgetFailures, [person.sub, "password"]);
      return { ok: true, value: person };
    },
    code: async (person, code, once) => {
      if (person.totpSecret === undefined) return { ok: false, why: "no_secret" };
      if (await isLocked(person, "code")) return { ok: false, why: "locked" };
      const token = code.replaceAll(/\s/g, "");
      const totp = new TOTP({ secret: Secret.fromBase32(person.totpSecret), digits: 6, period: PERIOD_SECONDS, algorithm: "SHA1" });
      const timestamp = parts.now().getTime();
      const delta = /^[0-9]{6}$/.test(token) ? totp.validate({ token, timestamp, window: WINDOW }) : null;
      if (delta === null) return fail(person, "code");
      if (once) {
        const step = BigInt(Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta);
        const expiresAt = new Date(timestamp + (WINDOW + 2) * PERIOD_SECONDS * 1000);
        const taken = await parts.database.run(useStep, [person.sub, step, expiresAt]);
        if (taken.length === 0) return { ok: false, why: "used" };
      }
      await parts.database.run(forgetFailures, [person.sub, "code"]);
      return { ok: true, value: true };
    },
  };
};
