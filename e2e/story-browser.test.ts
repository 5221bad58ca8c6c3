import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launchBrowser, openPage } from "./browser.ts";
import { connectMcp, resultOf, toolNames } from "./mcp-client.ts";
import { takePicture } from "./picture.ts";
import { signIn } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";
import { fetchToken } from "./tokens.ts";

const search = "sallyport.local.search_identities";

let instance: TestInstance;
let browser: Browser;
before(async () => {
  [instance, browser] = await Promise.all([startTestInstance(), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  assert.equal(await instance?.stop(), 0);
});

test("ben delegates, watches the meter, revokes; ada explains the refusal", async () => {
  const { page, issues, close } = await openPage(browser);
  await signIn(page, instance.origin, "ben");
  await page.getByRole("heading", { name: /Hello, Ben/ }).waitFor();

  // Step 3: delegate, with a what-if that says what it adds.
  await page.getByRole("link", { name: "Delegations", exact: true }).first().click();
  await page.getByRole("link", { name: "Delegate to an agent" }).first().click();
  await page.getByRole("radio", { name: /HR assistant|hr-assistant/i }).check();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("radio", { name: "Only these" }).check();
  for (const name of ["people.demo.list_employees", "people.demo.get_employee", search]) {
    await page.getByRole("checkbox", { name: new RegExp(name.replaceAll(".", String.raw`\.`)) }).check();
  }
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Steps").fill("10");
  await page.getByLabel("Budget in USD").fill("1.00");
  await page.getByLabel("Purpose").fill("Find colleagues for the staff party");
  await page.getByRole("button", { name: "Next" }).click();
  const added = page.getByRole("region", { name: "Review" });
  await added.getByText(search).first().waitFor();
  await takePicture(page, "what-if");
  await page.getByRole("button", { name: "Delegate", exact: true }).click();
  await page.waitForURL(/\/delegations\/delegation:/);
  await page.getByText("0 used of 10").first().waitFor();

  // Steps 4 and 5: the agent calls; the meter on ben's page moves without a reload.
  const agent = await fetchToken(instance.port, { user: "ben", agent: "agent:hr-assistant" });
  const client = await connectMcp(instance.origin, agent, "legacy");
  assert.ok((await toolNames(client)).includes(search));
  const marker = await page.evaluate("globalThis.__loadedOnce = Math.random()");
  for (let call = 0; call < 3; call++) {
    const found = resultOf(await client.callTool({ name: search, arguments: { search: "cleo" } }));
    assert.equal(found.isError, false, found.text);
  }
  await page.getByText("3 used of 10").first().waitFor({ timeout: 15_000 });
  await takePicture(page, "meter");
  assert.equal(await page.evaluate("globalThis.__loadedOnce"), marker, "the page was not loaded again");

  // Revoke all that the agent holds from ben.
  await page.getByRole("button", { name: /Revoke all that .* holds from me/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("These end together, in one step:").waitFor();
  await dialog.getByLabel("Why").fill("The party is over");
  // The page may hear of the end before its answer comes: the dialog stays as it was filled in, and what was done is told.
  let kept: string | undefined;
  await page.route("**/delegations/revoke-many", async (route) => {
    const response = await route.fetch();
    await page
      .getByText(/^revoked$/i)
      .first()
      .waitFor();
    kept = await dialog.getByLabel("Why").inputValue();
    await route.fulfill({ response });
  });
  await dialog.getByRole("button", { name: /Revoke/ }).click();
  await page
    .getByText(/refused on every node/)
    .first()
    .waitFor();
  assert.equal(kept, "The party is over");
  const refused = await client
    .callTool({ name: search, arguments: { search: "cleo" } })
    .then(resultOf)
    .catch((error: unknown) => ({ isError: true, text: JSON.stringify(error), value: error }));
  assert.equal(refused.isError, true);
  assert.match(refused.text, /delegation_(required|inactive)/);
  const decisionId = /d_[0-9A-HJKMNP-TV-Z]{26}(?:\.\d+)?/.exec(refused.text)?.[0];
  assert.ok(decisionId, refused.text);
  assert.deepEqual(await toolNames(client), ["system.health"]);
  await client.close();
  assert.deepEqual(issues, []);
  await close();

  // Step 6: ada opens the refusal.
  const ada = await openPage(browser);
  await signIn(ada.page, instance.origin, "ada", `/why/${decisionId}`);
  await ada.page.getByRole("heading", { level: 1, name: /^Ben Baker through HR assistant may not call tool/ }).waitFor();
  await ada.page.getByText(decisionId, { exact: true }).first().waitFor();
  await ada.page.getByText("Path", { exact: true }).waitFor();
  await ada.page.getByText("missing").first().waitFor();
  await ada.page.getByText("The smallest change").waitFor();
  await ada.page.getByText("Policies that decided").waitFor();
  await takePicture(ada.page, "why", true);
  assert.deepEqual(ada.issues, []);
  await ada.close();
});

test("dan sees the home page and nothing else; what he types is answered 403 with the shell that says so", async () => {
  const { page, issues, close } = await openPage(browser);
  await signIn(page, instance.origin, "dan");
  await page.getByRole("heading", { name: /Hello, Dan/ }).waitFor();
  const links = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allTextContents();
  assert.deepEqual(
    links.map((text) => text.trim()),
    ["Home"],
  );
  for (const path of ["/tools", "/delegations", "/delegations/new", "/why"]) {
    const answer = await page.goto(`${instance.origin}${path}`);
    assert.equal(answer?.status(), 403, path);
    await page.getByText("You may not see this page.").waitFor();
  }
  for (const path of [
    "/api/membership/delegations",
    "/api/membership/delegations/delegation:ben-hr/usage",
    "/api/membership/identity_nodes/search",
  ]) {
    const status = await page.evaluate(
      `fetch(${JSON.stringify(path)}, { headers: { "x-requested-with": "XMLHttpRequest" } }).then((answer) => answer.status)`,
    );
    assert.ok(status === 403 || (status === 404 && path.includes("delegation:")), `${path} answered ${String(status)}`);
  }
  // Everybody may read the decisions about themselves, and no others.
  const subjects = await page.evaluate(
    `fetch("/api/pdp/decisions").then((answer) => answer.json()).then((body) => [...new Set(body.decisions.map((one) => one.subject?.id ?? ""))].filter((id) => id !== "" && id !== "person:dan"))`,
  );
  assert.deepEqual(subjects, []);
  const bens = await page.evaluate(
    `fetch("/api/pdp/decisions?subject=person:ben").then((answer) => answer.json()).then((body) => body.decisions.length)`,
  );
  assert.equal(bens, 0);
  const tools = await page.evaluate(
    `fetch("/api/crud/mcp/tools/list").then((answer) => answer.json()).then((body) => body.tools.map((tool) => tool.name))`,
  );
  assert.deepEqual(tools, ["system.health"]);
  assert.deepEqual(issues, []);
  await close();
});
