import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { formsOf } from "#testing/canary.ts";
import { startOpenBao, type OpenBao } from "#testing/openbao.ts";
import { requireProgram } from "#testing/programs.ts";
import { demoCode } from "#testing/sign-in.ts";
import { look } from "./axe.ts";
import { launchBrowser, openPage } from "./browser.ts";
import { press, write } from "./keyboard.ts";
import { takePicture } from "./picture.ts";
import { signIn } from "./sign-in.ts";
import { startTestInstance, type TestInstance } from "./test-instance.ts";

const CANARY = "canary-value-of-the-page";
const PURPOSE = "To compare it with the mailer";
const still = { reducedMotion: "reduce" } as const;
const KV = "vaulta+kv2://kv-a/team/mailer";

/** Lets Sallyport read and write, and list nothing. */
const tokenWithoutList = async (store: OpenBao): Promise<string> => {
  await store.ask("POST", "sys/policies/acl/listless", { policy: 'path "kv-b/*" { capabilities = ["read", "create", "update"] }' });
  const { data } = await store.ask("POST", "auth/token/create", { policies: ["listless"] });
  return (data["auth"] as { client_token: string }).client_token;
};

let instance: TestInstance;
let browser: Browser;
let bao: OpenBao | undefined;
const ends: (() => unknown)[] = [];
before(async () => {
  const program = requireProgram({ skip: () => undefined }, "bao");
  bao = program === undefined ? undefined : await startOpenBao({ after: (end) => void ends.push(end) }, program, { storage: "memory" });
  const store =
    bao === undefined
      ? {}
      : {
          VAULTA_URL: bao.url,
          VAULTA_TOKEN: bao.rootToken,
          VAULTB_URL: bao.url,
          VAULTB_TOKEN: await tokenWithoutList(bao),
          TENANT_ALLOWED_MOUNTS: '{"tenant:acme":["yaml://secret","vaultA+kv2://kv-a","vaultB+kv2://kv-b"]}',
        };
  [instance, browser] = await Promise.all([startTestInstance({ environment: store }), launchBrowser()]);
});
after(async () => {
  await browser?.close();
  await instance?.stop();
  for (const end of ends) await end();
});

const pathOf = (uri: string): string => `/secrets/one?uri=${encodeURIComponent(uri)}`;
const open = async (page: Page, uri: string): Promise<void> => {
  await page.goto(`${instance.origin}${pathOf(uri)}`);
  await page.getByRole("heading", { level: 1, name: uri.slice(uri.lastIndexOf("/") + 1) }).waitFor();
};
const button = (page: Pick<Page, "getByRole">, name: string) => page.getByRole("button", { name, exact: true });
/** The form of the open dialog may be sent: nothing is on its way, and what was read before is read again. */
const isReady = async (page: Page): Promise<void> =>
  await page.getByRole("dialog").locator('button[type="submit"][aria-disabled="false"]:not([data-loading])').waitFor();
/** Sends the form of the open dialog, reads what will happen, and then does it. */
const planAndDo = async (page: Page, lines: readonly (RegExp | string)[]): Promise<void> => {
  const plan = page.getByRole("dialog").getByRole("status", { name: "What will happen" });
  if ((await page.getByRole("dialog").getByRole("button", { name: "Show what will happen" }).count()) > 0) {
    await isReady(page);
    await page.keyboard.press("Control+Enter");
  }
  await plan.waitFor();
  for (const line of lines) await plan.getByText(line).waitFor();
};
const act = async (page: Page, fact: RegExp | string): Promise<void> => {
  await isReady(page);
  await page.keyboard.press("Control+Enter");
  await page.getByText(fact).first().waitFor();
  // It gives the focus back as it goes.
  await page.getByRole("dialog").waitFor({ state: "detached" });
};

/** In none of the ways in which a part could carry it. */
const assertNowhere = (text: string, what: string): void => {
  for (const value of [CANARY, `${CANARY}-2`, `${CANARY}-3`])
    for (const [form, needle] of formsOf(value)) assert.ok(!text.includes(needle), `${what}: ${value} as ${form}`);
};
/** Everything of the page that somebody could find a value in. */
const everywhereIn = (page: Page): Promise<string> =>
  page.evaluate(`JSON.stringify([
    document.documentElement.outerHTML, document.title, location.href, JSON.stringify(history.state), JSON.stringify({ ...sessionStorage }),
    JSON.stringify({ ...localStorage }), performance.getEntries().map((entry) => entry.name),
    [...document.querySelectorAll("input, textarea")].map((field) => field.value)])`);

