import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request, type IncomingHttpHeaders } from "node:http";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launchBrowser, openPage } from "./browser.ts";
import { signIn, signInPerson } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

/** What a person is told when something is refused, empty, away or small. */

let instance: TestInstance;
let browser: Browser;
before(async () => {
  [instance, browser] = await Promise.all([startTestInstance(), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  assert.equal(await instance?.stop(), 0);
});

/** Where somebody looks at what the tests saw; nothing is compared with it. */
const shots = process.env["SCREENS_DIR"];

test("a page that is refused leads to its explanation, by the id that its headers name, from the address and from inside", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "dan");
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  const answer = await page.goto(`${instance.origin}/tools`);
  const id = answer?.headers()["x-decision-id"] ?? "";
  assert.deepEqual([answer?.status(), /^d_[0-9A-Z]{26}$/.test(id)], [403, true], id);
  await page.getByText(id, { exact: true }).waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/refused.png` });
  // The way on: whom to ask, with all that they need to know.
  await page.getByText("Dan Diaz may not list tools: nothing grants it.").waitFor();
  await page.evaluate("navigator.clipboard.writeText = async (text) => void (globalThis.copied = text)");
  await page.getByRole("button", { name: "Copy a message to them" }).click();
  const message = String(await page.evaluate("globalThis.copied"));
  for (const part of ["Dan Diaz (person:dan)", "tenant:acme", "Tools", `${instance.origin}/tools`, id])
    assert.ok(message.includes(part), message);
  await page.getByRole("link", { name: "Go to the start page" }).waitFor();
  await page.getByRole("link", { name: "Why this page is refused" }).click();
  await page.waitForURL(`${instance.origin}/why/${id}`);
  await page.getByRole("heading", { level: 1, name: "Dan Diaz may not list tools: nothing grants it." }).waitFor();
  await page.getByRole("button", { name: "Copy a message to them" }).waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/refused-why.png` });

  // Inside the client there is no answer of a page: the client's own question is the refusal.
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  await page.evaluate(`history.pushState({}, "", "/delegations"); dispatchEvent(new PopStateEvent("popstate"))`);
  await page.getByText("You may not see this page.").waitFor();
  await page.getByRole("link", { name: "Why this page is refused" }).click();
  await page.getByRole("heading", { level: 1, name: "Dan Diaz may not list delegations: nothing grants it." }).waitFor();
  assert.match(new URL(page.url()).pathname, /^\/why\/d_[0-9A-Z]{26}\.\d+$/);
  assert.deepEqual(issues, []);
});

test("what was refused shows what people tried; what was asked for show alone is a filter away, in the address", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "dan");
  await page.goto(`${instance.origin}/policies`);
  await page.getByText("You may not see this page.").waitFor();
  const dan = await signInPerson(instance.origin, "dan");
  const tryIt = () => fetch(`${instance.origin}/api/membership/delegations/delegation:ben-hr`, { headers: { cookie: dan.cookie } });
  assert.notEqual((await tryIt()).status, 200);
  await page.context().clearCookies();
  await signIn(page, instance.origin, "ada", "/why");
  const rows = page.getByRole("row").filter({ hasText: "Dan Diaz" });
  await rows.first().waitFor();
  const asked = async (): Promise<readonly string[]> => (await rows.allTextContents()).map((text) => text.replace(/^.*Dan Diaz/, ""));
  const tried = await asked();
  assert.ok(
    tried.some((text) => text.startsWith("viewdelegations delegation:ben-hr")),
    tried.join("\n"),
  );
  assert.ok(!tried.some((text) => text.includes("UI check")), tried.join("\n"));
  if (shots !== undefined) await page.screenshot({ path: `${shots}/why-list.png` });
  await page.getByLabel("Trigger").selectOption({ label: "UI check" });
  await page.waitForURL(`${instance.origin}/why?asked=shown`);
  await rows.filter({ hasText: "UI check" }).first().waitFor();
  assert.ok((await asked()).every((text) => text.includes("UI check")));
  await page.reload();
  await rows.filter({ hasText: "UI check" }).first().waitFor();

  // Found by a part of the name, chosen by keyboard, in another order, of another time; and the address says all of it.
  await page.goto(`${instance.origin}/why`);
  const everybody = page.locator("tr[data-row]");
  await everybody.first().waitFor();
  const person = page.getByRole("combobox", { name: "Person" });
  await person.fill("iaz");
  await page.getByRole("option", { name: /Dan Diaz/ }).waitFor();
  await person.press("Enter");
  await page.waitForURL(`${instance.origin}/why?subject=iaz`);
  await page.waitForFunction(`[...document.querySelectorAll("tr[data-row]")].every((row) => row.textContent.includes("Dan Diaz"))`);
  assert.ok((await rows.count()) > 0);
  await person.fill("diaz");
  await page.getByRole("option", { name: /Dan Diaz/ }).waitFor();
  await person.press("ArrowDown");
  await page.getByRole("option", { name: /Dan Diaz/, selected: true }).waitFor();
  await person.press("Enter");
  await page.waitForURL(`${instance.origin}/why?subject=person%3Adan`);
  await page.getByRole("columnheader", { name: "Resource" }).getByRole("button").click();
  await page.waitForURL(`${instance.origin}/why?subject=person%3Adan&sort=resource&order=asc`);
  assert.equal(await page.getByRole("columnheader", { name: "Resource" }).getAttribute("aria-sort"), "ascending");
  await page.getByLabel("When").selectOption({ label: "last hour" });
  await rows.first().waitFor();
  await page.goto(`${instance.origin}/why?subject=diaz&from=2020-01-01T00%3A00&to=2020-01-02T00%3A00`);
  await page.getByText("No decision fits the filters.").waitFor();

  // What happens while it is looked at appears by itself.
  await page.goto(`${instance.origin}/why?subject=diaz`);
  await rows.first().waitFor();
  const before = await rows.count();
  await page.evaluate("globalThis.stillThere = true");
  for (let tries = 0; (await rows.count()) === before; tries++) {
    assert.ok(tries < 20, "no row came by itself");
    await tryIt();
    await page.waitForTimeout(1_000);
  }
  assert.equal(await page.evaluate("globalThis.stillThere"), true);
  assert.deepEqual(issues, []);
});

