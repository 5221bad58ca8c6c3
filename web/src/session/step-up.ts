/** A stronger or fresher sign-in that an answer asked for. */
export interface StepUp {
  readonly acrValues: string;
  /** Seconds that the sign-in may be old. */
  readonly maxAge: number;
}

const DEFAULTS: StepUp = { acrValues: "strong", maxAge: 300 };
const ACR = /^[A-Za-z0-9._:/ -]{1,200}$/;

/** True when a `WWW-Authenticate` header asks for a stronger sign-in rather than for any. */
export const isStepUp = (challenge: string | null): boolean =>
  challenge !== null && /error="?insufficient_user_authentication"?/.test(challenge);

const fromChallenge = (challenge: string): StepUp => {
  const acr = /acr_values="([^"]*)"/.exec(challenge)?.[1];
  const age = /max_age="?(\d{1,7})"?/.exec(challenge)?.[1];
  return {
    acrValues: acr !== undefined && ACR.test(acr) ? acr : DEFAULTS.acrValues,
    maxAge: age === undefined ? DEFAULTS.maxAge : Number(age),
  };
};

const firstOf = (source: Readonly<Record<string, unknown>>, names: readonly string[]): unknown =>
  names.map((name) => source[name]).find((value) => value !== undefined);

/**
 * What to ask of the sign-in, from the `step_up` member of a refusal (REST or a tool call) or from its challenge.
 * `undefined` when the refusal does not ask for one. An address in the answer is never followed: only ours is used.
 */
export const readStepUp = (members: Readonly<Record<string, unknown>> | undefined, challenge: string | null = null): StepUp | undefined => {
  const asked = members?.["step_up"];
  if (typeof asked === "object" && asked !== null) {
    const source = asked as Readonly<Record<string, unknown>>;
    const acr = firstOf(source, ["acr_value", "acr_values", "level"]);
    const age = firstOf(source, ["max_age_seconds", "max_age_s", "max_age"]);
    return {
      acrValues: typeof acr === "string" && ACR.test(acr) ? acr : DEFAULTS.acrValues,
      maxAge: typeof age === "number" && Number.isInteger(age) && age >= 0 ? age : DEFAULTS.maxAge,
    };
  }
  if (challenge !== null && isStepUp(challenge)) return fromChallenge(challenge);
  return members?.["code"] === "step_up_required" || members?.["reason"] === "step_up_required" ? DEFAULTS : undefined;
};

/** Path of the sign-in that leads back to where the person is. */
export const signInPath = (returnTo: string, stepUp?: StepUp): string => {
  const query = new URLSearchParams({ return_to: returnTo });
  if (stepUp !== undefined) {
    query.set("acr_values", stepUp.acrValues);
    query.set("max_age", String(stepUp.maxAge));
  }
  return `/auth/login?${query.toString()}`;
};
