import assert from "node:assert/strict";
import type { Obligation } from "#contract/authzen.ts";
import type { Assurance } from "#authn/model/assurance.ts";

export interface DemandedSignIn {
  readonly acr: Assurance;
  /** Seconds ago. */
  readonly age: number;
}

export interface SignInDemandCase {
  readonly what: string;
  readonly obligation: Obligation;
  /** A sign-in of another kind than the one asked for; policies alone would call it fresh and strong. */
  readonly tooLittle: DemandedSignIn;
  readonly enough: DemandedSignIn;
  readonly acrValue: string;
  readonly maxAge: number;
}

const stepUp = (properties: Record<string, unknown>): Obligation => ({ id: "mfa", type: "step-up", properties });

/** What every service must keep apart from a strong sign-in of the last five minutes. */
export const signInDemands: readonly SignInDemandCase[] = [
  {
    what: "a sign-in that cannot be phished is not a strong one",
    obligation: stepUp({ acr_value: "phishing_resistant", max_age_seconds: 300 }),
    tooLittle: { acr: "strong", age: 10 },
    enough: { acr: "phishing_resistant", age: 10 },
    acrValue: "phishing_resistant",
    maxAge: 300,
  },
  {
    what: "a sign-in within a minute is not one of 100 s ago",
    obligation: stepUp({ acr_value: "strong", max_age_seconds: 60 }),
    tooLittle: { acr: "strong", age: 100 },
    enough: { acr: "strong", age: 30 },
    acrValue: "strong",
    maxAge: 60,
  },
];

/** The 401 of a service that asks for this sign-in, with challenge and body alike. */
export const assertAsksFor = async (response: Response, { acrValue, maxAge }: SignInDemandCase, what: string): Promise<void> => {
  const body = (await response.json()) as { readonly code?: string; readonly step_up?: unknown; readonly decision_id?: unknown };
  assert.deepEqual([response.status, body.code, typeof body.decision_id], [401, "step_up_required", "string"], what);
  assert.deepEqual(
    body.step_up,
    {
      acr_value: acrValue,
      max_age_seconds: maxAge,
      url: `http://localhost:8080/auth/login?acr_values=${acrValue}&max_age=${maxAge}`,
    },
    what,
  );
  const challenge = response.headers.get("www-authenticate") ?? "";
  assert.ok(
    challenge.includes(`error="insufficient_user_authentication", acr_values="${acrValue}", max_age=${maxAge}`),
    `${what}: ${challenge}`,
  );
};
