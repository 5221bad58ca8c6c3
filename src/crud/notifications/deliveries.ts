import { ask } from "#contract/ask.ts";
import { askContacts, MAX_MAILED, MAX_RECIPIENTS } from "#contract/notifications.ts";
import type { ReplyOf } from "#contract/endpoint.ts";
import type { Notice, SinkRow } from "#events/model/notice.ts";
import type { Deliver, DueRow } from "#events/relay/deliverer.ts";
import type { Database } from "#store/database.ts";
import { asService, type MembershipParts } from "#crud/model/ask-membership.ts";
import { isSecret } from "./channel-document.ts";
import { channelKinds, type PlacedChannels } from "./placed-channels.ts";
import type { SendMail } from "./mailer.ts";
import type { ReadSecret } from "./read-secret.ts";
import { wantsMail } from "./serve-choice.ts";
import { leadOf, sendWebhook, type Message } from "./webhook.ts";

export interface DeliveryContext extends MembershipParts {
  readonly database: Database;
  readonly channels: PlacedChannels;
  /** Absent: no mail. */
  readonly sendMail: SendMail | undefined;
  readonly readSecret: ReadSecret;
  /** Whether nothing waits any more; `since` is the outbox place of the notice. */
  readonly isSettled: (notice: Notice, since: bigint) => Promise<boolean>;
  /** The operator's tenant, whose secrets channels of several tenants use. */
  readonly operator: () => Promise<string | undefined>;
  readonly publicOrigin: string;
  readonly webhookDeadlineMs?: number | undefined;
}

/** A notice on its way to one receiver. */
interface Addressed {
  readonly notice: Notice;
  /** Of the notice in the outbox. */
  readonly since: string;
  /** When it was written. */
  readonly at: string;
  /** Of mail: the person. */
  readonly to?: string;
}

const SETTLED = { skipped: "settled before it was sent" };

/** What the sinks do: a notice becomes one row a receiver and channel, each of which is sent unless it is settled by then. */
export const createDeliveries = (parts: DeliveryContext): Readonly<Record<SinkRow["sink"], Deliver>> => {
  const { channels, sendMail } = parts;
  const contactsOf = async (tenant: string, ids: readonly string[]): Promise<ReplyOf<typeof askContacts>["contacts"]> => {
    if (ids.length === 0) return [];
    const headers = await asService(parts, ["pip.read"], "notifications");
    const body = { tenant_id: tenant, ids: ids.slice(0, MAX_RECIPIENTS) };
    return (await ask(parts.membership, askContacts, { body, headers })).contacts;
  };
  const messageOf = async ({ id }: DueRow, { notice, at }: Addressed): Promise<Message> => {
    const { kind, title, from, href, tenant } = notice;
    const [person] = await contactsOf(tenant, [from]);
    const url = `${parts.publicOrigin}${href}`;
    return { id, kind: channelKinds[kind] ?? "task", title, from: person?.name ?? from, url, tenant, at };
  };
  const isSettled = ({ notice, since }: Addressed): Promise<boolean> => parts.isSettled(notice, BigInt(since));

  return {
    notice: async ({ seq, tenant, data, at }) => {
      const { recipients, ...rest } = data as Notice;
      const notice = { ...rest, recipients: [] };
      const addressed: Addressed = { notice, since: String(seq), at };
      if (await isSettled(addressed)) return SETTLED;
      // Who is in a group is known to the graph alone; of too many nobody is mailed to.
      const persons = sendMail === undefined ? [] : await contactsOf(tenant, recipients);
      const mailed = persons.length > MAX_MAILED ? [] : persons.filter(({ email }) => email !== null);
      const rows: readonly SinkRow[] = [
        ...channels.of(tenant, notice.kind).map((key) => ({ tenant, sink: "webhook" as const, key, data: addressed })),
        ...mailed.map((person) => ({ tenant, sink: "mail" as const, key: "mail", data: { ...addressed, to: person.id } })),
      ];
      return rows.length > 0 ? { rows } : { skipped: "nobody is reached by a channel" };
    },
    mail: async (row) => {
      const addressed = row.data as Addressed;
      const { tenant } = row;
      const { to = "" } = addressed;
      if (sendMail === undefined) return { skipped: "mail is off" };
      if (await isSettled(addressed)) return SETTLED;
      const [person] = await contactsOf(tenant, [to]);
      if (typeof person?.email !== "string" || !(await wantsMail(parts.database, tenant, to))) return { skipped: "the person wants none" };
      const message = await messageOf(row, addressed);
      const text = `${leadOf(message)}\n\n${message.title}\n\n${message.url}\n`;
      await sendMail({ id: row.id, to: person.email, subject: message.title, text });
      return {};
    },
    webhook: async (row) => {
      const addressed = row.data as Addressed;
      const channel = channels.find(row.key, row.tenant, addressed.notice.kind);
      if (channel === undefined) return { skipped: "the channel takes none" };
      if (await isSettled(addressed)) return SETTLED;
      const { tenants, url, signing_secret: key } = channel.document;
      const owner = tenants?.length === 1 ? row.tenant : ((await parts.operator()) ?? row.tenant);
      const [target, secret] = await Promise.all([
        isSecret(url) ? parts.readSecret(owner, url) : url,
        key === undefined ? undefined : parts.readSecret(owner, key),
      ]);
      await sendWebhook(channel, await messageOf(row, addressed), { url: target, secret, deadlineMs: parts.webhookDeadlineMs });
      return {};
    },
  };
};
