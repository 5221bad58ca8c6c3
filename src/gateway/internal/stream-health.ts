import type { LiveBus } from "#events/streams/live-bus.ts";
import { streamHealth } from "#contract/health.ts";
import { Problem } from "#contract/problem.ts";
import { sseFrame } from "#http/sse.ts";
import { personalSseHeaders } from "#gateway/proxy/cache-control.ts";
import { reply } from "#gateway/model/reply.ts";
import type { RouteCall } from "#gateway/steps/route-call.ts";
import type { SessionRecord } from "#gateway/sessions/session-store.ts";
import type { ConfigWatch } from "#events/streams/config-watch.ts";
import { watchRight } from "#gateway/streams/right-watch.ts";
import type { ByeReason } from "#events/streams/stream.ts";
import type { Recheck } from "#events/streams/recheck.ts";
import type { StreamRegistry } from "#gateway/streams/stream-registry.ts";
import { comeBackMs, RETRY_MS, STREAM_AGE_MS } from "#gateway/streams/stream-times.ts";

export interface StreamHealthParts {
  readonly bus: Pick<LiveBus, "isFresh" | "head">;
  readonly isEmbedded: boolean;
  readonly registry: StreamRegistry;
  readonly rightChanges: ConfigWatch;
  /** Until when it lives, as `Sessions.livesUntil`. Throws when the session has ended. */
  readonly requireLiving: (record: SessionRecord) => Promise<number>;
  /** Whether the streams' upstream answers. */
  readonly isUpstreamUp: () => Promise<boolean>;
  readonly now: () => Date;
}

const PERIOD_MS = 15_000;

/**
 * `GET /api/v1/stream/health`: whether live streams tell the truth now, for the caller's own tenant. JSON, or with
 * `Accept: text/event-stream` the same as an event each 15 s, on a stream that ends as the relayed ones do.
 */
export const createStreamHealth = (parts: StreamHealthParts) => {
  const look = async (tenant: string) => {
    const isFresh = parts.bus.isFresh();
    const isUp = await parts.isUpstreamUp();
    const heads = isFresh
      ? await Promise.all(
          (["config", "workflow", "activity"] as const).map(async (name) => ({ name, head: Number(await parts.bus.head(tenant, name)) })),
        )
      : [];
    return {
      status: !isFresh ? ("unhealthy" as const) : isUp ? ("healthy" as const) : ("degraded" as const),
      at: parts.now().toISOString(),
      bus: { mode: parts.isEmbedded ? ("embedded" as const) : ("listen" as const), fresh: isFresh },
      upstreams: { crud: isUp ? ("up" as const) : ("down" as const) },
      clients: { open: parts.registry.open, limit: parts.registry.limit },
      streams: heads,
    };
  };

  const stream = async (call: RouteCall, record: SessionRecord): Promise<Response> => {
    const place = parts.registry.claim({ sessionRef: record.ref, clientAddress: call.inbound.clientAddress });
    // It may have ended while the decision was asked, when there was no place yet to be told at.
    const until = await parts.requireLiving(record).catch((error: unknown) => {
      place.release();
      throw error;
    });
    const bytes = new TextEncoder();
    let timer: NodeJS.Timeout | undefined;
    let age: NodeJS.Timeout | undefined;
    let watch: Recheck | undefined;
    let isOpen = true;
    const close = (): void => {
      isOpen = false;
      clearInterval(timer);
      clearTimeout(age);
      watch?.stop();
      place.release();
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const write = (text: string) => isOpen && controller.enqueue(bytes.encode(text));
        const tell = async (): Promise<void> => {
          const value = await look(record.tenant);
          write(sseFrame({ event: "health", data: JSON.stringify(value) }));
        };
        const bye = (reason: ByeReason): void => {
          if (!isOpen) return;
          const data = { type: "bye", at: parts.now().toISOString(), reason, retry_ms: comeBackMs() };
          write(sseFrame({ event: "bye", data: JSON.stringify(data) }));
          close();
          controller.close();
        };
        const tellOrEnd = (): void => {
          if ((controller.desiredSize ?? 0) < -64) bye("slow");
          else tell().catch(() => bye("upstream"));
        };
        write(sseFrame({ retry: RETRY_MS }));
        timer = setInterval(tellOrEnd, PERIOD_MS).unref();
        age = setTimeout(() => bye("limit"), STREAM_AGE_MS).unref();
        watch = watchRight({ ...parts, tenant: record.tenant, until, recheck: call.recheck, lost: bye });
        place.opened({ bye, recheck: watch.soon });
        tellOrEnd();
      },
      cancel: close,
    });
    return new Response(body, { headers: personalSseHeaders });
  };

  return async (call: RouteCall, record: SessionRecord): Promise<Response> => {
    if ((call.inbound.headers.get("accept") ?? "").includes("text/event-stream")) return stream(call, record);
    const value = await look(record.tenant).catch((cause: unknown) => {
      throw new Problem("store_unavailable", { cause });
    });
    return reply(streamHealth, value, value.status === "unhealthy" ? { status: 503, headers: { "retry-after": "5" } } : {});
  };
};
