import { Problem } from "#contract/problem.ts";
import { requireScope, type Caller } from "#authn/model/caller.ts";
import { secretOperations, type Purpose, type SecretOperation } from "#contract/secret-operations.ts";
import { asProblem } from "#http/problem-body.ts";
import { noTracing } from "#telemetry/tracing.ts";
import type { SecretsContext } from "./secrets-context.ts";
import type { SecretRequester, createRequesters } from "./requester.ts";
import type { SecretsPolicy } from "#secrets/config.ts";
import type { Done } from "#secrets/model/changes.ts";
import type { createSecretDecision, SecretPermit } from "./authorize-secret.ts";
import type { IntentEnd } from "./intents.ts";
import { operationSteps } from "./operation-steps.ts";
import type { Intend, Intent, SecretChange, SecretProvider, Standing, WrittenSecret } from "#secrets/providers/secret-provider.ts";
import { entryOf, eventOf, eventTypesOf, NOT_DONE, refOf, versionsOf, type RecordedOperation } from "./secret-record.ts";
import type { SecretUri } from "#secrets/model/secret-uri.ts";
import type { SecretRef } from "#secrets/model/tenant-guard.ts";
import { isAble } from "#contract/secret-schemes.ts";

export interface OperationPipelineParts extends SecretsContext {
  readonly recognise: ReturnType<typeof createRequesters>;
  readonly decide: ReturnType<typeof createSecretDecision>;
  readonly limit: (caller: string) => void;
  /** Told of whom an act's close has not landed yet; it is retried. */
  readonly unclosed: (who: Who) => void;
}

/** Who wishes something, and with which request. */
export interface Who {
  readonly caller: Caller;
  readonly headers: Headers;
  readonly correlationId: string;
}
/** Of an endpoint's call, the part that says who. */
export interface From extends Omit<Who, "headers"> {
  readonly request: Request;
}
export const whoOf = ({ caller, request, correlationId }: From): Who => ({ caller, headers: request.headers, correlationId });

/** One wish: the body was read, the URI parsed, nothing was decided. */
export interface SecretAsk<R> extends Who {
  readonly operation: SecretOperation;
  readonly uri: SecretUri;
  /** Of `?purpose=`. */
  readonly wanted?: "read" | "execute";
  readonly change?: SecretChange;
  readonly cas?: number;
  /** How places of a store without versions must stand. */
  readonly stands?: readonly Standing[];
  /** The request's own name of the URI, for a refusal; `uri` unless given. */
  readonly argument?: string;
  /** The URI is a place whose secrets are listed: whoever lists decides each of them. */
  readonly isPlace?: boolean;
  /** Whether it did anything; by default an act that changes its store did where it came to touch it. */
  readonly isDone?: (result: R) => boolean;
  /** Members of the record that only the result tells. */
  readonly reported?: (result: R) => Readonly<Record<string, unknown>>;
  /** The act itself; runs only after guard, decision and a committed audit entry. */
  readonly act: (provider: SecretProvider, ref: SecretRef, permit: SecretPermit, more: ActMore) => Promise<R>;
}
export interface ActMore {
  readonly requester: SecretRequester;
  /** To be handed to the provider by whatever changes something. */
  readonly intend: Intend;
  /** As the wish has it. */
  readonly cas: number | undefined;
  readonly stands: readonly Standing[] | undefined;
}

export interface Performed<R> {
  readonly result: R;
  /** False: all was as it was to be already, and nothing was done. */
  readonly isDone: boolean;
  readonly ref: SecretRef;
  readonly provider: string;
  readonly requester: SecretRequester;
  readonly auditId: string;
  readonly decisionId: string | undefined;
  readonly resourceRef: string | undefined;
}

type Wish = Omit<SecretAsk<unknown>, "act" | "reported" | "isDone">;

/** The pipeline, and the part of it that only says whether. */
export interface OperationPipeline {
  <R>(ask: SecretAsk<R>): Promise<Performed<R>>;
  /** Everything that may refuse, a refusal recorded; nothing is touched. */
  look(ask: Wish): Promise<{ readonly decisionId: string | undefined; readonly provider: SecretProvider; readonly ref: SecretRef }>;
}

const PURPOSE_HEADER = "x-purpose";

