import type { CedarParts } from "#pdp/decision/cedar.ts";
import { randomUUID } from "node:crypto";
import type { EvaluationReply } from "#contract/authzen.ts";
import { Problem } from "#contract/problem.ts";
import type { Log } from "#telemetry/log.ts";
import { createPointClient } from "#pdp-client/ask-point.ts";
import { createPointBreaker } from "#pdp-client/point-breaker.ts";
import { isLast, readEvaluation, readEvaluations, type ReadAnswer } from "#pdp-client/point-answers.ts";
import { ConfigurationRefused } from "#pdp/model/configuration-file.ts";
import type { Ask } from "#pdp/model/ask.ts";
import type { DecidedBatch, DecisionPoint, Verdict } from "#pdp/engine/decision-point.ts";
import { informAsks } from "#pdp/facts/gather.ts";
import { createPlacing } from "#pdp/decision/resolve.ts";
import type { Question } from "#pdp/model/question.ts";
import type { Vocabulary } from "#pdp/engine/vocabulary.ts";
import { createCredential, type RemoteSecrets } from "./credential.ts";
import { createDiscovery, MetadataRefused } from "./discovery.ts";
import { remoteItem } from "./remote-ask.ts";
import type { RemoteDecisionPoint } from "#pdp/model/remote-config.ts";
import { floorOf, readVerdict, verdictOf } from "./remote-verdict.ts";
import { compileSubjectProperties } from "./subject-properties.ts";

export interface RemoteParts extends Pick<CedarParts, "facts" | "decisions" | "metrics" | "now"> {
  readonly remote: RemoteDecisionPoint;
  readonly configFile: string;
  readonly secrets: RemoteSecrets;
  readonly vocabulary: Vocabulary;
  /** Pairs that an agent may be asked about at all. */
  readonly isInAgentReach: (pair: string) => boolean;
  readonly log: Log;
}

interface Open {
  readonly index: number;
  readonly ask: Ask;
  readonly tenant: string;
  readonly question: Question;
}

/** Words that Sallyport does not have are the other decision point's own. */
const foreignPair = ({ resource, action }: Ask): Question["pair"] => ({
  type: resource.type,
  action,
  key: `${resource.type}:${action}`,
  of: "named",
  entity: "",
});

const failureKinds: Readonly<Record<string, string>> = { pdp_unavailable: "unavailable", pdp_bad_answer: "bad_answer" };

/**
 * Pieces for one call each, in order. Some decision points know the items of a call by type and id of the resource alone
 * (Cerbos does): what is said otherwise of the same resource must go in another call, or one answer stands for both.
 */
const chunksOf = (all: readonly Open[], size: number): readonly (readonly Open[])[] => {
  const chunks: Open[][] = [];
  let said = new Map<string, string>();
  for (const one of all) {
    const { subject, agents, resource, props } = one.ask;
    const name = JSON.stringify([resource.type, one.question.resourceId]);
    const saying = JSON.stringify([subject, agents, props]);
    const chunk = chunks.at(-1);
    if (chunk === undefined || chunk.length >= size || (said.get(name) ?? saying) !== saying) {
      chunks.push([one]);
      said = new Map([[name, saying]]);
    } else {
      chunk.push(one);
      said.set(name, saying);
    }
  }
  return chunks;
};

/**
 * Another decision point behind the same port. The walls of Sallyport stand before it (tenant, what is not there, disabled
 * identities, delegations); all else it decides, believed only where its answer has the exact form. Throws `ConfigurationRefused`
 * when what answers at its address is not what is configured; one that does not answer is asked again with every question.
 */