test("by keyboard: find, write, rotate, see a value, copy, move and delete in the file, each with what will happen before", async () => {
  const { page, issues, close } = await openPage(browser, still);
  await signIn(page, instance.origin, "ada");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Secrets" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  const file = page.getByRole("region", { name: "yaml://secret" });
  await file.getByRole("link", { name: "demo" }).waitFor();

  // A search goes over paths and keys, never values.
  await page.keyboard.press("/");
  await page.keyboard.type("api_");
  const found = page.getByRole("region", { name: "Found in yaml://secret" });
  await found.getByRole("link", { name: "secret/people/demo" }).waitFor();
  assert.match(await found.getByRole("table").innerText(), /key/);
  await page.keyboard.press("Escape");
  await write(page.getByLabel("Find"), "no such secret");
  await found.getByText("No path or key that you may know of holds this text.").waitFor();
  await press(button(found, "Clear filters"));
  await file.waitFor();

  // A new one: every fault at once, then the plan, then the act.
  await press(button(page, "New secret"));
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Place").waitFor();
  await page.keyboard.press("Control+Enter");
  await dialog.getByText("Give each key a value.").waitFor();
  await dialog.getByText("Mount and path, without a key, e.g. yaml://secret/team/service.").waitFor();
  await write(dialog.getByLabel("Place"), "yaml://secret/team/mailer");
  await write(dialog.getByLabel("Key", { exact: false }).first(), "password");
  await write(dialog.getByRole("textbox", { name: "Value" }), CANARY);
  await planAndDo(page, ["Nothing is there yet: it is made.", "Keys that are added: password."]);
  // What is typed anew was not looked at.
  await write(dialog.getByRole("textbox", { name: "Value" }), `${CANARY}-2`);
  assert.equal(await dialog.getByRole("status", { name: "What will happen" }).count(), 0);
  await planAndDo(page, ["Nothing is there yet: it is made."]);
  await act(page, "yaml://secret/team/mailer is written.");
  await page.keyboard.press("j");
  await open(page, "yaml://secret/team/mailer");
  assertNowhere(await everywhereIn(page), "what was written is nowhere on the page");

  // A value is seen with a reason, and is gone when the window is left.
  await write(page.getByLabel("Purpose"), "short");
  await page.keyboard.press("Enter");
  await page.getByText("Say in 10 to 200 characters what you need it for").waitFor();
  await write(page.getByLabel("Purpose"), PURPOSE);
  await page.keyboard.press("Enter");
  await page.getByText(`${CANARY}-2`).waitFor();
  await page.getByText("Audit entry").waitFor();
  assert.ok(!(await page.title()).includes(CANARY) && !page.url().includes("canary"));
  await page.evaluate(`dispatchEvent(new Event("blur"))`);
  await page.getByText(`${CANARY}-2`).waitFor({ state: "detached" });
  assertNowhere(await everywhereIn(page), "what was seen is nowhere any more");
  await page.getByText(`Stated purpose: ${PURPOSE}`).waitFor();
  await look(page, "stated purpose");
  await takePicture(page, "secret-purpose", true);

  await press(button(page, "Rotate"));
  await write(dialog.getByRole("textbox", { name: "New value" }), `${CANARY}-3`);
  await planAndDo(page, [
    "What is there now is overwritten and gone: this store keeps no versions.",
    "No system that you may see names it.",
  ]);
  await act(page, "yaml://secret/team/mailer#password has its new value.");

  await press(button(page, "Copy"));
  await write(dialog.getByRole("textbox", { name: "To" }), "yaml://secret/people/demo");
  await planAndDo(page, [/choose "Overwrite what is there"/]);
  assert.equal(await dialog.getByText(/^(?:Allowed|Denied)$/).count(), 2, "reading and writing, a line each");
  assert.equal(await dialog.getByRole("button", { name: "Copy", exact: true }).count(), 0, "what is refused has no button");
  // What the act would refuse, its plan refuses.
  await write(dialog.getByRole("textbox", { name: "To" }), "yaml://secret/team/mailer/sub");
  await isReady(page);
  await page.keyboard.press("Enter");
  await dialog.getByText("same_resource").waitFor();
  await write(dialog.getByRole("textbox", { name: "To" }), "yaml://secret/team/copy");
  await planAndDo(page, ["It is copied and read back; the source stays as it is.", "Nothing is there yet: it is made."]);
  await act(page, "Copied to yaml://secret/team/copy.");

  await press(button(page, "Move"));
  await write(dialog.getByRole("textbox", { name: "To" }), "yaml://secret/team/post");
  await planAndDo(page, [/^It is copied, read back, and then deleted at its old place/]);
  await act(page, "Moved here from yaml://secret/team/mailer.");
  await page.getByRole("heading", { level: 1, name: "post" }).waitFor();

  await press(button(page, "Delete"));
  await planAndDo(page, ["It is gone for good: this store keeps no versions.", "Keys that go with it: password."]);
  await act(page, "yaml://secret/team/post is deleted.");
  await page.getByText("Nothing is stored here now.").first().waitFor();

  // Who names the demo's secret, and who last changed the copy.
  await open(page, "yaml://secret/people/demo");
  await page.getByRole("region", { name: "Systems that name it" }).getByText("people.demo").waitFor();
  await open(page, "yaml://secret/team/copy");
  const acts = page.getByRole("region", { name: "History" });
  await page.waitForTimeout(1_000);
  await press(button(acts, "Check now"));
  await acts.getByText("Last changed").waitFor();
  assert.match(await acts.innerText(), /by\s+person:ada/);
  assertNowhere(instance.output(), "and no value is in Sallyport's log");
  assert.deepEqual(issues, []);
  await close();
});

