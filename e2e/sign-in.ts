import type { Page } from "playwright-core";

/** Signs in at the issuer's own page, as a person does; ends where the page wanted to go. */
export const signIn = async (page: Page, origin: string, name: string, path = "/"): Promise<void> => {
  await page.goto(`${origin}${path}`);
  await page
    .getByRole("link", { name: "Sign in" })
    .or(page.getByRole("button", { name: "Sign in" }))
    .first()
    .click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill("sallyport");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.origin === origin && !url.pathname.startsWith("/auth/"));
};