/** What the URI may not name here, and 501 before anything is asked: what nobody here can do needs no decision. */
const requireProvider = (operation: SecretOperation, uri: SecretUri, providers: OperationPipelineParts["providers"]): SecretProvider => {
  if (uri.version !== undefined && !operation.takesVersion) throw new Problem("uri_version_not_allowed");
  if (uri.key !== undefined && !operation.takesKey) throw new Problem("fragment_not_allowed");
  if (!isAble(uri.scheme, operation.ability)) throw new Problem("not_supported");
  const provider = providers.get(uri.scheme);
  if (provider === undefined) throw new Problem("provider_not_configured");
  if (!provider.can.has(operation.ability)) throw new Problem("not_supported");
  return provider;
};

/** Agents use secrets through tools and never hold one; a person says what for. */
const requireValueReader = (
  operation: SecretOperation,
  requester: SecretRequester,
  headers: Headers,
  policy: SecretsPolicy,
): string | undefined => {
  if (!operation.showsValue) return undefined;
  if (requester.kind === "agent" && !policy.agentsMayAsk) throw new Problem("agent_value_denied");
  if (requester.kind !== "person") return undefined;
  const purpose = headers.get(PURPOSE_HEADER)?.trim();
  if (purpose === undefined && !policy.purposeRequired) return undefined;
  if (purpose === undefined || purpose.length < 10 || purpose.length > 200)
    throw new Problem("purpose_required", { detail: "Send X-Purpose with 10 to 200 characters." });
  return purpose;
};

const changing: ReadonlySet<Purpose> = new Set(["write", "rotate", "delete", "undelete", "destroy_versions"]);
/** What only looks, or is the source of a copy, is done by having succeeded. */
const changesStore = ({ event, purposes: [purpose] }: SecretOperation): boolean => event !== undefined && changing.has(purpose);
/** A rotation to the value that was there already ends no value: it made a version, and is reported as that. */
const isRotation = ({ op }: SecretOperation, result: unknown): boolean =>
  op === "rotate" && (result as Partial<WrittenSecret>).changed !== false;

const isDenial = (problem: Problem): boolean => problem.status === 403 || problem.code === "step_up_required";
/** The decision that a problem names. */
export const decisionOf = (problem: Problem): string | undefined => {
  const id = problem.options.members?.["decision_id"];
  return typeof id === "string" ? id : undefined;
};

/**
 * The pipeline of every secret operation: can the provider? - who asks - tenant guard - scope - decide - open audit - act -
 * close audit with its event. A secret that is forbidden and one that is absent answer alike (403): existence is for those
 * who are permitted. Without a decision or a committed audit entry nothing is touched (503).
 */
