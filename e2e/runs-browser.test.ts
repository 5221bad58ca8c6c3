import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { until } from "#testing/until.ts";
import { findingsOf } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { press, write } from "./keyboard.ts";
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

interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Asked by the page itself, in its session. */
const send = async (page: Page, path: string, body?: object): Promise<Answered> =>
  page.evaluate<Answered>(
    `(async () => {
      const { csrf_token: token } = await (await fetch("/auth/session", { headers: { "x-requested-with": "XMLHttpRequest" } })).json();
      const answer = await fetch(${JSON.stringify(path)}, {
        method: ${JSON.stringify(body === undefined ? "GET" : "POST")},
        headers: { "content-type": "application/json", "x-requested-with": "XMLHttpRequest", "x-csrf-token": token, "x-csrftoken": token },
        body: ${body === undefined ? "undefined" : JSON.stringify(JSON.stringify(body))},
      });
      return { status: answer.status, body: await answer.json() };
    })()`,
  );

/** A run of `grant-access`, started by the page's person; both its approvals wait. */
const startGrant = async (page: Page, resource: string): Promise<string> => {
  const data = { person: "Dora", resource, until: new Date(Date.now() + 3 * 86_400_000).toISOString() };
  const { status, body } = await send(page, "/api/crud/workflows/grant-access/start", { data, wait_seconds: 10 });
  assert.equal(status, 202, JSON.stringify(body));
  return String(body["run_id"]);
};

const steps = (page: Page) => page.getByRole("region", { name: "Steps" });
/** The state of a step in the list, which is what the drawing shows. */
const rowOf = (page: Page, step: string) =>
  steps(page)
    .getByRole("row")
    .filter({ has: page.getByRole("link", { name: step, exact: true }) });
const drawn = (page: Page, step: string) => page.locator(".sp-flow-node").filter({ hasText: step });

test("ben watches his run go on as cleo and ada approve it, each in another place, and ends it with its undo", async () => {
  const ben = await openPage(browser);
  await signIn(ben.page, instance.origin, "ben");
  const id = await startGrant(ben.page, "Archive");
  await ben.page.goto(`${instance.origin}/workflows/runs/${id}`);
  await rowOf(ben.page, "By people ops").getByText("Waiting", { exact: true }).waitFor();
  for (const step of ["By people ops", "By platform"]) assert.equal(await drawn(ben.page, step).getAttribute("data-state"), "waiting");
  await rowOf(ben.page, "Create").getByText("Not started").waitFor();
  // Who started it may look, and is told why there is no button.
  await rowOf(ben.page, "By people ops").getByRole("link").click();
  await ben.page.getByText("You started this run, or act for who did.").waitFor();
  assert.equal(await ben.page.getByRole("button", { name: "Approve" }).count(), 0);
  assert.deepEqual(await findingsOf(ben.page), []);

  // Cleo finds it in her inbox.
  const cleo = await openPage(browser);
  await signIn(cleo.page, instance.origin, "cleo", "/tasks?tab=approve");
  await cleo.page.getByRole("tab", { name: "Awaiting my approval 1" }).waitFor();
  assert.deepEqual(await findingsOf(cleo.page), []);
  await cleo.page.getByRole("link", { name: "Access of Dora to Archive" }).click();
  await cleo.page.getByLabel("Comment").fill("As agreed.");
  assert.deepEqual(await findingsOf(cleo.page), []);
  await cleo.page.getByRole("button", { name: "Approve" }).click();
  await cleo.page.getByText("Your decision is recorded.").waitFor();
  await rowOf(ben.page, "By people ops").getByText("Done", { exact: true }).waitFor();

  // Ada answers in place, where she looks at the run.
  const ada = await openPage(browser);
  await signIn(ada.page, instance.origin, "ada", `/workflows/runs/${id}`);
  await ada.page.getByText("Waiting for you").waitFor();
  await ada.page.getByRole("button", { name: "Approve" }).click();
  await rowOf(ada.page, "Create").getByText("Done", { exact: true }).waitFor();

  // Ben's page shows it without a reload, in the drawing as in the list.
  await rowOf(ben.page, "Create").getByText("Done", { exact: true }).waitFor();
  await until(
    () => drawn(ben.page, "Create").getAttribute("data-state"),
    (state) => state === "done",
  );
  await rowOf(ben.page, "Create").getByRole("link", { name: "Create" }).click();
  await ben.page.getByRole("heading", { name: "Input" }).waitFor();
  await ben.page.getByText("has_access").first().waitFor();

  await ben.page.getByRole("button", { name: "Cancel run" }).click();
  const dialog = ben.page.getByRole("dialog");
  await dialog.getByText("1 step undone").waitFor();
  await dialog.getByText("undone by memory.demo.delete_relations").waitFor();
  assert.deepEqual(await findingsOf(ben.page), []);
  await dialog.getByRole("button", { name: "Cancel run" }).click();
  await ben.page.getByText("Cancelled undone").waitFor();
  await rowOf(ben.page, "Undo Create").getByText("Done", { exact: true }).waitFor();
  assert.equal(await ben.page.getByRole("button", { name: "Cancel run" }).count(), 0);
  for (const opened of [ben, cleo, ada]) {
    assert.deepEqual(opened.issues, []);
    await opened.close();
  }
});

