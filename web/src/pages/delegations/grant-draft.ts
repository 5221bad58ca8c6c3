import { z } from "zod";
import type { DelegationDraft } from "#contract/delegations.ts";
import { parseMoney, parseWhole } from "../../strings/format.ts";

/** The half-filled form of a new delegation, as text, and what it says. */

export const steps = ["agent", "tools", "limits", "check"] as const;
export type Step = (typeof steps)[number];

export const grantForm = z.object({
  agentId: z.string(),
  /** `undefined`: all that the agent has, now and later. */
  tools: z.array(z.string()).optional(),
  maxSteps: z.string(),
  budget: z.string(),
  /** Last day, `yyyy-mm-dd`. */
  end: z.string(),
  purpose: z.string(),
});
export type GrantForm = z.infer<typeof grantForm>;

export type GrantField = keyof GrantForm;

const DAY_MS = 86_400_000;
const MAX_DAYS = 365;

const dayText = (at: Date): string => {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};

/** Thirty days, fifty steps, five dollars: small, and easy to change. */
export const emptyForm = (now: Date): GrantForm => ({
  agentId: "",
  tools: [],
  maxSteps: "50",
  budget: "5.00",
  end: dayText(new Date(now.getTime() + 30 * DAY_MS)),
  purpose: "",
});

/** The end of that day where the person is; `undefined` unless it is a day from tomorrow on, at most a year away. */
export const endOf = (day: string, now: Date): Date | undefined => {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (parts === null) return undefined;
  const [year, month, date] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const end = new Date(year, month - 1, date, 23, 59, 0, 0);
  if (end.getMonth() !== month - 1 || end.getDate() !== date) return undefined;
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
  return end >= tomorrow && end.getTime() - now.getTime() <= MAX_DAYS * DAY_MS ? end : undefined;
};

const isWithin = (value: number | undefined, least: number, max: number): boolean => value !== undefined && value >= least && value <= max;

const checks: Readonly<Record<GrantField, (form: GrantForm, now: Date) => boolean>> = {
  agentId: (form) => form.agentId !== "",
  tools: (form) => form.tools === undefined || form.tools.length > 0,
  maxSteps: (form) => isWithin(parseWhole(form.maxSteps), 1, 100_000),
  budget: (form) => isWithin(parseMoney(form.budget), 0, 10_000),
  end: (form, now) => endOf(form.end, now) !== undefined,
  purpose: (form) => form.purpose.trim().length >= 3 && form.purpose.trim().length <= 500,
};

const fieldsOf: Readonly<Record<Step, readonly GrantField[]>> = {
  agent: ["agentId"],
  tools: ["tools"],
  limits: ["maxSteps", "budget", "end", "purpose"],
  check: [],
};

/** What is wrong on one step; empty = it can be left. */
export const faultyFields = (step: Step, form: GrantForm, now: Date): readonly GrantField[] =>
  fieldsOf[step].filter((field) => !checks[field](form, now));

/** The first step that is not yet right: nobody gets past it, whatever the address says. */
export const furthestStep = (form: GrantForm, now: Date): Step => steps.find((step) => faultyFields(step, form, now).length > 0) ?? "check";

/** The draft that the server is asked about; `undefined` while anything is wrong. */
export const draftOf = (form: GrantForm, now: Date): DelegationDraft | undefined => {
  const maxSteps = parseWhole(form.maxSteps);
  const budget = parseMoney(form.budget);
  const end = endOf(form.end, now);
  if (furthestStep(form, now) !== "check" || maxSteps === undefined || budget === undefined || end === undefined) return undefined;
  return {
    agent_id: form.agentId,
    capabilities: form.tools === undefined ? null : [...form.tools].toSorted(),
    budget_usd: budget,
    max_steps: maxSteps,
    expires_at: end.toISOString(),
    purpose: form.purpose.trim(),
  };
};
