import { createTransport } from "nodemailer";
import { NotDelivered } from "#events/relay/deliverer.ts";

export interface MailServer {
  /** smtp (STARTTLS) or smtps; a user before the host signs in. */
  readonly url: string;
  readonly password: () => Promise<string | undefined>;
  /** `Name <address>` or an address. */
  readonly from: string;
  /** Nothing is sent without TLS. */
  readonly requiresTls: boolean;
  /** Host of the deployment, by which it greets and names messages. */
  readonly host: string;
  /** Authorities (PEM) besides the public ones. */
  readonly ca?: string | undefined;
  readonly timeoutMs?: number;
}

/** One mail: nothing else leaves. */
export interface Mail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}
export type SendMail = (mail: Mail) => Promise<void>;

/** What is no single address would be read as several. */
const ADDRESS = /^[^\s<>,;:"()@]+@[^\s<>,;:"()@]+$/;
const TIMEOUT_MS = 10_000;
const DEFAULT_PORTS = { "smtp:": 587, "smtps:": 465 };

/**
 * Sends mail, a connection each. Throws `NotDelivered` where the server refuses the message or its receiver; what else is thrown is a fault of
 * the deployment's own mail server, which may go.
 */
export const createMailer = (options: MailServer): SendMail => {
  const url = new URL(options.url);
  const isSecure = url.protocol === "smtps:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const timeout = options.timeoutMs ?? TIMEOUT_MS;
  let password: Promise<string | undefined> | undefined;
  return async ({ id, to, subject, text }) => {
    if (!ADDRESS.test(to)) throw new NotDelivered("the person's address is none", { isFinal: true });
    const user = decodeURIComponent(url.username);
    const pass = user === "" ? undefined : await (password ??= options.password());
    const transport = createTransport({
      host,
      port: Number(url.port) || DEFAULT_PORTS[isSecure ? "smtps:" : "smtp:"],
      name: options.host,
      secure: isSecure,
      requireTLS: options.requiresTls && !isSecure,
      tls: { minVersion: "TLSv1.2", ...(options.ca === undefined ? {} : { ca: options.ca }) },
      ...(pass === undefined ? {} : { auth: { user, pass } }),
      connectionTimeout: timeout,
      greetingTimeout: timeout,
      socketTimeout: timeout,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      await transport.sendMail({
        from: options.from,
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@${options.host}>`,
        xMailer: false,
        headers: { "Auto-Submitted": "auto-generated" },
      });
    } catch (error) {
      const { code, responseCode = 0 } = error as { readonly code?: string; readonly responseCode?: number };
      if (code === "EAUTH") password = undefined;
      // Of the answer's words none are kept: they may name the person.
      if (["EENVELOPE", "EMESSAGE"].includes(code ?? "") && responseCode >= 400)
        throw new NotDelivered(`the mail server answers ${responseCode}`, { isFinal: responseCode >= 500 });
      throw new Error(`the mail server cannot be used (${code ?? "unknown"})`, { cause: error });
    } finally {
      transport.close();
    }
  };
};
