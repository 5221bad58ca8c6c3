import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { opensOperations } from "#testing/rollout.ts";
import { demoCode } from "#testing/sign-in.ts";
import { until } from "#testing/until.ts";
import { findingsOf } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { takePicture } from "./picture.ts";
import { signIn } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

let instance: TestInstance;
let browser: Browser;
before(async () => {
  [instance, browser] = await Promise.all([startTestInstance(), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  assert.equal(await instance?.stop(), 0);
});

/** What the page's own session is answered for a question, through the gateway. */
const asks = async (page: Page, type: string, action: string, id: string): Promise<unknown> =>
  page.evaluate(
    `(async () => {
      const { csrf_token: token } = await (await fetch("/auth/session", { headers: { "x-requested-with": "XMLHttpRequest" } })).json();
      const answer = await fetch("/access/v1/evaluation", {
        method: "POST",
        headers: { "content-type": "application/json", "x-requested-with": "XMLHttpRequest", "x-csrf-token": token, "x-csrftoken": token },
        body: JSON.stringify(${JSON.stringify({ action: { name: action }, resource: { type, id } })}),
      });
      return (await answer.json()).decision;
    })()`,
  );

const rowsOf = async (table: Locator): Promise<readonly string[]> =>
  (await table.locator("tbody tr").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());

test("ada drafts, is told a fault and a failing case, shadows, sees what differs, activates, and takes it back", async () => {
  const cleo = await openPage(browser);
  await signIn(cleo.page, instance.origin, "cleo");
  const cleoMay = (): Promise<unknown> => asks(cleo.page, "pages", "view", "operations");
  assert.equal(await cleoMay(), false);

  const { page, issues, close } = await openPage(browser);
  await signIn(page, instance.origin, "ada");
  // What is done here is the deployment's: it wants a strong sign-in.
  await page.goto(`${instance.origin}/auth/login?return_to=/&acr_values=strong`);
  await page.getByLabel("Code").fill(demoCode());
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Policies" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("region", { name: "Versions" }).getByText("Active", { exact: true }).waitFor();

  // One rule, with the colours of its language.
  await page.getByRole("link", { name: "page-granted" }).click();
  await page.getByRole("heading", { level: 1, name: "A page is open to whom it is granted" }).waitFor();
  await page.locator(".cm-content .tok-keyword", { hasText: "permit" }).waitFor();
  const colourOf = (selector: string): Promise<unknown> =>
    page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).color`);
  const plain = await colourOf(".cm-content");
  for (const look of ["keyword", "meta", "string"]) assert.notEqual(await colourOf(`.cm-content .tok-${look}`), plain, look);
  assert.equal(await page.locator(".cm-content .tok-meta").first().innerText(), "@id");

  // A draft: first a fault, told with its place; then a rule that a case speaks against; then the case too.
  await page.getByRole("link", { name: "Edit as draft" }).click();
  const editor = page.getByRole("textbox", { name: "Editor of policies/pages.cedar" });
  const write = async (name: string, text: string): Promise<void> => {
    await page.getByRole("textbox", { name: `Editor of ${name}` }).focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
  };
  await editor.focus();
  await page.keyboard.press("Tab");
  await page.locator(".cm-editor:not(.cm-focused)").waitFor();
  await editor.focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("\npermitt (principal, action, resource);\n");
  const report = page.getByRole("region", { name: "Report" });
  await report.getByText("Not valid").waitFor();
  await page.locator(".cm-content .sp-issue-line").first().waitFor();
  await report
    .getByRole("button", { name: /policies\/pages\.cedar line \d+/ })
    .first()
    .click();
  await page.locator(".cm-editor.cm-focused").waitFor();
  await write("policies/pages.cedar", opensOperations["policies/pages.cedar"] ?? "");
  await report.getByText(/1 of \d+ cases fail/).waitFor();
  await report.getByText("analysts ask for the page of the operations").waitFor();
  await page.getByRole("button", { name: /cases\/analysts\.yaml/ }).click();
  await write("policies/cases/analysts.yaml", opensOperations["policies/cases/analysts.yaml"] ?? "");
  await report.getByText(/^\d+ cases pass$/).waitFor();
  // What is written outlives a reload.
  await page.reload();
  await page.getByText("Your unsaved changes were restored.").waitFor();
  await page.getByLabel("Message").fill("Operations for analysts");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/\/policies\/versions\/v2/);
  await page.getByText("Draft", { exact: true }).waitFor();

  // What it changes: one cell.
  const matrix = page.getByRole("region", { name: "Effect on people and agents" });
  await matrix.getByText("1 cell changes").waitFor();
  assert.match(
    (await rowsOf(matrix.getByRole("table"))).join("\n"),
    /^pages:view operations cleo After approval Allowed .*operations-for-analysts/,
  );

  // In the shadow it decides nothing; what differs is seen live.
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Put in the shadow" }).click();
  await dialog.getByRole("button", { name: "Put in the shadow" }).click();
  const shadow = page.getByRole("region", { name: "What it decides otherwise, live" });
  // Others are told of it while this process still reads it; the answer comes afterwards.
  await page.getByText(/^v2\S* is in the shadow\.$/).waitFor();
  assert.equal(await cleoMay(), false, "a version in the shadow decides nothing");
  await shadow.getByText("person:cleo operations").first().waitFor();
  const differing = await rowsOf(shadow.getByRole("table"));
  assert.equal(differing.length, 1, differing.join("\n"));
  assert.match(differing[0] ?? "", /^pages: view Denied .* Allowed operations-for-analysts/);

  // From there to the decision itself: its record says what the version in the shadow would have said.
  await shadow.getByRole("link", { name: "person:cleo operations" }).first().click();
  const said = page.getByText(/^v2\S* would have allowed it\.$/);
  // It is written beside the record within about a second: a page that came sooner is loaded again.
  for (let tries = 0; tries < 20; tries++) {
    await page.getByRole("heading", { level: 1, name: /^Cleo Chen may / }).waitFor();
    if (await said.isVisible()) break;
    await page.waitForTimeout(500);
    await page.reload();
  }
  await said.waitFor();
  await page.goBack();
  await shadow.waitFor();

  // Decided again from the record: the same and nothing else.
  const replay = page.getByRole("region", { name: "Replay" });
  await replay.getByRole("button", { name: "Replay", exact: true }).click();
  await replay.getByText("Done", { exact: true }).waitFor();
  const replayed = await rowsOf(replay.getByRole("table"));
  assert.equal(replayed.length, 1, replayed.join("\n"));
  assert.match(replayed[0] ?? "", /^pages: view Denied/);
  await takePicture(page, "policy-version", true);

  // It decides only after its difference was looked at.
  await page.getByRole("button", { name: "Activate" }).click();
  await dialog.getByText("1 cell changes").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Activate" }).isDisabled(), true);
  await dialog.getByRole("checkbox", { name: "I have looked at 1 changed cell." }).focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("Control+Enter");
  await page.getByText(/^v2\S* decides\.$/).waitFor();
  await until(cleoMay, (may) => may === true);

  // And back, in one act.
  await page.getByRole("link", { name: "All policies" }).click();
  await page.getByRole("button", { name: "Roll back" }).click();
  await dialog.getByText("1 cell changes").waitFor();
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await page.getByText(/^v1\S* decides again\.$/).waitFor();
  await until(cleoMay, (may) => may === false);
  assert.deepEqual(issues, []);
  await close();
  assert.deepEqual(cleo.issues, []);
  await cleo.close();
});

test("who may not see policies sees neither the link nor the page, and every endpoint behind it refuses", async () => {
  const { page, issues, close } = await openPage(browser);
  await signIn(page, instance.origin, "ben");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tools" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Policies" }).count(), 0);
  for (const path of ["/policies", "/policies/page-granted", "/policies/versions/v1", "/policies/versions/new"]) {
    assert.equal((await page.goto(`${instance.origin}${path}`))?.status(), 403, path);
    await page.getByText("You may not see this page.").waitFor();
  }
  for (const [method, path, body] of [
    ["GET", "/policies"],
    ["GET", "/policies/page-granted"],
    ["GET", "/policies/rollouts"],
    ["GET", "/policies/rollouts/v1"],
    ["GET", "/policies/rollouts/v1/matrix"],
    ["GET", "/policies/rollouts/v1/differences"],
    ["POST", "/policies/validate", {}],
    ["POST", "/policies/rollouts", { files: {}, message: "x" }],
    ["POST", "/policies/replay", { version: "v1" }],
    ["POST", "/policies/rollouts/v1/promote", { to: "shadow" }],
    ["POST", "/policies/rollouts/last/rollback", {}],
    ["DELETE", "/policies/rollouts/v1"],
  ] as const) {
    const status = await page.evaluate(
      `(async () => {
        const { csrf_token: token } = await (await fetch("/auth/session", { headers: { "x-requested-with": "XMLHttpRequest" } })).json();
        const answer = await fetch("/api/pdp${path}", {
          method: "${method}",
          headers: { "content-type": "application/json", "x-requested-with": "XMLHttpRequest", "x-csrf-token": token, "x-csrftoken": token },
          ${body === undefined ? "" : `body: ${JSON.stringify(JSON.stringify(body))},`}
        });
        return answer.status;
      })()`,
    );
    assert.equal(status, 403, `${method} ${path}`);
  }
  assert.deepEqual(issues, []);
  await close();
});

for (const colorScheme of ["light", "dark"] as const)
  test(`axe finds nothing serious on the policy pages, ${colorScheme}, wide and narrow`, async () => {
    const { page, issues, close } = await openPage(browser, { colorScheme });
    await signIn(page, instance.origin, "ada");
    for (const [path, ready] of [
      ["/policies", "page-granted"],
      ["/policies/page-granted", "permit"],
      ["/policies/versions/v1", "cases pass"],
      ["/policies/versions/new", "Nothing is changed yet."],
    ] as const) {
      await page.goto(`${instance.origin}${path}`);
      await page.getByText(ready).first().waitFor();
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await findingsOf(page), [], `${path}, ${width} px`);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert.ok(Number(overflow) <= 0, `${path} is ${String(overflow)} px too wide at ${width}`);
      }
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    assert.deepEqual(issues, []);
    await close();
  });
