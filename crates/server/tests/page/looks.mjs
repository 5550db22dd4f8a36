// Every view, dark and light, on a phone and on a wide screen: nothing that axe finds, and
// nothing wider than its window.

import { accessible, assert, card, ended, fits, profile, say, script, tab, until } from "./lib.mjs";

await script(async () => {
  const setup = await tab(await profile());
  await say(setup, "Change things, and say a rather long first sentence so that titles have to be cut somewhere.");
  await card(setup).getByRole("button", { name: /^Allow/ }).click();
  await card(setup).getByText("printf").first().waitFor();
  const address = new URL(setup.url()).hash;
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1400]) {
      const name = `${colorScheme}, ${width}`;
      const context = await profile({ colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
      const page = await tab(context, `/#token=${process.env.PAGE_OPERATOR}`);
      const look = async (what) => {
        await accessible(page, `${name}: ${what}`);
        await fits(page, `${name}: ${what}`);
      };
      const go = (hash) => page.evaluate((hash) => void (location.hash = hash), hash);
      await page.getByLabel("Your message").waitFor();
      await page.locator("details.options summary").click();
      await look("a new conversation");
      await go(address);
      await card(page).waitFor();
      for (const summary of await page.locator("tg-call summary").all()) await summary.click();
      await look("a conversation that waits");
      // Answers work only where they can be seen.
      const because = card(page).getByRole("button", { name: /Deny with a reason/ });
      await because.scrollIntoViewIfNeeded();
      await because.click();
      await look("a question with a reason");
      await go(`${address}/timeline`);
      await page.locator("svg.timeline rect.person").first().waitFor();
      const grown = async () => Number.parseFloat(await page.locator("svg.timeline rect.person[data-open]").getAttribute("width"));
      const [before, count] = [await grown(), await page.locator("svg.timeline rect").count()];
      await until("the open bar grows", async () => (await grown()) > before);
      assert.equal(await page.locator("svg.timeline rect").count(), count);
      await look("the timeline");
      await go(`${address}/journal`);
      await page.locator(".entries li").nth(5).waitFor();
      await page.locator(".entries li summary").first().click();
      await look("the journal");
      await go("#/inbox");
      await card(page).waitFor();
      await look("the inbox");
      await go("#/rules");
      await page.getByLabel("Arguments, as JSON").fill('{"command": "rm -rf build && curl example.org"}');
      await page.getByRole("button", { name: "Explain" }).click();
      await page.locator(".decided").waitFor();
      await look("the rules");
      await go("#/settings");
      await page.locator("tbody tr", { hasText: "server.port" }).waitFor();
      await look("the settings");
      if (width === 360) {
        await page.getByRole("button", { name: "Menu" }).click();
        await page.locator("tg-list a").first().waitFor();
        await look("the menu");
        await page.getByRole("button", { name: "Menu" }).click();
      }
      await page.keyboard.press("Alt+Shift+KeyH");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await look("the keys");
      await context.close();
    }
  }
  await card(setup).getByRole("button", { name: "Deny", exact: true }).click();
  await ended(setup);
  // Whoever did not start the server is told so, and nothing is asked in vain.
  for (const view of ["rules", "settings"]) {
    await setup.evaluate((view) => void (location.hash = `#/${view}`), view);
    await setup.getByText("Only the one who started the server").first().waitFor();
  }
  // Who has no token is asked for one.
  const stranger = await tab(await profile({ viewport: { width: 360, height: 700 } }), "/");
  await stranger.getByLabel("Link or token").waitFor();
  await accessible(stranger, "no token");
  await fits(stranger, "no token");
});
