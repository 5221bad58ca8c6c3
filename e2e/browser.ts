import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/**
 * The real Chromium of the browser tests. It comes from the package `@sparticuz/chromium`, unpacked once into
 * `.cache/chromium-<version>/` with the libraries that a bare machine lacks. Nothing is ever skipped: whatever is
 * missing is an error that says what.
 */

const root = join(import.meta.dirname, "..");

/** The package's own list would switch web security off; these arguments leave the browser as people have it. */
const browserArguments = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

interface Chromium {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

const packageFolder = (): string => dirname(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")));

const fontsFile = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
  <alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`;

/** The package unpacks into the temporary folder and is not safe for two at once: a private folder, then one rename. */
const unpack = async (target: string): Promise<void> => {
  const folder = `${target}.${process.pid}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  try {
    const { default: chromium, inflate } = await import("@sparticuz/chromium");
    await chromium.executablePath();
    await inflate(join(packageFolder(), "bin", "al2023.tar.br"));
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
  await rename(folder, target).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    if (!existsSync(join(target, "chromium"))) throw error;
  });
};

/** Names of shared libraries that the binary does not find; empty where it can start as it is. */
const missingLibraries = async (executablePath: string, libraryPath: string | undefined): Promise<readonly string[]> => {
  const env = { ...process.env, ...(libraryPath === undefined ? {} : { LD_LIBRARY_PATH: libraryPath }) };
  const { stdout } = await promisify(execFile)("ldd", [executablePath], { env });
  return stdout
    .split("\n")
    .filter((line) => line.includes("not found"))
    .map((line) => line.trim().split(" ")[0] ?? line.trim());
};

const prepareChromium = async (): Promise<Chromium> => {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`The browser tests bring a Chromium for linux x64 only; this is ${process.platform} ${process.arch}.`);
  const manifest = JSON.parse(await readFile(join(packageFolder(), "package.json"), "utf8")) as { readonly version: string };
  const folder = join(root, ".cache", `chromium-${manifest.version}`);
  const executablePath = join(folder, "chromium");
  if (!existsSync(executablePath)) await unpack(folder);
  const fonts = join(folder, "fonts.conf");
  if (!existsSync(fonts)) await writeFile(fonts, fontsFile(folder));
  const bundled = [join(folder, "al2023", "lib"), process.env["LD_LIBRARY_PATH"]].filter((part) => part !== undefined).join(":");
  const needsBundled = (await missingLibraries(executablePath, undefined)).length > 0;
  const missing = needsBundled ? await missingLibraries(executablePath, bundled) : [];
  if (missing.length > 0) throw new Error(`Chromium cannot start: ${missing.join(", ")} not found, neither here nor in its package.`);
  return { executablePath, env: { FONTCONFIG_FILE: fonts, ...(needsBundled ? { LD_LIBRARY_PATH: bundled } : {}) } };
};

const inherited = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Starts the browser; 1-3 s, the very first time some seconds more. The caller closes it. */
export const launchBrowser = async (): Promise<Browser> => {
  const chromium = await prepareChromium();
  const { chromium: driver } = await import("playwright-core");
  return await driver.launch({
    executablePath: chromium.executablePath,
    args: [...browserArguments],
    headless: true,
    env: { ...inherited(), ...chromium.env },
  });
};

export interface WatchedPage {
  readonly page: Page;
  /** Violations of the content security policy and of Trusted Types, console errors, unhandled rejections: must stay empty. */
  readonly issues: string[];
  close(): Promise<void>;
}

const isNetworkNote = (text: string): boolean => text.startsWith("Failed to load resource");

/**
 * A page in a context of its own, watched from its first script on. Chromium writes each answer of 4xx and 5xx to the
 * console; these notes are no faults, since refusals are part of what is tested.
 */
export const openPage = async (browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> => {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const issues: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !isNetworkNote(message.text())) issues.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => issues.push(`page error: ${error.stack ?? error.message}`));
  await page.exposeFunction("__reportViolation", (text: string) => issues.push(`policy: ${text}`));
  await page.addInitScript({
    content: `addEventListener("securitypolicyviolation", (event) =>
      globalThis.__reportViolation([event.effectiveDirective, event.blockedURI, event.sample, event.sourceFile, event.lineNumber].join(" ")));`,
  });
  return { page, issues, close: async () => await context.close() };
};
