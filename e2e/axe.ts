import AxeBuilder from "@axe-core/playwright";
import type { Page } from "playwright-core";

/** Serious and critical findings of axe, in words. */
export const findingsOf = async (page: Page): Promise<readonly string[]> => {
  // Our pages have no frames, so nothing has to be put together on a further page; and only violations are asked for.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    .options({ resultTypes: ["violations"] })
    .analyze();
  return violations
    .filter((violation) => violation.impact === "serious" || violation.impact === "critical")
    .map((violation) => `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.target.join(" ")).join(", ")}`);
};
