import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { findingsOf } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { pageAddresses } from "./page-addresses.ts";
import { sharedInstance } from "./shared-instance.ts";
import { signIn } from "./sign-in.ts";
import type { TestInstance } from "./test-instance.ts";

/** Links with an underscore that the line under them would run through: it begins no lower than the underscore ends. */
const struckUnderscores = `(() => {
  const context = document.createElement("canvas").getContext("2d");
  return [...document.querySelectorAll("main a")].filter((link) => {
    const style = getComputedStyle(link);
    if (!link.textContent.includes("_") || style.textDecorationLine !== "underline") return false;
    context.font = style.font;
    const offset = style.textUnderlineOffset;
    const pixels = offset.endsWith("%") ? (parseFloat(offset) / 100) * parseFloat(style.fontSize) : parseFloat(offset);
    return !(pixels >= context.measureText("_").actualBoundingBoxDescent);
  }).map((link) => link.textContent);
})()`;

describe("for everybody", () => {
  let instance: TestInstance;
  let browser: Browser;
  before(async () => {
    [instance, browser] = await Promise.all([sharedInstance(), launchBrowser()]);
  });
  after(() => browser?.close());

  for (const colorScheme of ["light", "dark"] as const) {
    test(`axe finds nothing serious on any screen, ${colorScheme}, wide and narrow`, async () => {
      const { page, issues, close } = await openPage(browser, { colorScheme });
      await page.goto(instance.origin);
      await page.getByText("One governed gate").waitFor();
      assert.deepEqual(await findingsOf(page), [], "signed out");
      await signIn(page, instance.origin, "ben");
      const check = async (address: string): Promise<void> => {
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.waitForLoadState("networkidle").catch(() => undefined);
        const heading = await page.getByRole("heading", { level: 1 }).textContent();
        assert.notEqual(heading, "This page could not be loaded", address);
        for (const width of [1280, 375]) {
          await page.setViewportSize({ width, height: 900 });
          assert.deepEqual(await findingsOf(page), [], `${address}, ${width} px`);
          const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
          assert.ok(Number(overflow) <= 0, `${address} is ${String(overflow)} px too wide at ${width}`);
        }
        await page.setViewportSize({ width: 1280, height: 900 });
      };
      const statusOf = async (address: string): Promise<number | undefined> => (await page.goto(`${instance.origin}${address}`))?.status();
      const refused: string[] = [];
      for (const { address } of pageAddresses) {
        const isRefused = (await statusOf(address)) === 403;
        if (isRefused) refused.push(address);
        if (isRefused && refused.length > 1) continue;
        await check(address);
        if (address === "/tools") assert.deepEqual(await page.evaluate(struckUnderscores), [], "underscores under a line");
      }
      await statusOf("/nowhere");
      await check("/nowhere");
      // What only an administrator sees: the list of decisions with a choice open; and nobody to delegate to.
      await page.context().clearCookies();
      await signIn(page, instance.origin, "ada", "/why?verdict=any&asked=any");
      await page.locator("tr[data-row]").first().waitFor();
      await page.getByRole("combobox", { name: "Person" }).fill("a");
      await page.locator(".sp-suggestions [role=option]").first().waitFor();
      for (const width of [1280, 375]) {
        await page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await findingsOf(page), [], `decisions, ${width} px`);
      }
      for (const address of refused) {
        assert.equal(await statusOf(address), 200, address);
        await check(address);
      }
      await page.goto(`${instance.origin}/delegations/new`);
      await page.getByText("None of these agents is yours to delegate to.").waitFor();
      await page.getByText("Controlled by Ben Baker.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Next" }).count(), 0, "there is no way on that leads nowhere");
      assert.deepEqual(await findingsOf(page), [], "nobody to delegate to");
      assert.deepEqual(issues, []);
      await close();
    });
  }

  test("a tool is found, tried and its wrong arguments corrected by keyboard alone", async () => {
    const { page, issues, close } = await openPage(browser);
    await signIn(page, instance.origin, "ben");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Tools" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.getByRole("heading", { level: 1, name: "Tools" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.locator("[role=combobox]:focus").waitFor();
    await page.keyboard.type("list_employees");
    await page.getByRole("option", { name: /list_employees/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/tools\/people\.demo\.list_employees/);
    await page.getByRole("tab", { name: "Overview" }).focus();
    await page.keyboard.press("ArrowRight");
    const limit = page.getByLabel(/limit/i).first();
    await limit.focus();
    await page.keyboard.type("999");
    await page.keyboard.press("Control+Enter");
    await page.getByText(/200/).first().waitFor();
    await limit.focus();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("2");
    await page.keyboard.press("Control+Enter");
    await page
      .getByRole("heading", { name: "Result" })
      .or(page.getByText("Result", { exact: true }))
      .first()
      .waitFor();
    await page.getByText("tenant:acme").first().waitFor();
    assert.deepEqual(issues, []);
    await close();
  });
});