test("what a delegation adds says which columns its agent will see cut, and the agent sees them so", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  const ben = await signInPerson(instance.origin, "ben");
  const ended = await fetch(`${instance.origin}/api/membership/delegations/revoke-many`, {
    method: "POST",
    headers: { ...ben.headers, "idempotency-key": randomUUID() },
    body: JSON.stringify({ agent_id: "agent:hr-assistant", mode: "revoke", reason: "anew" }),
  });
  assert.equal(ended.status, 200, await ended.text());

  await signIn(page, instance.origin, "ben", "/delegations?status=any");
  const old = page.getByRole("row").filter({ hasText: "delegation:ben-old" });
  await old.getByRole("link", { name: "Last quarter's headcount" }).waitFor();
  assert.match(await old.innerText(), /ended .* ago/);
  assert.ok(!/in \d+ days/.test(await old.innerText()), "what is over does not end any more");
  await page.goto(`${instance.origin}/delegations`);
  await page.getByText("None active").waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/delegations-ended.png` });
  await page.goto(`${instance.origin}/delegations/new?agent=agent%3Ahr-assistant&step=tools`);
  for (const tool of ["list_employees", "get_employee", "update_salary"])
    await page.getByRole("checkbox", { name: new RegExp(`people\\.demo\\.${tool}`) }).check();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Steps").fill("10");
  await page.getByLabel("Budget in USD").fill("1.00");
  await page.getByLabel("Purpose").fill("Look after the directory");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("employee.birth_date").waitFor();
  const added = page.locator("dd").filter({ hasText: "employee.birth_date" });
  assert.match(await added.innerText(), /employee\.birth_date\s+.*year/i);
  assert.ok(!(await added.innerText()).includes("salary"), "salaries are shown to the agent of who may see them");
  if (shots !== undefined) await page.screenshot({ path: `${shots}/what-if.png`, fullPage: true });
  await page.getByRole("button", { name: "Delegate", exact: true }).click();
  await page.waitForURL(/\/delegations\/delegation/);
  const token = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant", aud: `${instance.origin}/mcp` });
  const called = await fetch(`${instance.origin}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "people.demo.list_employees", arguments: { limit: 1 } },
    }),
  });
  const text = await called.text();
  assert.match(text, /birth_date\W+\d{4}\W+[^-\d]/, text.slice(0, 600));
  assert.match(text, /salary\W+\d{4,}/, text.slice(0, 600));

  // An agent of somebody else: the way out says who must do what, and leads to no form in which ben could not do it.
  const foreign = await fetchToken(instance.port, { user: "ben", agent: "agent:reporter", aud: `${instance.origin}/mcp` });
  const refused = await fetch(`${instance.origin}/mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${foreign}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "people.demo.list_employees", arguments: {} } }),
  });
  const [decisionId = ""] = /d_[0-9A-Z]{26}(?:\.\d+)?/.exec(await refused.text()) ?? [];
  await page.goto(`${instance.origin}/why/${decisionId}`);
  await page.getByRole("heading", { level: 1, name: /^Ben Baker through Reporter may not call tool/ }).waitFor();
  await page.getByText("Let Ben Baker control Reporter").waitFor();
  await page.getByText(/^Only .+ can do this$/).waitFor();
  await page.getByText("Yours to do once the step before it is done.").waitFor();
  assert.equal(await page.locator('main a[href*="/delegations/new"]').count(), 0);
  if (shots !== undefined) await page.screenshot({ path: `${shots}/remedy.png`, fullPage: true });
  // The address may name that agent all the same: nobody gets past it.
  await page.goto(`${instance.origin}/delegations/new?agent=agent%3Areporter&tool=people.demo.list_employees&step=limits`);
  await page.getByText("This agent is not yours to delegate to. Choose another one.").waitFor();
  assert.equal(await page.getByLabel("Steps").count(), 0);
  assert.deepEqual(issues, []);
});

test("a fault of the form goes when it is mended; a broken address filters nothing; whom a screen is open to is told so", async (t) => {
  const { page, issues, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ben", "/tools/people.demo.update_salary?tab=try");
  const salary = page.getByLabel("salary", { exact: false }).first();
  await salary.fill("abc");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("must be a whole number", { exact: true }).waitFor();
  assert.equal(await salary.getAttribute("aria-invalid"), "true");
  await salary.fill("1000");
  await page.getByText("must be a whole number", { exact: true }).waitFor({ state: "detached" });
  assert.notEqual(await salary.getAttribute("aria-invalid"), "true");

  await page.goto(`${instance.origin}/delegations?agent=a%2Fb&status=gone`);
  await page.getByText(/it was left out: agent, status/).waitFor();
  await page.getByRole("row").or(page.getByText("None active")).first().waitFor();
  assert.equal(await page.getByText("is not an id").count(), 0);
  await page.goto(`${instance.origin}/delegations?agent=hr`);
  await page.getByText("No delegation fits the filters.").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Revoke all/ }).count(), 0);

  // What is hidden is not empty: every cell of it says so, and by which rule.
  await page.context().clearCookies();
  await signIn(page, instance.origin, "cleo", "/tools/people.demo.list_employees?tab=try");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const cells = page.locator('td[data-title="salary"]');
  await cells.first().waitFor();
  assert.ok(
    (await cells.allInnerTexts()).every((text) => text === "hidden: data scope"),
    (await cells.allInnerTexts()).join(),
  );
  const born = await page.locator('td[data-title="birth_date"]').allInnerTexts();
  assert.ok(
    born.every((text) => /^\d{4}\s+year only: data scope$/.test(text)),
    born.join(),
  );
  await page.getByText("salary:").waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/masked.png`, fullPage: true });

  await page.context().clearCookies();
  await signIn(page, instance.origin, "eve");
  await page.getByRole("navigation").getByRole("link", { name: "Requests" }).waitFor();
  await page.getByRole("link", { name: "See requests" }).waitFor();
  assert.equal(await page.getByText("You have no access yet").count(), 0);
  assert.deepEqual(issues, []);
});

