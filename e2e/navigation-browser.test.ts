import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { screens as screenRows, type ScreenRow } from "#contract/screens.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { pageAddresses } from "./page-addresses.ts";
import { signIn } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

let instance: TestInstance;
let browser: Browser;
before(async () => {
  [instance, browser] = await Promise.all([startTestInstance(), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  assert.equal(await instance?.stop(), 0);
});

const people = ["ada", "ben", "cleo", "dan", "eve"] as const;

/** What a page asks for its lists, pages and widgets: Y permitted, R denied with a way to ask for it, - denied. */
const asks: readonly (readonly [type: string, action: string, ids: readonly (string | undefined)[], answers: string])[] = [
  ["pages", "view_all", [undefined], "YYY-Y"],
  ["tasks", "view_all", [undefined], "YYY-Y"],
  ["tasks", "view_summary", [undefined], "YYY-Y"],
  ["pages", "view", ["people", "my-work"], "YYY--"],
  ["pages", "view", ["operations"], "YRR--"],
  ["page.widget", "view", ["people:grid:employees", "my-work:action:delegate"], "YYY--"],
  ["page.widget", "view", ["people:action:offboard"], "-Y---"],
  ["page.widget", "view", ["operations:grid:runs"], "Y----"],
  ["plugin.route", "view", ["acme.hello"], "YYY--"],
  ["plugin.widget", "view", ["acme.hello:Hello"], "YYY--"],
  ["plugins", "view_all", [undefined], "Y----"],
  ["plugins", "manage", [undefined], "-----"],
  ["workflows", "view_all", [undefined], "YYY--"],
  ["workflows", "execute_quick", [undefined], "YY---"],
  ["workflows", "start", ["grant_access"], "YY---"],
  ["workflows", "start", ["offboard"], "-Y---"],
  ["workflows", "view_runs", [undefined], "Y----"],
  ["workflows", "operate", [undefined], "Y----"],
  ["workflows", "signal", [undefined], "Y----"],
  ["tools", "view_all", [undefined], "YYY--"],
  ["agents", "view_all", [undefined], "YYY--"],
  ["delegations", "view_all", [undefined], "YYY--"],
  ["identities", "view_all", [undefined], "YYY-Y"],
  ["registry", "view", ["mcp:people"], "YYY--"],
  ["forms", "view", ["onboarding"], "YYY--"],
  ["graph", "diagnose", [undefined], "YY---"],
  ["budgets", "view_team", [undefined], "YY---"],
  ["budgets", "view_tenant", [undefined], "Y----"],
  ["idplatform", "view", [undefined], "YY---"],
  ["secrets", "view_all", [undefined], "YY---"],
  ["policies", "view", [undefined], "Y----"],
  ["decisions", "view_all", [undefined], "Y----"],
  ["activity", "view_all", [undefined], "Y----"],
  ["sessions", "view_all", [undefined], "Y----"],
  ["audit", "view", [undefined], "Y----"],
  ["configs", "view_all", [undefined], "Y----"],
  ["system", "view", [undefined], "Y----"],
  ["streams", "config", [undefined], "YYYYY"],
  ["streams", "workflow", [undefined], "YYY-Y"],
  ["streams", "activity", [undefined], "YYY-Y"],
];

/** The screens, and who is shown each, as above: whoever the pair of its row is permitted to. */
const screens = Object.entries<ScreenRow>(screenRows).map(([id, { label: link, path, pair }]) => {
  const shown = pair === undefined ? "YYYYY" : asks.find(([type, action]) => type === pair.type && action === pair.action)?.[3];
  assert.ok(shown !== undefined, `who may ${pair?.action} ${pair?.type}, which opens ${path}, is not in the table`);
  return { id, link, path, shown };
});

/** Asks all of it in one keyed batch, as a page does, from inside the page. */
const answersIn = async (page: Page): Promise<readonly string[]> => {
  const items = asks.flatMap(([type, action, ids]) =>
    ids.map((id) => ({
      key: `${type} ${action} ${id ?? ""}`,
      resource: { type, ...(id === undefined ? {} : { id }) },
      action: { name: action },
    })),
  );
  const text = await page.evaluate(
    `(async () => {
      const { csrf_token: token } = await (await fetch("/auth/session")).json();
      const answer = await fetch("/access/v1/evaluations", {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": token, "x-csrftoken": token, "x-requested-with": "XMLHttpRequest" },
        body: ${JSON.stringify(JSON.stringify({ evaluations: items }))},
      });
      return JSON.stringify({ status: answer.status, body: await answer.json() });
    })()`,
  );
  const { status, body } = JSON.parse(String(text)) as {
    readonly status: number;
    readonly body: {
      readonly results?: Readonly<Record<string, { readonly decision: boolean; readonly context?: Readonly<Record<string, unknown>> }>>;
    };
  };
  assert.equal(status, 200, String(text));
  return items.map(({ key }) => {
    const one = body.results?.[key];
    return `${key}: ${one?.decision === true ? "Y" : one?.context?.["access_request"] === undefined ? "-" : "R"}`;
  });
};

/** The help names each screen by the letter that leads there. */
const helpsWithEachScreen = async (page: Page): Promise<void> => {
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard" });
  await dialog.getByText("Search or run a command").waitFor();
  const [keys, meanings] = [await dialog.getByRole("term").allTextContents(), await dialog.getByRole("definition").allTextContents()];
  const reported = keys.flatMap((key, row) => (key.startsWith("g ") ? [[key, meanings[row]] as const] : []));
  assert.deepEqual(
    reported.map(([, meaning]) => meaning),
    screens.map(({ link }) => link),
  );
  assert.equal(new Set(reported.map(([key]) => key)).size, screens.length, "each by a letter of its own");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
};

for (const [at, person] of people.entries())
  test(`${person} is shown exactly the screens, pages and widgets of the demo's policies, and each screen asks at most twice`, async (t) => {
    const { page, issues, close } = await openPage(browser);
    t.after(close);
    let asked: string[] = [];
    const foreign: string[] = [];
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin !== instance.origin) foreign.push(url.href);
      if (url.pathname.startsWith("/access/")) asked.push(url.pathname);
    });
    await signIn(page, instance.origin, person);
    const navigation = page.getByRole("navigation", { name: "Main" });
    await page.getByRole("heading", { name: /^Hello, / }).waitFor();
    // The sign-in page is the issuer's; from here on there is Sallyport alone.
    foreign.length = 0;
    const shown = screens.filter((screen) => screen.shown[at] === "Y");
    for (const { link } of shown) await navigation.getByRole("link", { name: link, exact: true }).waitFor();
    const links = await navigation.getByRole("link").allTextContents();
    assert.deepEqual(
      links.map((text) => text.trim()),
      shown.map(({ link }) => link),
    );
    if (person === "ada") await helpsWithEachScreen(page);

    for (const { link, path, shown: may } of screens) {
      asked = [];
      const answer = await page.goto(`${instance.origin}${path}`);
      assert.equal(answer?.status(), may[at] === "Y" ? 200 : 403, link);
      if (may[at] === "Y") await navigation.getByRole("link", { name: link, exact: true }).waitFor();
      else await page.getByText("You may not see this page.").waitFor();
      // Whatever would ask a third time has had the time to.
      await page.waitForTimeout(300);
      assert.ok(asked.length <= 2, `${link}: ${asked.join(" ")}`);
      assert.deepEqual(
        asked.filter((one) => one !== "/access/v1/evaluation" && one !== "/access/v1/evaluations"),
        [],
        link,
      );
    }

    // Pages behind the screens, with their forms and previews.
    for (const { screen, path, address } of pageAddresses) {
      const row = shown.find(({ id }) => id === screen);
      if (row === undefined || row.path === path) continue;
      await page.goto(`${instance.origin}${address}`);
      await page.getByRole("heading").first().waitFor();
      await page.waitForTimeout(300);
    }

    const wanted = asks.flatMap(([type, action, ids, answers]) => ids.map((id) => `${type} ${action} ${id ?? ""}: ${answers[at]}`));
    assert.deepEqual(await answersIn(page), wanted);
    assert.deepEqual(foreign, []);
    assert.deepEqual(issues, []);
  });

test("of all that was opened and drawn nothing is listed as a refusal, but what was tried is: cleo opened what is ben's by its address", async () => {
  const token = await fetchToken(instance.port, { user: "ada", acr: "strong" });
  const list = async (query: string) => {
    const response = await fetch(`${instance.origin}/access/v1/decisions?limit=500&decision=false${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200);
    return (
      (await response.json()) as { decisions: { action: string; resource: { type: string }; subject?: { id: string }; pep?: string }[] }
    ).decisions;
  };
  assert.deepEqual(
    (await list("")).map(({ action, resource, subject }) => `${subject?.id ?? ""} ${resource.type}/${action}`),
    ["person:cleo delegations/view"],
  );
  assert.ok((await list("&enforced=false")).length > 50);
});
