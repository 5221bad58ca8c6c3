import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { findingsOf } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { sharedInstance } from "./shared-instance.ts";
import { signIn } from "./sign-in.ts";
import type { TestInstance } from "./test-instance.ts";

let instance: TestInstance;
let browser: Browser;
before(async () => {
  [instance, browser] = await Promise.all([sharedInstance(), launchBrowser()]);
});
after(() => browser?.close());

test("the palette finds by kind, opens a pasted id, and a command opens its dialog and acts by no key alone", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ben");
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  const dialog = page.getByRole("dialog");
  const type = async (text: string): Promise<void> => {
    await page.keyboard.press("Control+k");
    await dialog.getByRole("combobox").fill(text);
  };
  await type("look after");
  await dialog.getByRole("group", { name: "Delegations" }).getByRole("option").first().waitFor();
  await dialog
    .getByRole("group", { name: "Commands" })
    .getByRole("option", { name: /^Revoke Look after/ })
    .waitFor();
  assert.deepEqual(await findingsOf(page), [], "palette");
  await page.keyboard.press("Escape");

  await type("people.demo.no_such_tool");
  await dialog.getByRole("option", { name: "Open people.demo.no_such_tool" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tools/people.demo.no_such_tool");

  await type("revoke look");
  await dialog.getByRole("option", { name: /^Revoke Look after/ }).click();
  const revoking = page.getByRole("dialog", { name: /^Revoke Look after/ });
  await revoking.getByText("3 tools lost").waitFor();
  for (const column of ["What", "Now", "After"]) await revoking.getByRole("columnheader", { name: column }).waitFor();
  assert.deepEqual(await findingsOf(page), [], "revoke");
  await page.keyboard.press("Escape");
  await revoking.waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).search, "", "a reload opens no dialog");
  await page.getByText("Active", { exact: true }).first().waitFor();
  assert.deepEqual(issues, []);
});

test("breadcrumbs lead back to the list; a narrow screen has the navigation in a drawer and the page's name above", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ada", "/tools");
  const crumbs = page.getByRole("navigation", { name: "Breadcrumbs" });
  await page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
  assert.equal(await crumbs.count(), 0, "none on the first level");
  await page.goto(`${instance.origin}/tools/people.demo.update_salary`);
  await crumbs.getByRole("link", { name: "people.demo" }).waitFor();
  await crumbs.getByRole("link", { name: "Tools" }).click();
  await page.waitForURL("**/tools");

  await page.getByRole("button", { name: "System", exact: true }).click();
  await page.getByRole("menuitemradio", { name: /^sallyport\.local/ }).click();
  await page.waitForURL("**/tools?provider=sallyport.local");
  await page.getByRole("button", { name: "Remove the filter System" }).click();
  await page.waitForURL("**/tools");

  await page.setViewportSize({ width: 375, height: 800 });
  assert.equal(await page.getByRole("navigation", { name: "Main" }).count(), 0);
  await page.getByRole("button", { name: "Menu" }).click();
  const drawer = page.getByRole("dialog", { name: "Sallyport" });
  await drawer.getByRole("group", { name: "Access" }).getByRole("link", { name: "Requests" }).click();
  await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
  await drawer.waitFor({ state: "detached" });
  assert.deepEqual(await findingsOf(page), []);
  assert.deepEqual(issues, []);
});