test("an address that is none is told to a person as a page, and to a program as before", async () => {
  const ask = async (path: string, accept: string) => {
    // Not fetch: it would mend the path before it is sent.
    const [status, headers, body] = await new Promise<readonly [number, IncomingHttpHeaders, string]>((resolve, reject) => {
      request({ host: "127.0.0.1", port: instance.port, path, headers: { accept, host: `localhost:${instance.port}` } }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve([response.statusCode ?? 0, response.headers, text]));
      })
        .on("error", reject)
        .end();
    });
    return { status, headers, body, kind: headers["content-type"] };
  };
  for (const path of ["/a//b", "/tools/x%2Fy", "/tools/%zz"]) {
    const page = await ask(path, "text/html,application/xhtml+xml");
    assert.deepEqual([page.status, page.kind], [400, "text/html; charset=utf-8"], path);
    assert.match(String(page.headers["content-security-policy"]), /^default-src 'none'/);
    assert.equal(page.headers["x-content-type-options"], "nosniff");
    assert.ok(page.body.includes(String(page.headers["x-correlation-id"])), "the id to ask with");
    assert.ok(page.body.includes('href="/"'));
    const program = await ask(path, "application/json");
    assert.deepEqual([program.status, program.kind], [400, "application/problem+json"], path);
  }
  for (const path of ["/api//b", "/api/x%2Fy", "/auth//login"])
    assert.equal((await ask(path, "text/html")).kind, "application/problem+json", path);
});

