import type { AccessRequestOffer } from "#contract/access-requests.ts";
import type { RequestTemplate } from "#pdp/bundle/named-files.ts";
import type { Verdict } from "#pdp/engine/decision-point.ts";
import { actOf } from "#pdp/explain/sentence.ts";
import type { BindingTokens } from "./binding-token.ts";

/** What a requestable denial says beside its reason. */
export interface Offer {
  readonly evaluation_id: string;
  readonly evaluated_at: string;
  readonly access_request: AccessRequestOffer;
}

/** `undefined` where no approval would lift the denial, or nobody is named who could give one. */
export type MakeOffer = (verdict: Verdict, decisionId: string, decidedAt: Date) => Promise<Offer | undefined>;

const LIFE_SECONDS = 600;

const whoAnswers = (approvers: string): string => {
  if (approvers === "resource_owner") return "its owner";
  if (approvers === "agent_controller") return "whoever controls the agent";
  return `a member of ${approvers}`;
};

/** Words for people; a secret is not named in them. */
export const displayOf = (
  item: { readonly action: string; readonly type: string; readonly id?: string },
  template: Pick<RequestTemplate, "approvers" | "valid_minutes" | "single_use">,
): AccessRequestOffer["display"] => {
  const title = actOf(item);
  const lasts = template.single_use ? `once, within ${template.valid_minutes} minutes` : `for ${template.valid_minutes} minutes`;
  return {
    title: `${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    message: `It needs the approval of ${whoAnswers(template.approvers)}, which then holds ${lasts}.`,
  };
};

export const createMakeOffer =
  (tokens: BindingTokens): MakeOffer =>
  async ({ ask, request }, decisionId, decidedAt) => {
    if (request === undefined) return undefined;
    // Whole seconds, as the token has them: what the denial says is what counts.
    const expiresAt = new Date((Math.floor(decidedAt.getTime() / 1000) + LIFE_SECONDS) * 1000);
    const { type, id } = ask.resource;
    return {
      evaluation_id: decisionId,
      evaluated_at: decidedAt.toISOString(),
      access_request: {
        template: request.name,
        expires_at: expiresAt.toISOString(),
        binding_token: await tokens.sign({
          evaluationId: decisionId,
          binding: request.binding.whole,
          call: request.call,
          expiresAt,
        }),
        display: displayOf({ action: ask.action, type, id }, request.template),
      },
    };
  };
