import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { until } from "#testing/until.ts";

const UNSEEN = "has the focus where nobody sees it";

/**
 * Why somebody at a keyboard could not go on with the element that has the focus, or nothing: Tab does not lead there, it is switched off, something lies over it, or nothing shows that it has the focus (an outline of it or closely around it, or a border in the accent).
 */
const issueOfFocus = `(() => {
  const element = document.activeElement;
  if (element.tabIndex < 0) return "is not reached by Tab";
  if (element.matches(":disabled, [aria-disabled=true], [data-loading]")) return "is switched off";
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const [x, y] = [Math.max(left, 0) + Math.min(right, innerWidth), Math.max(top, 0) + Math.min(bottom, innerHeight)];
  const seen = document.elementFromPoint(x / 2, y / 2);
  if (seen === null || !(element.contains(seen) || seen.contains(element))) return "${UNSEEN}";
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--sp-accent)";
  const accent = getComputedStyle(probe).color;
  probe.remove();
  const around = [element, element.parentElement, element.parentElement?.parentElement].filter((one) => one);
  const isShown = around.some((one) => {
    const { outlineStyle, outlineWidth, borderTopColor, borderTopStyle } = getComputedStyle(one);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || (borderTopStyle !== "none" && borderTopColor === accent);
  });
  return isShown ? "" : "has the focus and does not show it";
})()`;

/** Gives the focus to what a person at a keyboard would have reached by Tab, as soon as it can be used; fails unless they would see it there. */
export const focusOn = async (target: Locator): Promise<void> => {
  await target.waitFor();
  const page = target.page();
  const find = async (): Promise<string> => {
    await target.focus();
    const isThere = (await target.and(page.locator(":focus")).count()) === 1;
    const issue = isThere ? String(await page.evaluate(issueOfFocus)) : "does not take the focus";
    // What came above it since may have moved it away: the browser shows it when the focus comes, and not again.
    if (issue === UNSEEN) await target.blur();
    return issue === "" ? "" : `${String(target)} ${issue}`;
  };
  await until(find, (issue) => issue === "");
};

/** Presses a button, follows a link, marks a box: `key` where the focus is. */
export const press = async (target: Locator, key = "Enter"): Promise<void> => {
  await focusOn(target);
  await target.page().keyboard.press(key);
};

/** Writes over what a field holds. */
export const write = async (field: Locator, text: string): Promise<void> => {
  await press(field, "Control+a");
  await field.page().keyboard.insertText(text);
};

/** Chooses in a list by the beginning of what is read there. */
export const choose = async (list: Locator, label: string): Promise<void> => {
  await focusOn(list);
  await list.page().keyboard.type(label);
  const chosen = String(await list.page().evaluate("document.activeElement.selectedOptions[0].label"));
  assert.ok(chosen.startsWith(label), chosen);
};
