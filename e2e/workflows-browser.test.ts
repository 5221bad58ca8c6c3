import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { look } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { press, write } from "./keyboard.ts";
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

test("Ben finds a workflow, is told what is wrong with its form, starts it by keyboard alone, and comes to the run", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ben", "/workflows");
  const row = page.getByRole("row", { name: /Offboard a person/ });
  await row.getByText("Serving", { exact: true }).waitFor();
  await row.getByText("1.0.0", { exact: true }).waitFor();
  await look(page, "workflows");
  await takePicture(page, "workflows");

  // The server filters; what it is asked stands in the address.
  const filter = page.getByRole("textbox", { name: "Find" });
  await write(filter, "offboard");
  await page.waitForURL("**/workflows?q=offboard");
  await page.getByText("1 workflow", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("1 workflow", { exact: true }).waitFor();
  await write(filter, "nothing of that kind");
  await page.getByText("No workflow fits the filters.").waitFor();
  await press(page.getByRole("button", { name: "Clear filters" }).first());
  await press(page.getByRole("link", { name: "Offboard a person", exact: true }));

  await page.getByRole("heading", { level: 1, name: "Offboard a person" }).waitFor();
  await page.getByRole("region", { name: "Flow" }).waitFor();
  await look(page, "workflow");
  await takePicture(page, "workflow");
  await press(page.getByRole("button", { name: "Start", exact: true }));
  const employee = page.getByLabel("Employee");
  await employee.waitFor();
  await page.keyboard.press("Control+Enter");
  const summary = page.getByRole("alert");
  await write(employee, "nobody");
  await page.keyboard.press("Control+Enter");
  await summary.getByRole("link", { name: "Employee: does not have the agreed form" }).waitFor();
  await look(page, "workflow-start");
  await takePicture(page, "workflow-start");
  // The draft survives.
  await page.reload();
  assert.equal(await employee.inputValue(), "nobody");
  await write(employee, "e3");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL("**/workflows/runs/run_*");
  const run = new URL(page.url()).pathname.split("/").at(-1) ?? "";

  await page.goto(`${instance.origin}/workflows/offboard?tab=runs`);
  await page.getByRole("link", { name: run, exact: true }).waitFor();
  await look(page, "workflow-runs");
  await page.getByRole("radio", { name: "Mine" }).focus();
  await page.keyboard.press("Space");
  await page.waitForURL("**/workflows/offboard?tab=runs&runs=mine");
  await page.getByRole("link", { name: run, exact: true }).waitFor();
  await press(page.getByRole("tab", { name: "Runs" }), "ArrowRight");
  await page.getByRole("region", { name: "Versions" }).waitFor();

  // The palette opens the form, and starts nothing.
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog");
  await palette.getByRole("combobox").fill("start offboard");
  await palette.getByRole("option", { name: /^Start Offboard a person/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/workflows/offboard?tab=start");
  assert.equal(await employee.inputValue(), "", "what was sent is no draft any more");
  assert.deepEqual(issues, []);
});

test("what the server finds wrong stands on the field; a lost answer starts nothing twice", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ben", "/workflows/offboard?tab=start");
  const employee = page.getByLabel("Employee");
  const keys: unknown[] = [];
  let isCut = false;
  await page.route("**/api/crud/workflows/offboard/start", async (route) => {
    const body = route.request().postDataJSON() as Record<string, unknown>;
    keys.push(body["idempotency_key"]);
    if (keys.length === 1) await route.continue({ postData: JSON.stringify({ ...body, data: { employee_id: "?" } }) });
    else if (isCut) await route.continue();
    else {
      isCut = true;
      await route.fetch();
      await route.abort("connectionreset");
    }
  });
  await write(employee, "e4");
  await page.keyboard.press("Control+Enter");
  await page
    .getByRole("alert")
    .getByRole("link", { name: /^Employee: / })
    .waitFor();
  await write(employee, "e5");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Outcome unknown").waitFor();
  await page.keyboard.press("Control+Enter");
  await page.waitForURL("**/workflows/runs/run_*");
  assert.equal(keys[1], keys[2]);
  assert.notEqual(keys[0], keys[1]);
  await page.goto(`${instance.origin}/workflows/offboard?tab=runs&runs=mine`);
  await page.getByRole("link", { name: /^run_/ }).first().waitFor();
  assert.equal(await page.getByRole("row").count(), 1 + 2, "one of each test");
  assert.ok(
    issues.every((issue) => /reset|Failed to load/i.test(issue)),
    issues.join("\n"),
  );
});

test("who may not start a workflow sees why; who may not see workflows has no entry for them", async (t) => {
  const cleo = await openPage(browser);
  t.after(cleo.close);
  await signIn(cleo.page, instance.origin, "cleo", "/workflows");
  const row = cleo.page.getByRole("row", { name: /Offboard a person/ });
  await row.getByText("No access").waitFor();
  await cleo.page.goto(`${instance.origin}/workflows/offboard?tab=start`);
  await cleo.page.getByText("You can't start this workflow.").waitFor();
  await look(cleo.page, "workflow-no-start");
  assert.deepEqual(cleo.issues, []);

  const dan = await openPage(browser);
  t.after(dan.close);
  await signIn(dan.page, instance.origin, "dan");
  await dan.page.getByRole("heading", { name: /^Hello, / }).waitFor();
  assert.equal(await dan.page.getByRole("link", { name: "Workflows" }).count(), 0);
});
