// Stop a turn: while the model speaks, and while a command runs.

import { assert, card, ended, profile, say, script, tab, until } from "./lib.mjs";

await script(async () => {
  const page = await tab(await profile());
  await say(page, "Go.");
  await page.locator(".answer.coming", { hasText: "First a" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page, "Stopped");
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
  assert.equal(await card(page).count(), 0);
  const said = await page.locator(".answer .prose").first().innerText();
  assert.ok(said.startsWith("First") && !said.includes("Here it ends."), said);

  // The conversation goes on with the next message.
  await say(page, "Go on.");
  await until("it runs", async () => (await page.locator("tg-call pre.live").innerText()).includes("early"));
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(page, "Stopped", 1);
  await page.locator("tg-call", { hasText: "run_command" }).locator(".how", { hasText: "cancelled" }).waitFor();
});
