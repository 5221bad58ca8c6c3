import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { Interaction, InteractionResults } from "oidc-provider";
import { Problem } from "#contract/problem.ts";
import type { Log } from "#telemetry/log.ts";
import type { Sealer } from "#authn/sealing/seal.ts";
import type { Checked, Factors } from "./factors.ts";
import { codePage, messagePage, passwordPage, sendPage } from "./page.ts";
import { asksStrong } from "./sign-in-policy.ts";
import type { Person, SignIns } from "./sign-ins.ts";
import { gatherBytes } from "#http/read-bytes.ts";

const PATH = /^\/sign-in\/([A-Za-z0-9_-]{10,64})(\/code|\/cancel)?$/;
const MAX_FORM_BYTES = 8192;
const PROOF_SECONDS = 300;

export const signInPath = (uid: string): string => `/sign-in/${uid}`;

export interface SignInParts {
  readonly provider: Provider;
  readonly factors: Factors;
  readonly signIns: SignIns;
  readonly sealer: Sealer;
  readonly issuerOrigin: string;
  readonly publicOrigins: readonly string[];
  readonly now: () => Date;
  readonly log: Log;
}

const issueText = (why: Exclude<Checked<unknown>, { ok: true }>["why"], wrong: string): string => {
  if (why === "locked") return "Too many wrong tries. Wait five minutes, then try again.";
  if (why === "used") return "This code was used already. Wait for the next one.";
  if (why === "no_secret") return "No authenticator app is set up for this person.";
  return wrong;
};

const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const bytes = await gatherBytes(request, MAX_FORM_BYTES, () => new Problem("body_too_large"));
  return new URLSearchParams(bytes.toString("utf8"));
};

/**
 * The sign-in pages: name and password, then a one-time code when the client asked for `strong`. A session that is there
 * and fresh enough is asked for the code alone. Returns false for a path that is not theirs.
 */
export const createSignIn = (parts: SignInParts): ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>) => {
  const { provider, factors } = parts;
  const expired = messagePage("This sign-in has expired", "Go back to Sallyport and sign in again.", 400);

  const prove = (uid: string, person: Person): string =>
    Buffer.from(parts.sealer.seal(JSON.stringify([person.sub, parts.now().getTime()]), `first-factor ${uid}`)).toString("base64url");
  const provenBy = (uid: string, proof: string): Person | undefined => {
    const text = parts.sealer.open(Buffer.from(proof, "base64url"), `first-factor ${uid}`);
    if (text === undefined) return undefined;
    const [sub, at] = JSON.parse(text) as [string, number];
    return parts.now().getTime() - at > PROOF_SECONDS * 1000 ? undefined : factors.find(sub);
  };

  /** The person whose session stands, when nothing but the second factor is missing. */
  const sessionPerson = (interaction: Interaction): Person | undefined => {
    const { accountId } = interaction.session ?? {};
    const onlyStrong = interaction.prompt.reasons.every((reason) => reason === "strong_sign_in");
    return onlyStrong && accountId !== undefined ? factors.find(accountId) : undefined;
  };

  const targets = (interaction: Interaction): readonly string[] => {
    const uri = URL.parse(String(interaction.params["redirect_uri"]));
    return uri === null ? [] : [uri.origin];
  };

  const showPassword = (response: ServerResponse, interaction: Interaction, login: string, issue?: string): void => {
    const isStepUp = interaction.session?.accountId !== undefined;
    sendPage(
      response,
      passwordPage({
        action: signInPath(interaction.uid),
        login,
        persons: parts.signIns.persons,
        formTargets: targets(interaction),
        why: isStepUp ? "Confirm who you are." : undefined,
        issue,
        passwordHint: parts.signIns.passwordHint,
      }),
    );
  };
  const showCode = (response: ServerResponse, interaction: Interaction, person: Person, proof?: string, issue?: string): void =>
    sendPage(
      response,
      codePage({
        action: `${signInPath(interaction.uid)}/code`,
        abortAction: `${signInPath(interaction.uid)}/cancel`,
        login: person.login,
        isDemo: parts.signIns.passwordHint !== undefined,
        formTargets: targets(interaction),
        proof,
        issue,
      }),
    );

  /** Back to the client that asked. */
  const leave = (request: IncomingMessage, response: ServerResponse, result: InteractionResults): Promise<void> =>
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });

  const finish = (request: IncomingMessage, response: ServerResponse, person: Person, strong: boolean): Promise<void> => {
    const how = strong ? { amr: ["pwd", "otp"], acr: "strong" } : { amr: ["pwd"] };
    return leave(request, response, { login: { accountId: person.sub, ts: Math.floor(parts.now().getTime() / 1000), ...how } });
  };

  const takePassword = async (request: IncomingMessage, response: ServerResponse, interaction: Interaction): Promise<void> => {
    const form = await readForm(request);
    const login = form.get("login") ?? "";
    const found = await factors.password(login, form.get("password") ?? "");
    if (!found.ok) {
      parts.log.info("sign_in_refused", { factor: "password", why: found.why });
      return showPassword(response, interaction, login, issueText(found.why, "The name or the password is wrong."));
    }
    if (asksStrong(interaction.params["acr_values"]))
      return showCode(response, interaction, found.value, prove(interaction.uid, found.value));
    return finish(request, response, found.value, false);
  };

  const takeCode = async (request: IncomingMessage, response: ServerResponse, interaction: Interaction): Promise<void> => {
    const form = await readForm(request);
    const proof = form.get("proof") ?? undefined;
    const person = proof === undefined ? sessionPerson(interaction) : provenBy(interaction.uid, proof);
    if (person === undefined) return showPassword(response, interaction, "", "That took too long. Enter your password again.");
    const shown = await factors.code(person, form.get("code") ?? "", true);
    if (shown.ok) return finish(request, response, person, true);
    parts.log.info("sign_in_refused", { factor: "code", why: shown.why });
    return showCode(response, interaction, person, proof, issueText(shown.why, "The code is wrong. Enter the one your app shows now."));
  };

  const show = (response: ServerResponse, interaction: Interaction, url: URL): void => {
    const person = sessionPerson(interaction);
    if (person !== undefined) return showCode(response, interaction, person);
    const hint = url.searchParams.get("login") ?? interaction.params["login_hint"];
    const present = factors.find(interaction.session?.accountId ?? "")?.login;
    return showPassword(response, interaction, typeof hint === "string" ? hint.slice(0, 64) : (present ?? ""));
  };

  const isForeign = (request: IncomingMessage): boolean => {
    const { origin } = request.headers;
    return (origin !== undefined && origin !== parts.issuerOrigin) || request.headers["sec-fetch-site"] === "cross-site";
  };

  return async (request, response) => {
    const url = new URL(request.url ?? "/", parts.issuerOrigin);
    const [, uid, step] = PATH.exec(url.pathname) ?? [];
    if (uid === undefined) return false;
    const interaction = await provider.interactionDetails(request, response).catch(() => undefined);
    if (interaction === undefined || interaction.uid !== uid) sendPage(response, expired);
    else if (request.method === "GET" && step === undefined) show(response, interaction, url);
    else if (request.method === "GET") response.writeHead(303, { location: signInPath(uid) }).end();
    else if (request.method !== "POST") response.writeHead(405, { allow: "GET, POST" }).end();
    else if (isForeign(request)) sendPage(response, messagePage("Refused", "The form did not come from this page.", 403));
    else if (step === undefined) await takePassword(request, response, interaction);
    else if (step === "/code") await takeCode(request, response, interaction);
    else await leave(request, response, { error: "access_denied", error_description: "the person cancelled the sign-in" });
    return true;
  };
};