export const createOperationPipeline = (parts: OperationPipelineParts): OperationPipeline => {
  const { policy, recorder, metrics, log, tracing = noTracing } = parts;

  const observe = (recorded: RecordedOperation, outcome: string, started: number, code?: string): number => {
    const { operation, provider, requester } = recorded;
    const milliseconds = performance.now() - started;
    metrics.count("secrets_operations_total", { op: operation.op, provider, outcome });
    metrics.observe("secrets_operation_duration_seconds", { op: operation.op, provider }, milliseconds / 1000);
    if (outcome === "denied") metrics.count("secrets_denied_total", { purpose: requester.purpose, code: code ?? "access_denied" });
    log.info("secret_operation", {
      op: operation.op,
      provider,
      purpose: requester.purpose,
      caller_kind: requester.kind,
      outcome,
      code,
      decision_id: recorded.decisionId,
      correlation_id: recorded.correlationId,
      duration_ms: Math.round(milliseconds * 10) / 10,
    });
    return Math.round(milliseconds);
  };

  /** A denial is recorded, with its event, before it is answered. */
  const recordDenial = async (recorded: RecordedOperation, problem: Problem, started: number): Promise<void> => {
    const durationMs = observe(recorded, "denied", started, problem.code);
    const draft = entryOf(recorded, parts.resourceRef);
    try {
      await parts.change(async () => ({
        result: undefined,
        entries: [{ ...draft, outcome: "denied", code: problem.code }],
        events: [eventOf(recorded, parts.resourceRef, { type: "secrets.denied", outcome: "denied", durationMs, code: problem.code })],
      }));
    } catch (cause) {
      throw new Problem("audit_unavailable", { cause });
    }
  };

  /** Everything that may refuse, in its order; what it returns could not have been had without passing. */
  const pass = async (
    ask: Wish,
    provider: SecretProvider,
    requester: SecretRequester,
    learned: (known: Pick<RecordedOperation, "statedPurpose" | "policyVersion">) => void,
  ): Promise<{ ref: SecretRef; permit: SecretPermit }> => {
    const { also = [], scope, showsValue } = ask.operation;
    const ref = await tracing.span(operationSteps.guard.span, {}, async () =>
      policy.guard(requester.tenant, ask.uri, requester.purpose === "execute"),
    );
    if (policy.enforceScopes) for (const needed of [scope, ...also.map((one) => one.scope)]) requireScope(ask.caller, [needed]);
    const statedPurpose = requireValueReader(ask.operation, requester, ask.headers, policy);
    if (statedPurpose !== undefined) learned({ statedPurpose });
    // A workload's reads are bounded by the calls it is permitted; this bounds who reads for himself.
    if (showsValue && requester.kind !== "workload") parts.limit(JSON.stringify([requester.tenant, ask.caller.sub, ask.caller.agent]));
    if (ask.isPlace === true) return { ref, permit: { nodes: new Set() } };
    const nodes = await provider.nodes(ref, ask.change);
    const decide = (purpose: Purpose) =>
      tracing.span(operationSteps.authorize.span, {}, () =>
        parts.decide.require({ ...requester, purpose }, ref, nodes, ask.correlationId, ask.argument, learned),
      );
    const permit = await decide(requester.purpose);
    for (const one of also) await decide(one.purpose);
    return { ref, permit };
  };

  /** Who asks and whether they may; a denial is recorded before it is answered. */
  const enter = async (ask: Wish, started: number) => {
    const provider = requireProvider(ask.operation, ask.uri, parts.providers);
    let recorded: RecordedOperation = {
      operation: ask.operation,
      requester: { kind: "service", caller: ask.caller, purpose: ask.operation.purposes[0], tenant: ask.caller.tenant },
      uri: ask.uri,
      isPlatform: policy.isPlatform(ask.uri),
      provider: provider.name,
      correlationId: ask.correlationId,
      cas: ask.cas,
    };
    let entered: { ref: SecretRef; permit: SecretPermit };
    try {
      const [requester] = await Promise.all([parts.recognise(ask), parts.changes.catchUp(provider)]);
      recorded = { ...recorded, requester };
      entered = await pass(ask, provider, requester, (known) => void (recorded = { ...recorded, ...known }));
    } catch (error) {
      const problem = asProblem(error);
      const decisionId = decisionOf(problem);
      if (isDenial(problem)) await recordDenial({ ...recorded, decisionId }, problem, started);
      throw error;
    }
    const { decisionId } = entered.permit;
    return { ...entered, provider, recorded: { ...recorded, decisionId } };
  };

  const unmarked = (cause: unknown): void => log.warn("secret_change_unmarked", { cause });
  /**
   * The act. Before a store is touched it is marked and kept what is about to be done: what processes keep of it is worth nothing from then
   * on, and whoever comes after this process looks how it ended.
   */
  const act = async <R>(
    ask: SecretAsk<R>,
    provider: SecretProvider,
    ref: SecretRef,
    permit: SecretPermit,
    requester: SecretRequester,
    touched: (intent: Intent) => void,
  ): Promise<R> => {
    const { operation } = ask;
    const uris = [...new Set([ref.id, ...permit.nodes].map((id) => id.split("#", 1)[0] ?? id))];
    let isMarked = false;
    let intentId: string | undefined;
    const of = {
      tenant: ref.tenant,
      uri: ref.id,
      op: operation.op,
      subject: requester.caller.sub,
      decision_id: permit.decisionId ?? null,
      correlation_id: ask.correlationId,
    };
    const intend: Intend = async (intent) => {
      const keep = async (): Promise<void> => void (intentId = await parts.intents.keep(intentId, of, intent));
      const mark = () => parts.changes.begin(ref.tenant, uris);
      await Promise.all([isMarked ? undefined : mark(), operation.isJournaled === true ? undefined : keep()]);
      isMarked = true;
      touched(intent);
    };
    const end = async (state: IntentEnd, done: Done | undefined): Promise<void> => {
      if (!isMarked) return;
      await Promise.all([
        parts.changes.end(uris, done, provider),
        intentId === undefined ? undefined : parts.intents.end(intentId, state),
      ]).catch(unmarked);
    };
    let result: R;
    try {
      result = await ask.act(provider, ref, permit, { requester, intend, cas: ask.cas, stands: ask.stands });
    } catch (error) {
      const problem = asProblem(error);
      // Of what is not known to have failed mark and intent stay, until somebody has looked.
      if (problem.status < 500) await end("failed", undefined);
      if (problem.code !== "outcome_unknown" || intentId === undefined) throw error;
      throw new Problem("outcome_unknown", { cause: error, members: { ...problem.options.members, intent_id: intentId } });
    }
    const { version, isFirst } = (result ?? {}) as { readonly version?: unknown; readonly isFirst?: unknown };
    await end("completed", {
      tenant: ref.tenant,
      by: requester.caller.sub,
      isRotation: isRotation(operation, result),
      isFirst: isFirst === true,
      ...(typeof version === "number" ? { version } : {}),
    });
    return result;
  };
  const perform = async <R>(ask: SecretAsk<R>): Promise<Performed<R>> => {
    const started = performance.now();
    const { ref, permit, provider, recorded } = await enter(ask, started);
    const draft = entryOf(recorded, parts.resourceRef);
    const opened = await tracing.span(operationSteps.open.span, {}, () => recorder.open(draft));
    const audit: typeof opened = { ...opened, close: (...how) => tracing.span(operationSteps.close.span, {}, () => opened.close(...how)) };
    let intent: Intent | undefined;
    const touched = (one: Intent): void => void (intent = one);
    let result: R;
    try {
      result = await tracing.span(`provider.${provider.name}`, { kind: "client" }, () =>
        act(ask, provider, ref, permit, recorded.requester, touched),
      );
    } catch (error) {
      const problem = asProblem(error);
      const outcome = problem.code === "outcome_unknown" ? "unknown" : problem.status < 500 ? "refused" : "error";
      const { intent_id } = problem.options.members ?? {};
      const may = outcome === "refused" ? {} : versionsOf(intent, undefined);
      const durationMs = observe(recorded, outcome, started, problem.code);
      await audit.close(outcome, { ...draft.data, ...may, duration_ms: durationMs, intent_id }, { code: problem.code });
      throw error;
    }
    // What is recorded and reported is what was done, never what was wanted.
    const isDone = ask.isDone?.(result) ?? (intent !== undefined || !changesStore(ask.operation));
    const [outcome, code] = isDone ? (["ok"] as const) : (["refused", NOT_DONE] as const);
    const durationMs = observe(recorded, outcome, started, code);
    const reported = isDone ? { ...versionsOf(intent, result), ...ask.reported?.(result) } : {};
    const made = ask.operation.op === "rotate" && !isRotation(ask.operation, result) ? secretOperations.write : ask.operation;
    const events = (isDone ? eventTypesOf(made, ref, intent?.wanted) : []).map((type) =>
      eventOf(recorded, parts.resourceRef, { type, outcome, durationMs, reported }),
    );
    const closed = await audit.close(outcome, { ...draft.data, ...reported, duration_ms: durationMs }, { code, events });
    if (closed === "pending") parts.unclosed(ask);
    return {
      result,
      isDone,
      ref,
      provider: provider.name,
      requester: recorded.requester,
      auditId: audit.actId,
      decisionId: recorded.decisionId,
      resourceRef: refOf(recorded, parts.resourceRef),
    };
  };

  const pipeline = <R>(ask: SecretAsk<R>): Promise<Performed<R>> => tracing.span(`secret.${ask.operation.op}`, {}, () => perform(ask));
  const look: OperationPipeline["look"] = async (ask) => {
    const { permit, provider, ref } = await enter(ask, performance.now());
    return { decisionId: permit.decisionId, provider, ref };
  };
  return Object.assign(pipeline, { look });
};
