import { setTimeout as wait } from "node:timers/promises";
import { discard, type Answer } from "#gateway/model/answer.ts";
import type { RouteService } from "#gateway/routes/route-service.ts";
import { exchange, ExchangeFailure } from "./exchange.ts";
import { createInstances, type Instance } from "./instances.ts";
import { createRetryBudget } from "./retry-budget.ts";
import { tellDeadline, type Upstream, type UpstreamCall } from "./upstream.ts";
import { isGatewayStatus, isRepeatable, isUpstreamError, problemOfFailure } from "./upstream-failures.ts";

/** How one attempt ended, and whether another one may follow. */
type Attempt =
  | { readonly answer: Answer; readonly instance: Instance; readonly mayRepeat: boolean }
  | { readonly problem: unknown; readonly instance: Instance; readonly mayRepeat: boolean };

/** A body that has been passed on piece by piece is gone; one that lies here whole can be sent again. */
const isWhole = (call: UpstreamCall): boolean => call.body === undefined || call.body instanceof Uint8Array;

const jitterMs = (): number => 10 + Math.random() * 40;

/**
 * A service at the other end of HTTP/1.1, at one address or several; path and query go out byte for byte. What failed is
 * tried once more, elsewhere if there is an elsewhere: what was never sent always, the rest only where twice is the same as
 * once; nothing of which a byte was answered.
 */
export const createHttpUpstream = async (service: RouteService, connectMs: number, internalCa?: readonly string[]): Promise<Upstream> => {
  const instances = await createInstances(service, connectMs, internalCa);
  const budget = createRetryBudget(service.pool);

  const attempt = async (call: UpstreamCall, except?: Instance): Promise<Attempt> => {
    const asked = { isStream: call.isStream, signal: call.signal, except };
    const given = instances.lease(asked);
    const { instance, release } = given instanceof Promise ? await given : given;
    const pool = call.isStream ? instance.streams : instance.requests;
    tellDeadline(call);
    try {
      const answer = await exchange(pool, `${instance.base}${call.path}${call.query}`, call, release);
      const isAway = isGatewayStatus(answer.status);
      instances.note(instance, isAway && !service.isInternal ? "failed" : "ok");
      return { answer, instance, mayRepeat: isAway && isRepeatable(call) };
    } catch (error) {
      const problem = problemOfFailure(error, call);
      const failure = error instanceof ExchangeFailure ? error : undefined;
      if (isUpstreamError(problem)) instances.note(instance, failure?.wasSent === false ? "unreached" : "failed");
      const mayRepeat = failure !== undefined && (!failure.wasSent || (!failure.wasAnswered && isRepeatable(call)));
      return { problem, instance, mayRepeat };
    }
  };
  const outcome = (made: Attempt): Answer => {
    if ("problem" in made) throw made.problem;
    return made.answer;
  };

  return {
    bases: service.baseUrls.map((text) => new URL(text)),
    send: async (call) => {
      budget.called();
      const first = await attempt(call);
      if (!first.mayRepeat || call.retry === "never" || !isWhole(call) || !budget.take()) return outcome(first);
      if ("answer" in first) discard(first.answer, "it is asked again");
      await wait(jitterMs(), undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason;
      });
      return outcome(await attempt(call, first.instance));
    },
    retire: () => instances.close(),
    [Symbol.asyncDispose]: () => instances.destroy(),
  };
};