test("versions: written, seen, deleted and restored; a version destroyed after the stronger sign-in; a race is told", async (t) => {
  requireProgram(t, "bao");
  if (bao === undefined) return;
  const { page, issues, close } = await openPage(browser, still);
  await signIn(page, instance.origin, "ada");
  await open(page, KV);
  const dialog = page.getByRole("dialog");
  for (const version of [1, 2]) {
    await press(button(page, "Write"));
    await write(dialog.getByRole("textbox", { name: "Key" }), "password");
    await write(dialog.getByRole("textbox", { name: "Value" }), `${CANARY}-v${version}`);
    await planAndDo(page, [version === 1 ? "Nothing is there yet: it is made." : /It becomes version 2/]);
    await act(page, `${KV} is written as version ${version}.`);
  }
  const versions = page.getByRole("region", { name: "Versions" });
  // Until the list is read again the first version is the newest, which needs no number.
  await versions.getByRole("row", { name: /^Version 2 / }).waitFor();
  await press(versions.getByRole("link", { name: "Version 1" }));
  await page.getByText("of version 1").waitFor();
  await write(page.getByLabel("Purpose"), "To see the one before");
  await page.keyboard.press("Enter");
  await page.getByText(`${CANARY}-v1`).waitFor();
  await press(button(page, "Hide now"));
  await page.getByText(`${CANARY}-v1`).waitFor({ state: "detached" });
  await press(page.getByRole("link", { name: "Back to the newest" }));

  // Somebody else writes between plan and act: nothing is lost, and the next plan is of what is there then.
  await press(button(page, "Rotate"));
  await write(dialog.getByRole("textbox", { name: "New value" }), `${CANARY}-mine`);
  await planAndDo(page, [/It becomes version 3/]);
  await isReady(page);
  assert.equal((await bao.ask("POST", "kv-a/data/team/mailer", { data: { password: "theirs" } })).status, 200);
  await page.keyboard.press("Control+Enter");
  await dialog.getByText("cas_mismatch").waitFor();
  await isReady(page);
  await planAndDo(page, [/It becomes version 4/]);
  await act(page, `${KV}#password has its new value.`);

  // Nor is what somebody wrote where a copy is to go.
  const target = KV.replace("mailer", "taken");
  const theirs = () => bao?.ask("POST", "kv-a/data/team/taken", { data: { other: "theirs" } });
  await theirs();
  await press(button(page, "Copy"));
  await write(dialog.getByRole("textbox", { name: "To" }), target);
  await press(dialog.getByRole("checkbox"), "Space");
  await planAndDo(page, [/It becomes version 2/]);
  await isReady(page);
  await theirs();
  await page.keyboard.press("Control+Enter");
  await dialog.getByText("cas_mismatch").waitFor();
  await isReady(page);
  await planAndDo(page, [/It becomes version 3/]);
  await act(page, `Copied to ${target}.`);
  await open(page, KV);

  // Nor is a version deleted that nobody has looked at.
  await press(button(page, "Delete"));
  await planAndDo(page, ["Version 4 is deleted. It can be restored from the list of versions."]);
  await isReady(page);
  assert.equal((await bao.ask("POST", "kv-a/data/team/mailer", { data: { password: "theirs" } })).status, 200);
  await page.keyboard.press("Control+Enter");
  await dialog.getByText("stale_version").waitFor();
  await planAndDo(page, ["Version 5 is deleted. It can be restored from the list of versions."]);
  await act(page, `${KV} is deleted.`);
  await page.getByText("The newest version is deleted. Restore it, or write a new one.").waitFor();
  await press(button(versions, "Restore"));
  await planAndDo(page, ["Version 5 can be read again, as it was."]);
  await act(page, "Version 5 is there again.");
  await page.getByRole("region", { name: "Keys" }).getByText("password").waitFor();

  // Destroying asks for the stronger sign-in, which leads back to the dialog; then it asks for the path.
  await press(button(page.getByRole("row", { name: /^Version 2 / }), "Destroy"));
  const path = dialog.getByRole("textbox", { name: "Type the path to go on" });
  await button(dialog, "Stronger sign-in").waitFor();
  await write(path, "kv-a/team/mailer");
  assert.equal(await button(dialog, "Destroy").isDisabled(), true);
  await look(page, "destroy, before the stronger sign-in");
  await press(button(dialog, "Stronger sign-in"));
  await press(button(dialog, "Sign in with a second factor"));
  await page.getByLabel("Code").fill(demoCode());
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.origin === instance.origin && url.pathname === "/secrets/one");
  await planAndDo(page, ["Version 2 is destroyed"]);
  assert.equal(await button(dialog, "Destroy").isDisabled(), true, "the path is not typed yet");
  await write(path, "kv-a/team/mailer");
  await act(page, "Version 2 is destroyed.");
  await page.getByRole("row", { name: /^2 Destroyed / }).waitFor();
  await look(page, "a destroyed version");
  await takePicture(page, "secret-versions", true);
  assert.deepEqual(issues, []);
  await close();
});

