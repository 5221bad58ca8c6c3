import { join } from "node:path";
import type { Page } from "playwright-core";

const root = join(import.meta.dirname, "..");
/** Ids and times differ in each run, so the pictures that the documents show are only replaced when somebody wants new ones. */
const folder = process.env["DOCS_PICTURES"] === "1" ? join(root, "docs/images") : join(root, ".cache/pictures");

/** Takes a picture of a page for the documents; `isWhole`: beyond the window too. */
export const takePicture = async (page: Page, name: string, isWhole = false): Promise<void> => {
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole, animations: "disabled" });
};
