import { createHmac } from "node:crypto";
import { NotDelivered } from "#events/relay/deliverer.ts";
import { untrustedCode } from "#http/trusting-fetch.ts";
import { AddressRefused, createGuardedAgent } from "#crud/upstream/guarded-agent.ts";
import type { ChannelKind } from "./channel-document.ts";
import type { Channel } from "./placed-channels.ts";

/** All that leaves Sallyport of a notice. */
export interface Message {
  /** Of the delivery; the same for each attempt. */
  readonly id: string;
  readonly kind: ChannelKind;
  readonly title: string;
  /** Name of who asks. */
  readonly from: string;
  readonly url: string;
  readonly tenant: string;
  /** RFC 3339. */
  readonly at: string;
}

const DEADLINE_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;
const CARD = "application/vnd.microsoft.card.adaptive";

export const leadOf = ({ kind, from }: Pick<Message, "kind" | "from">): string =>
  kind === "task" ? `${from} waits for you:` : `${from} asks for ${kind === "access_request" ? "access" : "an approval"}:`;

const slackText = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Texts of others are shown as they are: no mark-up, link or mention of theirs takes effect. */
const bodies: Readonly<Record<Channel["document"]["format"], (message: Message) => unknown>> = {
  generic: ({ from, ...message }) => ({ ...message, from: { name: from } }),
  slack: (message) => ({
    text: `${slackText(leadOf(message))} ${slackText(message.title)} <${message.url}|Open>`,
    parse: "none",
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  }),
  teams: (message) => ({
    type: "message",
    attachments: [
      {
        contentType: CARD,
        content: {
          type: "AdaptiveCard",
          version: "1.4",
          // A text block would read Markdown in them.
          body: [leadOf(message), message.title].map((text) => ({ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] })),
          actions: [{ type: "Action.OpenUrl", title: "Open", url: message.url }],
        },
      },
    ],
  }),
};

const KEY_BYTES = { least: 24, most: 64 };
/** Headers of Standard Webhooks. Throws `NotDelivered`. */
const signed = (id: string, body: string, secret: string): Readonly<Record<string, string>> => {
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ""), "base64");
  if (key.length < KEY_BYTES.least || key.length > KEY_BYTES.most)
    throw new NotDelivered("its signing secret is not whsec_ and 24 to 64 bytes in base64", { isFinal: true });
  const at = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${signature}` };
};

const failureOf = (error: unknown): NotDelivered => {
  if (error instanceof NotDelivered) return error;
  if (error instanceof AddressRefused)
    return new NotDelivered(error.reason === "not_found" ? "its host is not known" : `its address may not be dialled (${error.reason})`, {
      isFinal: error.reason !== "not_found",
    });
  const untrusted = untrustedCode(error);
  if (untrusted !== undefined) return new NotDelivered(`its certificate is not trusted (${untrusted})`);
  return new NotDelivered(/Timeout|Abort/.test((error as Error).name) ? "it did not answer within 10 s" : "it cannot be reached");
};

/** Sends a message once, under the channel's network rules, and follows no redirect. Throws `NotDelivered`. */
export const sendWebhook = async (
  { document, rules }: Channel,
  message: Message,
  {
    url: text,
    secret,
    deadlineMs = DEADLINE_MS,
  }: { readonly url: string; readonly secret: string | undefined; readonly deadlineMs?: number },
): Promise<void> => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw new NotDelivered("its address is no https URL", { isFinal: true });
  const body = JSON.stringify(bodies[document.format](message));
  const agent = createGuardedAgent({ rules });
  try {
    const signature = secret === undefined ? {} : signed(message.id, body, secret);
    const {
      statusCode,
      headers,
      body: answer,
    } = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "sallyport", ...signature },
      body,
      signal: AbortSignal.timeout(deadlineMs),
    });
    await answer.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    if (statusCode >= 200 && statusCode < 300) return;
    if (statusCode < 400) throw new NotDelivered(`it redirects (${statusCode}): name the address that it leads to`, { isFinal: true });
    const seconds = Number(headers["retry-after"]);
    const isFinal = statusCode < 500 && statusCode !== 429;
    throw new NotDelivered(`it answers ${statusCode}`, { isFinal, afterSeconds: seconds > 0 ? seconds : undefined });
  } catch (error) {
    throw failureOf(error);
  } finally {
    void agent.destroy().catch(() => undefined);
  }
};