test("ben keeps the secret that is granted to him and is told why he may no more; cleo has no such page", async () => {
  const { page, issues, close } = await openPage(browser, still);
  await signIn(page, instance.origin, "ben");
  await open(page, "yaml://secret/people/demo");
  await page.getByRole("button", { name: "Write" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete", exact: true }).count(), 0);
  await page.getByText("You may not see this value.").waitFor();
  await press(page.getByRole("link", { name: "Delete, why" }));
  await page.waitForURL(/\/why\/d_/);
  const cleo = await openPage(browser, still);
  await signIn(cleo.page, instance.origin, "cleo");
  assert.equal(await cleo.page.getByRole("link", { name: "Secrets" }).count(), 0);
  assert.equal((await cleo.page.goto(`${instance.origin}/secrets`))?.status(), 403);
  assert.deepEqual(issues, []);
  await close();
  await cleo.close();
});

test("axe finds nothing serious on the pages of secrets, light and dark, wide and narrow", async () => {
  const { page, issues, close } = await openPage(browser, still);
  await signIn(page, instance.origin, "ada");
  for (const [path, ready] of [
    ["/secrets", "1 key"],
    ["/secrets?q=people", "Text found in"],
    ["/secrets?act=write", "Another key"],
    [pathOf("yaml://secret/people/demo"), "Reveal"],
    [`${pathOf("yaml://secret/people/demo")}&act=delete`, "What will happen"],
    [`${pathOf("yaml://secret/people/demo")}&act=copy`, "Show what will happen"],
    [`${pathOf("yaml://secret/people/demo")}&act=move`, "Show what will happen"],
    [`${pathOf("yaml://secret/people/demo")}&key=api_key&act=rotate`, "New value"],
    [`${pathOf("yaml://secret/people/demo")}&key=api_key&act=remove`, "What will happen"],
    ...(bao === undefined
      ? []
      : ([
          [`${pathOf(KV)}&version=1&act=destroy`, "Type the path to go on"],
          [`${pathOf(KV)}&version=1&act=restore`, "What will happen"],
        ] as const)),
  ] as const) {
    await page.goto(`${instance.origin}${path}`);
    await page.getByText(ready).first().waitFor();
    await look(page, path);
  }
  assert.deepEqual(issues, []);
  await close();
});

test("a store that is away, or lets Sallyport list nothing, says so in its own place and hides no other", async (t) => {
  requireProgram(t, "bao");
  if (bao === undefined) return;
  const { page, issues, close } = await openPage(browser, still);
  await signIn(page, instance.origin, "ada");
  await page.goto(`${instance.origin}/secrets`);
  await page.getByRole("region", { name: "vaultb+kv2://kv-b" }).getByText("not_supported").waitFor();
  await page.getByRole("region", { name: "vaulta+kv2://kv-a" }).getByRole("link", { name: "mailer" }).waitFor();
  await page.goto(`${instance.origin}/secrets?q=mailer`);
  await page.getByRole("region", { name: "Found in vaultb+kv2://kv-b" }).getByText("not_supported").waitFor();
  await takePicture(page, "secrets-unlisted", true);
  await bao.kill();
  await page.goto(`${instance.origin}/secrets`);
  await page.getByRole("region", { name: "vaulta+kv2://kv-a" }).getByText("provider_unavailable").waitFor();
  await page.getByRole("region", { name: "yaml://secret" }).getByRole("link", { name: "demo" }).waitFor();
  await page.goto(`${instance.origin}/secrets?q=people`);
  await page.getByRole("region", { name: "Found in vaulta+kv2://kv-a" }).getByText("provider_unavailable").waitFor();
  await page.getByRole("region", { name: "Found in yaml://secret" }).getByRole("link", { name: "secret/people/demo" }).waitFor();
  assert.deepEqual(issues, []);
  await close();
});