export const createRemote = async (parts: RemoteParts): Promise<DecisionPoint> => {
  const { remote, metrics, log } = parts;
  const properties = compileSubjectProperties(remote.subject_properties, parts.configFile);
  const credential = createCredential(remote, parts.secrets, parts.now);
  const discovery = createDiscovery({ identifier: remote.identifier, timeoutMs: remote.timeout_ms });
  const askPoint = createPointClient({
    pdp: (request) => fetch(request),
    timeoutMs: remote.timeout_ms,
    breaker: createPointBreaker(parts.now),
  });
  const place = createPlacing({ decisions: parts.decisions, vocabulary: parts.vocabulary, foreignPair, now: parts.now });
  const policyVersion = `remote:${remote.identifier}`;

  await discovery.look().catch((cause: unknown) => {
    if (cause instanceof MetadataRefused)
      throw new ConfigurationRefused([
        { path: `${parts.configFile}#/decision_point/identifier`, file: parts.configFile, message: cause.message },
      ]);
    metrics.count("pdp_remote_failures_total", { kind: "discovery" });
    log.warn("pdp_remote_unreachable", { identifier: remote.identifier, cause });
  });

  const call = async <T>(path: URL, body: unknown, read: ReadAnswer<T>): Promise<T> => {
    const answer = await askPoint({
      path,
      body: JSON.stringify(body),
      authorization: await credential.authorization(),
      correlationId: randomUUID(),
      requestId: undefined,
      read,
      signal: new AbortController().signal,
    });
    return answer.value;
  };

  const send = async (open: readonly Open[]): Promise<readonly EvaluationReply[]> => {
    const endpoints = await discovery.endpoints();
    const items = open.map(({ ask, question }) => remoteItem(ask, question, remote.facts, properties));
    const one = async (item: unknown) => (await call(endpoints.evaluation, item, readEvaluation))[0] as EvaluationReply;
    if (items.length === 1 || endpoints.evaluations === undefined) {
      const replies: EvaluationReply[] = [];
      for (const item of items) replies.push(await one(item));
      return replies;
    }
    // Every decision point knows the plain semantic; where to stop is settled here.
    const body = { evaluations: items, options: { evaluations_semantic: "execute_all" } };
    return call(endpoints.evaluations, body, readEvaluations(items.length, "execute_all"));
  };

  const decide = async (open: readonly Open[]): Promise<readonly Verdict[]> => {
    try {
      const replies = await send(open);
      return open.map(({ ask, tenant, question }, index) => readVerdict(ask, tenant, question, replies[index] as EvaluationReply));
    } catch (cause) {
      const problem = cause instanceof Problem ? cause : new Problem("pdp_bad_answer", { cause });
      if ((problem.cause as { status?: unknown } | undefined)?.status === 401) credential.forget();
      metrics.count("pdp_remote_failures_total", { kind: failureKinds[problem.code] ?? "other" });
      log.warn("pdp_remote_failed", { code: problem.code, cause: problem.cause });
      throw problem;
    }
  };

  const evaluateMany: DecisionPoint["evaluateMany"] = async (asks, semantic): Promise<DecidedBatch> => {
    const started = performance.now();
    const { graphVersion, items } = await informAsks(asks, parts);
    metrics.observe("pdp_facts_seconds", {}, (performance.now() - started) / 1000);
    const verdicts: Verdict[] = [];
    const open: Open[] = [];
    for (const [index, informed] of items.entries()) {
      const placed = await place(informed);
      if ("refused" in placed) {
        verdicts[index] = placed.refused;
        continue;
      }
      const reason = floorOf(placed.question, parts.isInAgentReach);
      if (reason === undefined) open.push({ index, ...placed });
      else verdicts[index] = verdictOf(placed.ask, placed.tenant, placed.question, { decision: false, reason });
    }
    const fill = async (chunk: readonly Open[]): Promise<void> => {
      const decided = await decide(chunk);
      for (const [at, { index }] of chunk.entries()) verdicts[index] = decided[at] as Verdict;
    };
    const chunks = chunksOf(open, remote.max_batch);
    if (semantic === "execute_all") await Promise.all(chunks.map(fill));
    else {
      for (const chunk of chunks) {
        // A denial of Sallyport's own before this chunk may have ended it.
        if (verdicts.slice(0, chunk[0]?.index).some((verdict) => isLast(semantic, verdict))) break;
        await fill(chunk);
      }
      const last = verdicts.findIndex((verdict) => verdict !== undefined && isLast(semantic, verdict));
      if (last !== -1) verdicts.length = last + 1;
    }
    return { policyVersion, graphVersion, verdicts };
  };

  return {
    evaluateMany,
    policyVersion: () => policyVersion,
    ready: async () => [
      ...((await parts.facts.ready()) ? [] : ["facts"]),
      ...(await discovery.look().then(
        () => [],
        () => ["decision_point"],
      )),
    ],
  };
};