test("on a telephone every cell of a list is on the screen, each with its title", async (t) => {
  const { page, issues, close } = await openPage(browser, { viewport: { width: 390, height: 844 } });
  t.after(close);
  await signIn(page, instance.origin, "ada", "/why?asked=any");
  for (const [path, title] of [
    ["/why?asked=any", "Reason"],
    ["/tools", "Tool"],
    ["/policies", "What it says"],
  ] as const) {
    await page.goto(`${instance.origin}${path}`);
    // A page may hold several lists, each read by itself.
    await page.locator(`tr[data-row] td[data-title="${title}"]`).first().waitFor();
    const seen = await page.evaluate(`(() => {
      const cells = [...document.querySelectorAll("tr[data-row] td")].filter((cell) => cell.textContent.trim() !== "");
      const outside = cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth + 1).length;
      const narrow = cells.filter((cell) => cell.getBoundingClientRect().width < 250).length;
      return JSON.stringify({ count: cells.length, outside, narrow, titles: [...new Set(cells.map((cell) => cell.dataset.title))] });
    })()`);
    const { count, outside, narrow, titles } = JSON.parse(String(seen)) as {
      readonly count: number;
      readonly outside: number;
      readonly narrow: number;
      readonly titles: readonly string[];
    };
    assert.ok(count > 0 && titles.includes(title), `${path}: ${titles.join()}`);
    assert.deepEqual({ outside, narrow }, { outside: 0, narrow: 0 }, path);
    if (shots !== undefined) await page.screenshot({ path: `${shots}/phone${path.split("?")[0]?.replaceAll("/", "-")}.png` });
  }
  assert.deepEqual(issues, []);
});

test("without a network a page that was never opened says so inside the app; with one it opens, and the app is never replaced", async (t) => {
  const { page, close } = await openPage(browser);
  t.after(close);
  await signIn(page, instance.origin, "ben");
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  const loads: string[] = [];
  page.on("framenavigated", (frame) => void loads.push(frame.url()));
  // What this document is known by; a document in its place would not know it.
  await page.evaluate("globalThis.stillThere = true");
  const navigation = page.getByRole("navigation", { name: "Main" });
  await navigation.getByRole("link", { name: "Requests", exact: true }).waitFor();
  await page.context().setOffline(true);
  await navigation.getByRole("link", { name: "Requests", exact: true }).click();
  await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
  if (shots !== undefined) await page.screenshot({ path: `${shots}/offline-page.png` });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
  await navigation.getByRole("link", { name: "Home", exact: true }).click();
  await page.getByRole("heading", { name: /^Hello, / }).waitFor();
  assert.equal(await page.evaluate("globalThis.stillThere"), true, loads.join(" "));
  await page.context().setOffline(false);
  await navigation.getByRole("link", { name: "Requests", exact: true }).click();
  await page.getByRole("heading", { name: "Requests", exact: true }).waitFor();
});

test("a tool that one knows of and cannot call says so, and each check's reason once", async (t) => {
  for (const [name, options] of [
    ["light", { viewport: { width: 1280, height: 900 }, colorScheme: "light" }],
    ["dark", { viewport: { width: 375, height: 800 }, colorScheme: "dark" }],
  ] as const) {
    const { page, issues, close } = await openPage(browser, options);
    t.after(close);
    await signIn(page, instance.origin, "ada");
    await page.getByRole("heading", { name: /^Hello, / }).waitFor();
    await page.goto(`${instance.origin}/tools/people.demo.update_salary`);
    await page.getByText("You can't call this tool").waitFor();
    await page.getByText("Serving").waitFor();
    assert.equal(await page.getByText("Not among your tools").count(), 0);
    const card = page.getByRole("row").filter({ has: page.getByText("view", { exact: true }) });
    await card.waitFor();
    if (name === "dark") assert.equal(await card.getByRole("cell").count(), 2, "a card has no title of what is empty");
    if (shots !== undefined) await page.screenshot({ path: `${shots}/not-yet-${name}.png`, fullPage: true });
    assert.deepEqual(issues, []);
  }
});
