import { z } from "zod";
import { jsonText } from "#http/json-setting.ts";

/** Our own words for how well somebody signed in; the second implies the first. */
export type Assurance = "strong" | "phishing_resistant";

/** Which of a provider's `acr` values, or sets of `amr` that must all be present, count as which assurance. */
export type AssuranceMap = Readonly<Record<Assurance, AssuranceRule>>;

interface AssuranceRule {
  readonly acr: readonly string[];
  readonly amr: readonly (readonly string[])[];
}

/** One possession alone is one factor, however modern: it never makes a second one. */
const singleFactors: ReadonlySet<string> = new Set(["otp", "hwk", "pwd", "sms", "swk"]);

const rule = z
  .strictObject({
    acr: z.array(z.string().min(1).max(256)).max(16).default([]),
    amr: z
      .array(z.array(z.string().min(1).max(64)).min(1).max(8))
      .max(16)
      .default([]),
  })
  .default({ acr: [], amr: [] });

const mapSchema = z.strictObject({ strong: rule, phishing_resistant: rule }).superRefine((map, context) => {
  for (const name of ["strong", "phishing_resistant"] as const) {
    for (const set of map[name].amr) {
      if (set.length === 1 && singleFactors.has(set[0] ?? "")) {
        context.addIssue({ code: "custom", message: `${name}.amr: "${set[0] ?? ""}" alone is no second factor` });
      }
    }
  }
});

export const defaultAssuranceMap: AssuranceMap = {
  strong: { acr: [], amr: [["mfa"], ["pwd", "otp"], ["pwd", "hwk"]] },
  phishing_resistant: { acr: ["phr", "phrh"], amr: [] },
};

/** For settings: JSON `{"strong": {"acr": [..], "amr": [["mfa"], ..]}, "phishing_resistant": {..}}`; it replaces the default. */
export const assuranceMapText: z.ZodType<AssuranceMap> = jsonText(mapSchema);

const meets = (given: AssuranceRule, acr: string | undefined, amr: ReadonlySet<string>): boolean =>
  (acr !== undefined && given.acr.includes(acr)) || given.amr.some((set) => set.every((method) => amr.has(method)));

/** Our word for a provider's `acr` and `amr`, or `undefined` when neither is as good. */
export const assuranceOf = (map: AssuranceMap, acr: string | undefined, amr: readonly string[]): Assurance | undefined => {
  const methods = new Set(amr);
  if (meets(map.phishing_resistant, acr, methods)) return "phishing_resistant";
  return meets(map.strong, acr, methods) ? "strong" : undefined;
};

export const isAssurance = (value: unknown): value is Assurance => value === "strong" || value === "phishing_resistant";

/** Whether a sign-in of one assurance answers a demand for another. */
export const satisfies = (reached: string | undefined, asked: Assurance): boolean =>
  reached === "phishing_resistant" || (reached === "strong" && asked === "strong");
