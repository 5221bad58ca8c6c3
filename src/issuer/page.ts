import type { ServerResponse } from "node:http";
import { escapeHtml as escape, pageFrame, pageStyle } from "#http/page-frame.ts";
import type { Person } from "./sign-ins.ts";

/** Origins that a content security policy can name: it has no words for IPv6 literals, and a browser complains of each. */
export const cspSources = (origins: readonly string[]): readonly string[] => origins.filter((origin) => !origin.includes("["));

/** `formTargets`: origins that a form's answer may redirect to (browsers hold redirects against `form-action` too). */
export interface Page {
  readonly title: string;
  readonly body: string;
  readonly status?: number;
  readonly formTargets?: readonly string[];
}

export const renderPage = (page: Page): string => pageFrame(page.title, page.body);

/** No script, nothing from elsewhere, no framing, nothing kept. */
export const pageHeaders = (page: Page): Record<string, string> => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src ${pageStyle}; form-action ${["'self'", ...cspSources(page.formTargets ?? [])].join(" ")}; base-uri 'none'; frame-ancestors 'none'`,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not `no-referrer`: a browser then sends `Origin: null` with our own forms.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
});

export const sendPage = (response: ServerResponse, page: Page): void => {
  response.writeHead(page.status ?? 200, pageHeaders(page)).end(renderPage(page));
};

const issue = (text: string | undefined): string =>
  text === undefined ? "" : `<p class="fault" id="fault" role="alert">${escape(text)}</p>`;
const marks = (text: string | undefined): string => (text === undefined ? "" : ' aria-invalid="true" aria-describedby="fault"');

export interface PasswordPageParts {
  readonly action: string;
  readonly login: string;
  /** A name that may not be changed: the person whose session is confirmed. */
  readonly why?: string;
  readonly issue?: string;
  readonly persons: readonly Person[];
  readonly passwordHint?: string;
  readonly formTargets: readonly string[];
}

export const passwordPage = (parts: PasswordPageParts): Page => {
  const list = parts.persons
    .map((person) => `<li><a href="?login=${encodeURIComponent(person.login)}">${escape(person.login)}</a> · ${escape(person.role)}</li>`)
    .join("\n");
  const hint = parts.passwordHint === undefined ? "" : `<p>The password of each is <code>${escape(parts.passwordHint)}</code>.</p>`;
  const focusPassword = parts.login !== "";
  return {
    title: "Sign in",
    status: parts.issue === undefined ? 200 : 400,
    formTargets: parts.formTargets,
    body: `<h1>Sign in</h1>
<p>${escape(parts.why ?? "The development sign-in of this deployment.")}</p>
${issue(parts.issue)}
<form method="post" action="${escape(parts.action)}">
<label for="login">Name</label>
<input id="login" name="login" value="${escape(parts.login)}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="64"${marks(parts.issue)}${focusPassword ? "" : " autofocus"}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="256"${marks(parts.issue)}${focusPassword ? " autofocus" : ""}>
<button type="submit">Sign in</button>
</form>
${list === "" ? "<p>No demo sign-ins are loaded: Sallyport runs without its demo world.</p>" : `<h2>Demo sign-ins</h2>\n${hint}<ul>\n${list}\n</ul>`}`,
  };
};

export interface CodePageParts {
  readonly action: string;
  readonly abortAction: string;
  readonly login: string;
  /** Sealed proof that the first factor was shown; absent when the session shows it. */
  readonly proof?: string;
  readonly issue?: string;
  /** Whether the demo's secret was printed where this person can read it. */
  readonly isDemo: boolean;
  readonly formTargets: readonly string[];
}

export const codePage = (parts: CodePageParts): Page => ({
  title: "One-time code",
  status: parts.issue === undefined ? 200 : 400,
  formTargets: parts.formTargets,
  body: `<h1>One-time code</h1>
<p>This needs a stronger sign-in, ${escape(parts.login)}. Enter the six digits that your authenticator app shows.</p>
${issue(parts.issue)}
<form method="post" action="${escape(parts.action)}">
${parts.proof === undefined ? "" : `<input type="hidden" name="proof" value="${escape(parts.proof)}">`}
<label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" pattern="[0-9 ]*" autocomplete="one-time-code" required maxlength="9" autofocus${marks(parts.issue)}>
<button type="submit">Confirm</button>
</form>
<form method="post" action="${escape(parts.abortAction)}"><button class="plain" type="submit">Cancel</button></form>
${parts.isDemo ? "<p>The demo's secret for authenticator apps stands in Sallyport's start-up log. Without an app: <code>npm run token -- --code</code></p>" : ""}`,
});

export const messagePage = (title: string, text: string, status = 200): Page => ({
  title,
  status,
  body: `<h1>${escape(title)}</h1>\n<p>${escape(text)}</p>`,
});

/** `form` is the provider's own hidden form with its anti-forgery token. */
export const signOutPage = (form: string, formId: string, formTargets: readonly string[]): Page => ({
  title: "Sign out",
  formTargets,
  body: `<h1>Sign out?</h1>
<p>This ends your sign-in at the identity provider.</p>
${form}
<button form="${escape(formId)}" type="submit" name="logout" value="yes" autofocus>Sign out</button>
<button form="${escape(formId)}" class="plain" type="submit">Stay signed in</button>`,
});
