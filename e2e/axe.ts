import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults, RunOptions } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Only violations are asked for. */
const options: RunOptions = { resultTypes: ["violations"] };

/**
 * Serious and critical findings of axe, in words. A document is given axe once: to read it anew costs as much as what it then does. Our pages
 * have no frames, so nothing has to be put together.
 */
export const findingsOf = async (page: Page): Promise<readonly string[]> => {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe);
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return violations
    .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.target.join(" ")).join(", ")}`);
};

const looks = [
  ["light", 1280],
  ["dark", 1280],
  ["dark", 375],
  ["light", 375],
] as const;

/** Of the page, and of its tables where they are cards. */
const mostTooWide = `Math.max(...[document.documentElement, ...(innerWidth > 600 ? [] : document.querySelectorAll(".sp-table-scroll"))]
  .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`;

/** Where somebody looks at what the tests saw; nothing is compared with it. */
const shots = process.env["SCREENS_DIR"];

/** The page as it is open, light and dark, wide and narrow: nothing serious for axe, nothing too wide. Afterwards it is light and wide. */
export const look = async (page: Page, name: string): Promise<void> => {
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: 900 });
    await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
    assert.deepEqual(await findingsOf(page), [], `${name}, ${colorScheme}, ${width} px`);
    const overflow = await page.evaluate(mostTooWide);
    assert.ok(Number(overflow) <= 0, `${name} is ${String(overflow)} px too wide at ${width}, ${colorScheme}`);
    const file = `${name}-${colorScheme}-${width}.png`.replaceAll(/[^\w.-]+/g, "_");
    if (shots !== undefined) await page.screenshot({ path: join(shots, file), fullPage: true });
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: 1280, height: 900 });
};
