import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launchBrowser, openPage } from "./browser.ts";
import { signIn } from "./sign-in.ts";
import { startTestHouse, type TestHouse } from "./test-house.ts";

/** What a person is told when something is refused, empty, away or small. */

let house: TestHouse;
let browser: Browser;
before(async () => {
  [house, browser] = await Promise.all([startTestHouse(), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  assert.equal(await house?.stop(), 0);
});

/** Where somebody looks at what the tests saw; nothing is compared with it. */
const shots = process.env["SCREENS_DIR"];

test("a page that is refused leads to its explanation, by the id that its headers name, from the address and from inside", async (t) => {
  const { page, faults, close } = await openPage(browser);
  t.after(close);
  await signIn(page, house.origin, "dan");
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  const answer = await page.goto(`${house.origin}/tools`);
  const id = answer?.headers()["x-decision-id"] ?? "";
  assert.deepEqual([answer?.status(), /^d_[0-9A-Z]{26}$/.test(id)], [403, true], id);
  await page.getByText(id, { exact: true }).waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/refused.png` });
  await page.getByRole("link", { name: "Why this page is refused" }).click();
  await page.waitForURL(`${house.origin}/why/${id}`);
  await page.getByText("person:dan may not list tools", { exact: false }).waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/refused-why.png` });

  // Inside the client there is no answer of a page: the client's own question is the refusal.
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  await page.evaluate(`history.pushState({}, "", "/delegations"); dispatchEvent(new PopStateEvent("popstate"))`);
  await page.getByText("You may not see this page.").waitFor();
  await page.getByRole("link", { name: "Why this page is refused" }).click();
  await page.getByText("person:dan may not list delegations", { exact: false }).waitFor();
  assert.match(new URL(page.url()).pathname, /^\/why\/d_[0-9A-Z]{26}\.\d+$/);
  assert.deepEqual(faults, []);
});

test("what was refused shows what people tried; what was asked for show alone is a filter away, in the address", async (t) => {
  const { page, faults, close } = await openPage(browser);
  t.after(close);
  await signIn(page, house.origin, "dan");
  await page.goto(`${house.origin}/policies`);
  await page.getByText("You may not see this page.").waitFor();
  await page.context().clearCookies();
  await signIn(page, house.origin, "ada", "/why");
  const rows = page.getByRole("row").filter({ hasText: "person:dan" });
  await rows.first().waitFor();
  const asked = async (): Promise<readonly string[]> => (await rows.allTextContents()).map((text) => text.replace(/^.*person:dan/, ""));
  const tried = await asked();
  assert.ok(
    tried.some((text) => text.startsWith("viewpolicies")),
    tried.join("\n"),
  );
  assert.ok(!tried.some((text) => text.includes("to know what to show")), tried.join("\n"));
  if (shots !== undefined) await page.screenshot({ path: `${shots}/why-list.png` });
  await page.getByLabel("Asked because").selectOption({ label: "to know what to show" });
  await page.waitForURL(`${house.origin}/why?asked=shown`);
  await rows.filter({ hasText: "to know what to show" }).first().waitFor();
  assert.ok((await asked()).every((text) => text.includes("to know what to show")));
  await page.reload();
  await rows.filter({ hasText: "to know what to show" }).first().waitFor();
  assert.deepEqual(faults, []);
});
