import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { look } from "./axe.ts";
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

const tryIt = async (page: Page, person: string, tool: string): Promise<void> => {
  await signIn(page, instance.origin, person, `/tools/${tool}?tab=try`);
  await page.getByRole("button", { name: "Call", exact: true }).waitFor();
};

test("a nested schema is filled in by keyboard alone: lists of objects, lists of texts; what is sent is what was filled in", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await tryIt(page, "ada", "memory.demo.create_entities");
  const list = page.getByRole("group", { name: /^entities/ });
  const { keyboard } = page;
  await list.getByRole("button", { name: "Add to entities" }).focus();
  await keyboard.press("Enter");
  const name = list.getByLabel("name", { exact: false }).first();
  await name.focus();
  await keyboard.type("Rex");
  await keyboard.press("Tab");
  await keyboard.type("dog");
  await keyboard.press("Tab");
  await keyboard.type("barks");
  await keyboard.press("Enter");
  await keyboard.type("bites");
  await keyboard.press("Control+Enter");
  const dialog = page.getByRole("dialog", { name: "Call this tool?" });
  const sent = { entities: [{ name: "Rex", entityType: "dog", observations: ["barks", "bites"] }] };
  assert.deepEqual(JSON.parse((await dialog.locator("pre").textContent()) ?? ""), sent);
  await keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await look(page, "form-nested");

  // As JSON and back it is the same.
  const mode = page.getByRole("radiogroup", { name: "How to fill it in" });
  await mode.getByText("JSON", { exact: true }).click();
  assert.deepEqual(JSON.parse(await page.getByLabel("Data as JSON").inputValue()), sent);
  await mode.getByText("Fields", { exact: true }).click();
  // A reload loses nothing.
  await page.reload();
  await page.getByLabel("observations", { exact: false }).waitFor();
  assert.equal(await page.getByLabel("observations", { exact: false }).inputValue(), "barks\nbites");
  await list.getByRole("button", { name: "Remove 1 of entities" }).click();
  assert.equal(await page.getByLabel("observations", { exact: false }).count(), 0);
  assert.deepEqual(issues, []);
});

test("issues stand on their fields and in a list that leads to them, and go as they are mended", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await tryIt(page, "ada", "memory.demo.create_entities");
  const { keyboard } = page;
  const summary = page.getByRole("alert");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await summary.getByRole("link", { name: "entities: is needed" }).waitFor();
  await page.getByRole("button", { name: "Add to entities" }).click();
  await summary.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await summary.getByRole("link", { name: "name: is needed" }).waitFor();
  assert.equal(await page.evaluate("document.activeElement.getAttribute('role')"), "alert", "the list takes the focus");
  await summary.getByRole("link", { name: "name: is needed" }).focus();
  await keyboard.press("Enter");
  await keyboard.type("Rex");
  assert.equal(await summary.getByRole("link", { name: "name: is needed" }).count(), 0);
  await look(page, "form-issues");
  assert.deepEqual(issues, []);
});

test("a wrong value is reported when its field is left; the server's own issue stands on its field until other data is filled in", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await tryIt(page, "ben", "people.demo.list_employees");
  const { keyboard } = page;
  const summary = page.getByRole("alert");
  const limit = page.getByLabel("limit");
  await limit.fill("many");
  assert.equal(await summary.count(), 0);
  await keyboard.press("Tab");
  await summary.getByText("limit: must be a whole number").waitFor();
  await limit.fill("500");
  await keyboard.press("Tab");
  await summary.getByText("limit: must be at most 200").waitFor();
  await limit.fill("2");
  await summary.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByRole("region", { name: "Result" }).waitFor();

  // The server's own issue, of data that the browser's check takes.
  await page.route("**/api/crud/mcp/jsonrpc", async (route) => {
    const post = route.request().postDataJSON() as { params: { arguments: Record<string, unknown> } };
    await route.continue({ postData: JSON.stringify({ ...post, params: { ...post.params, arguments: { limit: 0 } } }) });
  });
  await limit.fill("3");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await summary.getByRole("link", { name: /^limit: / }).waitFor();
  await limit.fill("4");
  await summary.waitFor({ state: "detached" });
  assert.deepEqual(issues, []);
});
