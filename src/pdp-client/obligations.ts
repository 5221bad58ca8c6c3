import { z } from "zod";
import type { AccessRequestOffer } from "#contract/access-requests.ts";
import type { Obligation } from "#contract/authzen.ts";
import type { ColumnMask } from "#contract/data-scope.ts";
import { obligationKinds, type EnforcedAt, type EnforcementPoint, type Meetable, type ObligationRow } from "#contract/obligations.ts";
import { Problem } from "#contract/problem.ts";
import type { StepUp } from "#contract/step-up.ts";
import { hasSignIn, strongSignIn, type Caller, type SignInDemand } from "#authn/model/caller.ts";

/** What the decision point said to one question. */
export interface Decision {
  readonly decision: boolean;
  readonly decisionId: string;
  readonly reason?: string | undefined;
  readonly obligations: readonly Obligation[];
  /** Of an endpoint of the tool protocol: answers of the same moment were given by the same policies and the same graph. */
  readonly moment?: string | undefined;
  /** Of a secret: the policies that decided. */
  readonly policyVersion?: string | undefined;
  /** Of a denial that an approval would lift: how to ask for one. */
  readonly accessRequest?: AccessRequestOffer | undefined;
}

/**
 * What an enforcement point meets beside a sign-in, as `EvaluationQuery.meets` declares it. Each with a sentence on how: one left out
 * is a type error.
 */
export const meetsAt = <Point extends EnforcementPoint>(how: Readonly<Record<EnforcedAt<Point>, string>>): readonly Meetable[] =>
  Object.keys(how) as Meetable[];

/** Rows that may leave and columns that are hidden. */
export interface ScopeObligation {
  readonly row_filter_sql: string;
  readonly column_mask: ColumnMask;
}

const { mfa, "data-scope": scope } = obligationKinds;

/**
 * Other decision points say it under other names, leave out what is usual, and may be content with an older sign-in than ours ever are: up to
 * the six digits of seconds that the sign-in page takes.
 */
const signIn = mfa.properties
  .extend({
    kind: z.string().optional(),
    acr_value: mfa.properties.shape.acr_value.default(strongSignIn.level),
    max_age_seconds: z.int().min(1).max(999_999).default(strongSignIn.maxAgeSeconds),
  })
  .transform((read): SignInDemand => ({ level: read.acr_value, maxAgeSeconds: read.max_age_seconds }));

/** The form of each by its name, without which it is not met. A type may stand for the kind. */
const forms = new Map<unknown, z.ZodType>(
  Object.values<ObligationRow>(obligationKinds).map(({ type, kind, properties, form = properties }) => [
    kind ?? type,
    kind === undefined ? form : form.partial({ kind: true }),
  ]),
);

/** Of `custom` obligations the kind is the type. */
const kindOf = ({ type, properties }: Obligation): unknown => (type === "custom" ? properties?.["kind"] : type);

/** One that asks for a sign-in, by any of its names. */
const isSignIn = (obligation: Obligation): boolean => {
  const kind = kindOf(obligation);
  return obligation.id === "mfa" || kind === "step-up" || kind === "mfa";
};

const demandOf = (obligation: Obligation): SignInDemand | undefined => signIn.safeParse(obligation.properties ?? {}).data;

const isMetBy = (obligation: Obligation, meets: readonly unknown[]): boolean => {
  const kind = kindOf(obligation);
  return meets.includes(kind) && forms.get(kind)?.safeParse(obligation.properties ?? {}).success === true;
};

/** One sign-in that is as good as each of them. */
const together = (demands: readonly SignInDemand[]): SignInDemand => ({
  level: demands.some(({ level }) => level === "phishing_resistant") ? "phishing_resistant" : "strong",
  maxAgeSeconds: Math.min(...demands.map(({ maxAgeSeconds }) => maxAgeSeconds)),
});

/** The data scopes of a permit, for whoever meets them. */
export const dataScopesOf = (obligations: readonly Obligation[]): readonly ScopeObligation[] =>
  obligations.flatMap((obligation) => {
    if (kindOf(obligation) !== "data_scope") return [];
    const { row_filter_sql, column_mask } = scope.form.parse(obligation.properties);
    return [{ row_filter_sql, column_mask }];
  });

export interface RefusalParts {
  readonly publicOrigin: string;
  readonly now: Date;
  /** What is met beside a sign-in, here and for this question; nothing unless given. */
  readonly meets?: readonly Meetable[];
  /** The sign-in that the operation itself asks for, whatever the policies say. */
  readonly signIn?: SignInDemand | undefined;
}

const refuse = (decided: Decision, reason: string | undefined): Problem =>
  new Problem("access_denied", {
    members: {
      decision_id: decided.decisionId,
      reason,
      ...(decided.accessRequest === undefined ? {} : { evaluation_id: decided.decisionId, access_request: decided.accessRequest }),
    },
  });

const challenge = (decided: Decision, { level, maxAgeSeconds }: SignInDemand, publicOrigin: string): Problem =>
  new Problem("step_up_required", {
    members: {
      decision_id: decided.decisionId,
      reason: "step_up_required",
      step_up: {
        acr_value: level,
        max_age_seconds: maxAgeSeconds,
        url: `${publicOrigin}/auth/login?acr_values=${level}&max_age=${maxAgeSeconds}`,
      } satisfies StepUp,
    },
    headers: {
      "www-authenticate": `Bearer error="insufficient_user_authentication", acr_values="${level}", max_age=${maxAgeSeconds}`,
    },
  });

/**
 * Why a decision does not open what was asked for; `undefined`: it does. The one place where obligations are met. A permit, and a
 * denial for want of it, that obliges to a sign-in waits for one that is as strong and as fresh as it says (`strong` and 300 s where it
 * does not): `step_up_required` (401) with the RFC 9470 challenge and `step_up`. Any other is `access_denied` (403): a denial with
 * its reason, and a permit that obliges to what is not met here, is not known, or has another form than its kind, with
 * `obligation_unsupported`.
 */
export const whyRefused = (
  decided: Decision,
  principal: Pick<Caller, "acr" | "authTime">,
  { publicOrigin, now, meets = [], signIn: own }: RefusalParts,
): Problem | undefined => {
  if (!decided.decision && decided.reason !== "step_up_required") return refuse(decided, decided.reason);
  const demands = decided.obligations.filter(isSignIn).map(demandOf);
  const known = demands.filter((demand) => demand !== undefined);
  const isOpen =
    known.length === demands.length &&
    (!decided.decision || decided.obligations.every((obligation) => isSignIn(obligation) || isMetBy(obligation, meets)));
  if (!isOpen) return refuse(decided, "obligation_unsupported");
  const asked = own === undefined ? known : [...known, own];
  if (!decided.decision) return challenge(decided, together(asked.length === 0 ? [strongSignIn] : asked), publicOrigin);
  if (asked.length === 0) return undefined;
  const wanted = together(asked);
  return hasSignIn(principal, wanted, now) ? undefined : challenge(decided, wanted, publicOrigin);
};
