import { createHash } from "node:crypto";

/**
 * Pages that Sallyport serves without the web client: sign-in, sign-out, refusals. One look for all, with the web client's own
 * colours (`web/src/theme`); no script, nothing from elsewhere.
 */

/** Text for HTML, in content and in quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");

const style = `
:root{color-scheme:light dark;--page:#f8f9f9;--ground:#ffffff;--ink:#16191c;--soft:#59626a;--line:#dfe4e5;--edge:#858e96;--accent:#0b6b63;--deny:#b3261e;--deny-ground:#fdecea}
@media (prefers-color-scheme:dark){:root{--page:#131719;--ground:#191e21;--ink:#e3e7e9;--soft:#a2abb2;--line:#2c3439;--edge:#7a858e;--accent:#6ccbc1;--deny:#ff9d95;--deny-ground:#3b1a18}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:var(--page);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Open Sans",sans-serif}
main{width:100%;max-width:400px}
.brand{display:flex;align-items:center;gap:8px;margin:0 0 16px;color:inherit;font-size:17px;font-weight:650;letter-spacing:.01em}
.card{padding:24px;background:var(--ground);border:1px solid var(--line);border-radius:4px}
h1{margin:0 0 4px;font-size:20px;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
h2{margin:24px 0 4px;font-size:14px;font-weight:600}
p{margin:4px 0 12px;color:var(--soft);overflow-wrap:anywhere}
p:last-child{margin-bottom:0}
label{display:block;margin:14px 0 4px;font-weight:600}
input{width:100%;height:38px;padding:0 10px;border:1px solid var(--edge);border-radius:4px;background:var(--ground);color:var(--ink);font:inherit}
input[inputmode=numeric]{letter-spacing:.3em}
button{width:100%;height:38px;margin-top:18px;border:0;border-radius:4px;background:#0b6b63;color:#ffffff;font:inherit;font-weight:600;cursor:pointer}
button:hover{background:#075a53}
button.plain{margin-top:8px;background:none;color:var(--accent);text-decoration:underline;text-underline-offset:.3em}
a{color:var(--accent);text-underline-offset:.3em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.fault{margin:12px 0 0;padding:8px 12px;border-left:4px solid var(--deny);border-radius:4px;background:var(--deny-ground);color:var(--deny)}
.ids{font-size:12px}
.ids code{border:0;padding:0}
ul{margin:0;padding:0;list-style:none}
li{padding:3px 0;color:var(--soft)}
code{padding:1px 4px;border:1px solid var(--line);border-radius:4px;font:12px ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,monospace}
`;

/** What a content security policy says of the one style there is. */
export const pageStyle = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

const sign = `<svg width="26" height="26" viewBox="0 0 32 32" fill="none" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="7" fill="#0b6b63"/><path d="M8 25V14a8 8 0 0 1 16 0v11M6 25h20" stroke="#ffffff" stroke-width="2.6" stroke-linecap="round"/><path d="M13 25v-9.5a3 3 0 0 1 6 0V25" fill="#ffffff"/></svg>`;

/** `body` and `head` are HTML: whatever others wrote in them is escaped already. */
export const pageFrame = (title: string, body: string, head = ""): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Sallyport</title>
<style>${style}</style>${head}
</head>
<body><main>
<p class="brand">${sign}Sallyport</p>
<div class="card">
${body}
</div>
</main></body>
</html>
`;
