import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { demoCode } from "#testing/sign-in.ts";
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

interface Answer {
  readonly decision: boolean;
  readonly context: { readonly decision_id: string };
}

/** What the page's own session is answered when it asks to view the page `operations`. */
const viewOperations = async (page: Page): Promise<Answer> =>
  page.evaluate<Answer>(
    `(async () => {
      const { csrf_token: token } = await (await fetch("/auth/session", { headers: { "x-requested-with": "XMLHttpRequest" } })).json();
      const answer = await fetch("/access/v1/evaluation", {
        method: "POST",
        headers: { "content-type": "application/json", "x-requested-with": "XMLHttpRequest", "x-csrf-token": token, "x-csrftoken": token },
        body: JSON.stringify({ action: { name: "view" }, resource: { type: "pages", id: "operations" } }),
      });
      return await answer.json();
    })()`,
  );

test("cleo asks from her denial, ada replays it and approves, cleo sees it come and may; afterwards nobody answers again", async () => {
  const cleo = await openPage(browser);
  await signIn(cleo.page, instance.origin, "cleo");
  const { decision, context } = await viewOperations(cleo.page);
  assert.equal(decision, false);
  const id = context.decision_id;
  await cleo.page.goto(`${instance.origin}/why/${id}`);
  await cleo.page.getByRole("region", { name: "Request access" }).getByRole("button", { name: "Request access" }).click();
  await cleo.page.getByLabel("Why you need it").fill("I watch the nightly runs <b>this</b> week.");
  await takePicture(cleo.page, "request-access", true);
  await cleo.page.keyboard.press("Control+Enter");
  await cleo.page.getByRole("link", { name: "Open the request" }).click();
  await cleo.page.getByText("Waiting", { exact: true }).waitFor();
  assert.equal(await cleo.page.getByRole("button", { name: "Approve" }).count(), 0, "nobody answers a request of their own");
  const requestPath = new URL(cleo.page.url()).pathname;

  // Ada finds it where she arrives; then the whole record with its replay, then the answer.
  const ada = await openPage(browser);
  await signIn(ada.page, instance.origin, "ada");
  const waiting = ada.page.getByRole("region", { name: "Waiting for you" });
  await waiting.getByRole("link", { name: "View pages operations" }).waitFor();
  const counted = ada.page.getByRole("navigation", { name: "Main" }).getByRole("img", { name: "1 waiting" });
  await counted.waitFor();
  assert.deepEqual(await findingsOf(ada.page), []);
  await ada.page.goto(`${instance.origin}/why/${id}`);
  await ada.page.getByRole("button", { name: "Replay now" }).click();
  await ada.page.getByText("It would be decided the same.").waitFor();
  await ada.page.getByLabel("Policy version").fill("v");
  await ada.page.getByRole("button", { name: "Replay now" }).click();
  await ada.page.getByText("A version such as v3").waitFor();
  assert.equal(await ada.page.getByRole("region", { name: "Request access" }).count(), 0, "it is not hers to ask for");
  await ada.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Requests" }).click();
  await ada.page.getByText("You have asked for nothing.").waitFor();
  await ada.page.getByText("For me", { exact: true }).click();
  await ada.page.getByRole("link", { name: /View pages operations/ }).click();
  await ada.page.getByText("I watch the nightly runs <b>this</b> week.").waitFor();
  assert.deepEqual(await findingsOf(ada.page), []);
  await ada.page.getByLabel("Comment").fill("For this week.");
  await ada.page.getByRole("button", { name: "Approve" }).click();
  await ada.page.getByText("In force").waitFor();
  assert.equal(await ada.page.getByRole("button", { name: "Approve" }).count(), 0);
  // The workflow stream tells of it.
  await counted.waitFor({ state: "detached" });

  // Cleo's page shows it without a reload, and the same question is answered with yes.
  await cleo.page.getByText("Approved", { exact: true }).waitFor();
  await cleo.page.getByText("For this week.").waitFor();
  const approval = cleo.page.getByRole("region", { name: "Approval" });
  await approval.getByText("In force").waitFor();
  assert.deepEqual(await approval.getByRole("term").allInnerTexts(), ["Until"]);
  assert.match(await approval.getByRole("definition").innerText(), /\d/);
  assert.equal((await viewOperations(cleo.page)).decision, true);

  // Whom it does not concern finds nothing; it cannot be told from what is not there.
  const dan = await openPage(browser);
  await signIn(dan.page, instance.origin, "dan", requestPath);
  await dan.page.getByText("Not found, or no access").waitFor();
  assert.equal((await dan.page.goto(`${instance.origin}/requests`))?.status(), 403);
  for (const opened of [cleo, ada, dan]) {
    assert.deepEqual(opened.issues, []);
    await opened.close();
  }
});

test("a salary above the limit: a stronger sign-in, then a second person; then exactly that call works, once", async () => {
  const ben = await openPage(browser);
  const { page } = ben;
  await signIn(page, instance.origin, "ben", "/tools/people.demo.update_salary?tab=try");
  const call = async (): Promise<void> => {
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Call now" }).click();
  };
  await page.getByLabel(/^Employee/).fill("e1");
  await page.getByLabel(/^New yearly salary/).fill("160000");
  await call();
  await page.getByRole("dialog").getByRole("button", { name: "Sign in with a second factor" }).click();
  await page.getByLabel("Code").fill(demoCode());
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.waitForURL((url) => url.origin === instance.origin && url.pathname === "/tools/people.demo.update_salary");
  assert.equal(await page.getByLabel(/^New yearly salary/).inputValue(), "160000", "what was filled in is there again");
  await call();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByLabel("Why you need it").fill("The board decided so.");
  await result.getByRole("button", { name: "Send the request" }).click();
  await result.getByRole("link", { name: "Open the request" }).waitFor();

  const ada = await openPage(browser);
  await signIn(ada.page, instance.origin, "ada", "/tasks?tab=approve");
  await ada.page.getByRole("link", { name: /^Set the salary of an employee/ }).click();
  await ada.page.waitForURL("**/approvals/*");
  await ada.page.getByText("The board decided so.").waitFor();
  const wouldBeDone = ada.page.getByRole("region", { name: "What would be done" });
  for (const part of ["people.demo.update_salary", "salary", "160000", '"e1"'])
    await wouldBeDone.getByText(part, { exact: true }).waitFor();
  assert.deepEqual(await findingsOf(ada.page), []);
  await takePicture(ada.page, "answer-request", true);
  await ada.page.getByRole("button", { name: "Approve" }).click();
  await ada.page.getByText("In force").waitFor();

  await call();
  await result.getByText("Done", { exact: true }).waitFor();
  await ada.page.getByText("Used", { exact: true }).waitFor();
  await call();
  await result.getByLabel("Why you need it").waitFor();
  for (const opened of [ben, ada]) {
    assert.deepEqual(opened.issues, []);
    await opened.close();
  }
});

for (const colorScheme of ["light", "dark"] as const)
  test(`axe finds nothing serious on the request pages, ${colorScheme}, wide and narrow`, async () => {
    const { page, issues, close } = await openPage(browser, { colorScheme });
    await signIn(page, instance.origin, "ada", "/requests?as=approver");
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await findingsOf(page), [], `${width} px`);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assert.ok(Number(overflow) <= 0, `${String(overflow)} px too wide at ${width}`);
    }
    assert.deepEqual(issues, []);
    await close();
  });