test("one task in two browsers, by keyboard alone: one wins, the other is told who was first and keeps what was written", async () => {
  const ben = await openPage(browser);
  await signIn(ben.page, instance.origin, "ben");
  await startGrant(ben.page, "Ledger");
  const [first, second] = [await openPage(browser), await openPage(browser)];
  for (const { page } of [first, second]) {
    await signIn(page, instance.origin, "cleo");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tasks" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await page.getByRole("heading", { level: 1, name: "Tasks" }).waitFor();
    await press(page.getByRole("tab", { name: /^All/ }), "ArrowRight");
    await page.waitForURL("**/tasks?tab=mine");
    await until(
      () => page.getByRole("link", { name: "Access of Dora to Ledger" }).count(),
      (count) => count === 1,
    );
    await press(page.getByRole("link", { name: "Access of Dora to Ledger" }));
    await page.getByRole("button", { name: "Approve" }).waitFor();
  }
  // The second does not hear of it before it answers: what it sends is of the version that it read.
  let isCut = true;
  await second.page.route(/\/api\/crud\/tasks\/task_/, (route) => {
    if (route.request().method() === "POST") isCut = false;
    return isCut ? route.abort() : route.continue();
  });
  await write(first.page.getByLabel("Comment"), "First.");
  await press(first.page.getByLabel("Comment"), "Control+Enter");
  await first.page.getByText("Your decision is recorded.").waitFor();
  await write(second.page.getByLabel("Comment"), "Second, and late.");
  await press(second.page.getByRole("button", { name: "Decline" }));
  await second.page.getByText("Cleo Chen was first: Approved.").waitFor();
  assert.equal(await second.page.getByLabel("Comment").inputValue(), "Second, and late.");
  assert.equal(await second.page.getByRole("button", { name: "Decline" }).count(), 0);
  assert.deepEqual(await findingsOf(second.page), []);
  for (const opened of [ben, first, second]) {
    assert.deepEqual(opened.issues, []);
    await opened.close();
  }
});

test("a task is handed over: the other is asked instead; a run is paused and goes on; axe and widths, light and dark", async () => {
  const ben = await openPage(browser);
  await signIn(ben.page, instance.origin, "ben");
  const id = await startGrant(ben.page, "Vault");
  const cleo = await openPage(browser);
  await signIn(cleo.page, instance.origin, "cleo", "/tasks?tab=mine");
  await cleo.page.getByRole("link", { name: "Access of Dora to Vault" }).click();
  await cleo.page.getByRole("button", { name: "Hand over" }).click();
  const dialog = cleo.page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Hand over" }).click();
  await dialog.getByText("Choose a person.").waitFor();
  await dialog.getByRole("combobox", { name: "To" }).fill("ada");
  await dialog.getByRole("option", { name: /Ada/ }).click();
  assert.deepEqual(await findingsOf(cleo.page), []);
  await dialog.getByRole("button", { name: "Hand over" }).click();
  await cleo.page.getByText("Handed over.").waitFor();
  await cleo.page.getByText("You can see this task, but it is not put to you.").waitFor();

  await ben.page.goto(`${instance.origin}/workflows/runs/${id}`);
  await ben.page.getByRole("button", { name: "Pause" }).click();
  await ben.page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
  await ben.page.getByText("Paused by a person").waitFor();
  await ben.page.getByRole("button", { name: "Resume" }).click();
  await ben.page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await rowOf(ben.page, "By platform").getByText("Waiting", { exact: true }).waitFor();

  for (const colorScheme of ["light", "dark"] as const) {
    const ada = await openPage(browser, { colorScheme });
    await signIn(ada.page, instance.origin, "ada");
    const check = async (path: string, shown: string): Promise<void> => {
      await ada.page.goto(`${instance.origin}${path}`);
      await ada.page.getByText(shown).first().waitFor();
      for (const width of [1280, 375]) {
        await ada.page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await findingsOf(ada.page), [], `${path}, ${colorScheme}, ${width} px`);
        const overflow = await ada.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert.ok(Number(overflow) <= 0, `${path} is ${String(overflow)} px too wide at ${width}`);
      }
      await ada.page.setViewportSize({ width: 1280, height: 900 });
    };
    await check("/tasks?tab=mine", "Access of Dora to Vault");
    await check(`/workflows/runs/${id}`, "Waiting for you");
    assert.deepEqual(ada.issues, []);
    await ada.close();
  }
  for (const opened of [ben, cleo]) {
    assert.deepEqual(opened.issues, []);
    await opened.close();
  }
});
