import { randomBytes } from "node:crypto";

const PLACEHOLDER = /__CSP_NONCE__/g;

const policyFor = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types default",
  ].join("; ");

/** Everything a page could ask a browser for, switched off; copying is what this page does. */
const permissions = [
  "accelerometer",
  "autoplay",
  "bluetooth",
  "browsing-topics",
  "camera",
  "clipboard-read",
  "compute-pressure",
  "display-capture",
  "encrypted-media",
  "fullscreen",
  "gamepad",
  "geolocation",
  "gyroscope",
  "hid",
  "identity-credentials-get",
  "idle-detection",
  "local-fonts",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "picture-in-picture",
  "publickey-credentials-create",
  "publickey-credentials-get",
  "screen-wake-lock",
  "serial",
  "storage-access",
  "usb",
  "web-share",
  "window-management",
  "xr-spatial-tracking",
]
  .map((name) => `${name}=()`)
  .concat("clipboard-write=(self)")
  .join(", ");

/** The form of ids of a decision point of ours; another one's that differs is left out of the page, for it is put into markup. */
const plainId = /^[\w.:-]{1,128}$/;

/** Told to the client, which shows it, and to a person whose browser runs no script. */
const withDecision = (html: string, id: string): string =>
  html
    .replace("</head>", () => `<meta name="sallyport-refused-by" content="${id}"></head>`)
    .replace("<noscript>", () => `<noscript>You may not see this page. Decision ${id}. `);

/**
 * The client's page with a nonce of its own; never kept. `more`: headers that say why it is not 200; `refusedBy`: the decision that
 * refuses it.
 */
export const indexResponse = (html: string, status: number, more: Readonly<Record<string, string>> = {}, refusedBy?: unknown): Response => {
  const nonce = randomBytes(16).toString("base64");
  const decisionId = typeof refusedBy === "string" && plainId.test(refusedBy) ? refusedBy : undefined;
  const page = html.replace(PLACEHOLDER, nonce);
  return new Response(decisionId === undefined ? page : withDecision(page, decisionId), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": policyFor(nonce),
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": permissions,
      ...(decisionId === undefined ? {} : { "x-decision-id": decisionId }),
      ...(status === 503 ? { "retry-after": "1" } : {}),
      ...more,
    },
  });
};
