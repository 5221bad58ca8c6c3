import { isBuiltInShown } from "./list-tools.ts";
import type { ToolExplanation } from "#contract/tools.ts";
import { usdFromMicro } from "#contract/ids.ts";
import type { KillSwitch } from "#contract/kill-switches.ts";
import { Problem } from "#contract/problem.ts";
import type { Caller } from "#authn/model/caller.ts";
import { asProblem } from "#http/problem-body.ts";
import { toolRules } from "#crud/systems/tool-rules.ts";
import { secretStandings, type SecretStanding } from "#crud/model/secret-standing.ts";
import { requireChain } from "./call/steps/check-chain.ts";
import { requireCapacity } from "./call/steps/reserve-budget.ts";
import type { CallParts } from "#crud/tools/tool-call.ts";
import { codeOf, toolAsk } from "./call/steps/authorize.ts";
import { switchedOffBy } from "#crud/tools/kill-switches.ts";
import { gatherReach, type Reach } from "./gather-reach.ts";
import { requireServing } from "./call/steps/check-state.ts";
import { isInView } from "./call/steps/resolve-tool.ts";
import { findTool, type Snapshot } from "#crud/tools/catalogue.ts";
import { missingSteps } from "./missing-steps.ts";
import { scopes } from "./tool-service.ts";
import type { Tool } from "#crud/tools/tool.ts";
import type { View } from "#crud/tools/views.ts";

type Step = ToolExplanation["steps"][number];

export interface ExplainParts extends CallParts {
  /** Secrets that a system of the tenant names, and networks that it leads to and does not allow. */
  readonly systemOf: (
    system: string,
    tenant: string,
  ) => { readonly secrets: readonly string[]; readonly unlisted?: readonly string[] } | undefined;
}

export interface ExplainAsk {
  /** Who asks, and is told of secrets what they may know. */
  readonly viewer: Caller;
  /** For whom: the caller itself, or somebody whom the caller may ask about. */
  readonly subject: Caller;
  readonly isSelf: boolean;
  readonly view: View;
  readonly snapshot: Snapshot;
  readonly name: string;
  readonly correlationId: string;
}

/** What a person can do about a reason; the decision's own page computes the exact change. */
const remedies: Readonly<Record<string, string>> = {
  ...Object.assign({}, ...Object.values(toolRules).map((rule) => rule.remedies)),
  delegation_required: "A person must delegate to the agent and pass the token on.",
  delegation_inactive: "Delegate to the agent again, or resume the delegation.",
  capability_missing: "Create a delegation that names this tool, for an agent that has it.",
  not_granted: "Grant access to the tool to one of the subject's groups.",
  tool_quarantined: "Its owner must approve the changed definition.",
  resource_unresolved: "Publish its system again, so that the identity graph knows the tool.",
  tool_disabled: "Enable it in the tools document.",
  upstream_auth_failed: "What is missing names it: the secret is written, and its system named on it.",
  insufficient_scope: `Use a token with the scopes ${scopes.list} and ${scopes.call}.`,
};

const fail = (step: string, reason: string, more: Partial<Step> = {}): Step => ({
  step,
  outcome: "fail",
  reason,
  ...(remedies[reason] === undefined ? {} : { remedy: remedies[reason] }),
  ...more,
});

const pass = (step: string, more: Partial<Step> = {}): Step => ({ step, outcome: "pass", ...more });

const scopeStep = (ask: ExplainAsk): Step => {
  if (!ask.isSelf) return { step: "scope", outcome: "depends", reason: "on the token" };
  return ask.subject.scopes.has(scopes.call) ? pass("scope") : fail("scope", "insufficient_scope");
};

const stateStep = ({ subject: caller, view }: ExplainAsk, tool: Tool, parts: Pick<CallParts, "kills">): Step => {
  try {
    requireServing({ caller, view, tool }, parts.kills);
    return pass("state");
  } catch (error) {
    const killed = parts.kills.of({ caller, view, tool });
    return fail(
      "state",
      asProblem(error).code,
      killed === undefined
        ? {}
        : { remedy: `${killed.by} has switched ${killed.scope} off: ${killed.reason}. An administrator can lift it.` },
    );
  }
};

const delegationStep = (tool: Tool, reach: Reach): Step => {
  if (tool.isBuiltIn || reach.hops.length === 0)
    return { step: "delegation", outcome: "skipped", reason: tool.isBuiltIn ? "built in" : "no agent" };
  if (reach.capabilities?.has(tool.name) === true) return pass("delegation");
  const last = reach.hops.at(-1);
  const isLive = (reach.capabilities?.size ?? 0) > 0;
  const edge =
    last === undefined
      ? undefined
      : isLive
        ? { kind: "HAS_CAPABILITY", from: last.agentId, to: tool.name }
        : { kind: "DELEGATES_TO", from: last.userId, to: last.agentId };
  return fail("delegation", isLive ? "capability_missing" : "delegation_inactive", edge === undefined ? {} : { edge });
};

/** What is decided only with a call's own arguments and sign-in. */
const openSteps = (tool: Tool): readonly Step[] => [
  { step: "arguments", outcome: "depends", reason: "on the call's arguments" },
  ...Object.values(toolRules)
    .flatMap(({ explain }) => explain?.(tool.rules) ?? [])
    .map(({ name, ...step }) => ({ step: name, outcome: "depends" as const, ...step })),
];

/** Whether the delegation would pay for a call at this moment. */
const reserveStep = async (tool: Tool, reach: Reach, parts: CallParts, correlationId: string): Promise<Step> => {
  if (reach.hops.length === 0 || tool.isBuiltIn) return { step: "reserve", outcome: "skipped", reason: "no agent" };
  if (reach.capabilities?.has(tool.name) !== true) return { step: "reserve", outcome: "skipped", reason: "no delegation reaches it" };
  try {
    await requireCapacity(reach.hops, tool, parts, correlationId);
    return pass("reserve");
  } catch (error) {
    const { code, options } = asProblem(error);
    if (code === "membership_unavailable") throw error;
    return fail("reserve", code, options.detail === undefined ? {} : { remedy: options.detail });
  }
};

/** Whether a call would get its system's credentials. */
const credentialStep = (standings: readonly SecretStanding[]): readonly Step[] => {
  if (standings.length === 0) return [];
  const isLacking = standings.some(({ place, isUsable }) => place === "missing" || place === "closed" || !isUsable);
  return [isLacking ? fail("credential", "upstream_auth_failed") : pass("credential")];
};

const aboutOf = (tool: Tool, killed: KillSwitch | undefined): ToolExplanation["about"] => {
  const { reserveMicro, isReadOnly, stepUp } = tool.rules;
  return {
    state: tool.state,
    digest: tool.digest,
    ...(tool.isBuiltIn ? {} : { system: `${tool.provider}.${tool.instance}` }),
    ...(tool.owner === undefined ? {} : { owner: tool.owner }),
    price_usd: usdFromMicro(reserveMicro),
    read_only: isReadOnly,
    ...(stepUp === undefined ? {} : { step_up: { acr_value: stepUp.level, max_age_seconds: stepUp.maxAgeSeconds } }),
    ...switchedOffBy(killed),
  };
};

/** Steps that a call meets and a list does not. */
const isOfCallsAlone: ReadonlySet<string> = new Set(["chain", "scope", "reserve", "network", "credential"]);

/**
 * Why a tool is, or is not, in a list and callable: each step's own code is asked, nothing is called, reserved or sent.
 * Throws `unknown_tool` where the tool does not exist for the tenant; `decision_unavailable`, `membership_unavailable`.
 */
export const explainSteps = async (ask: ExplainAsk, parts: ExplainParts): Promise<ToolExplanation> => {
  const { subject, snapshot, view, correlationId } = ask;
  const tool = findTool(snapshot, ask.name);
  const root = snapshot.views.get("");
  if (tool === undefined || root === undefined || !(tool.isBuiltIn || isInView(tool, root, subject.tenant)))
    throw new Problem("unknown_tool");
  const steps: Step[] = [scopeStep(ask)];
  const inView = isInView(tool, view, subject.tenant);
  steps.push(inView ? pass("view") : fail("view", "unknown_tool"), stateStep(ask, tool, parts));
  const reach = tool.isBuiltIn ? { hops: [], capabilities: undefined } : await gatherReach(subject, parts, correlationId);
  steps.push(delegationStep(tool, reach));
  const decided = await parts.pdpClient.decide(subject, toolAsk(tool, "tools/list", { could: true, view: view.name }), correlationId);
  steps.push(
    decided.decision
      ? pass("decide", { decision_id: decided.decisionId })
      : fail("decide", codeOf(decided.reason), { decision_id: decided.decisionId }),
  );
  if (decided.decision && reach.hops.length > 0 && tool.rules.app !== undefined) {
    const chain = await requireChain(tool, reach.hops, decided.decisionId, parts, correlationId).then(
      () => pass("chain"),
      (error: unknown) => {
        const problem = asProblem(error);
        if (problem.code !== "chain_not_eligible") throw problem;
        return fail("chain", problem.code, { edge: { kind: "REQUIRES", from: tool.name, to: tool.rules.app ?? "" } });
      },
    );
    steps.push(chain);
  }
  const { secrets = [], unlisted = [] } =
    (tool.isBuiltIn ? undefined : parts.systemOf(`${tool.provider}.${tool.instance}`, subject.tenant)) ?? {};
  const standings = await secretStandings(parts, { caller: ask.viewer, correlationId, tool: tool.name }, secrets);
  steps.push(...openSteps(tool), await reserveStep(tool, reach, parts, correlationId));
  if (unlisted.length > 0) steps.push(fail("network", "upstream_error", { remedy: "What is missing names the line of its system." }));
  steps.push(...credentialStep(standings));
  const killed = parts.kills.of({ caller: subject, view, tool });
  const hasFailed = steps.some((step) => step.outcome === "fail");
  const isListed = inView && steps.every((step) => step.outcome !== "fail" || isOfCallsAlone.has(step.step));
  return {
    tool: tool.name,
    about: aboutOf(tool, killed),
    listed: tool.isBuiltIn ? await isBuiltInShown({ ...ask, caller: subject }, tool, parts) : isListed,
    callable: hasFailed ? "no" : steps.some((step) => step.outcome === "depends" && step.step !== "arguments") ? "depends" : "yes",
    revision: snapshot.revision,
    steps,
    missing: [...(await missingSteps({ subject, tool, reach, killed, unlisted, standings, correlationId }, parts))],
  };
};
