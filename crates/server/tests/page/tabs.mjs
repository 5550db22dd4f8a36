// Two tabs and one inbox: what is answered in one is gone in the other.

import { assert, card, ended, file, profile, say, script, tab, until } from "./lib.mjs";

await script(async () => {
  const context = await profile();
  const first = await tab(context);
  await say(first, "Write.");
  await card(first).waitFor();
  const second = await tab(context);
  await second.getByRole("link", { name: /Waiting for you/ }).click();
  await card(second).waitFor();
  // A third follows the conversation itself.
  const third = await tab(await profile());
  await third.locator("tg-list a").first().click();
  await card(third).waitFor();

  await card(second).getByRole("button", { name: /^Allow/ }).click();
  await until("it is written", () => file("a.txt") === "a\n");
  // The next question has two calls; one of them is allowed.
  for (const page of [first, second, third]) {
    await card(page).getByText("2 calls need your approval").waitFor();
    assert.equal(await card(page).count(), 1);
  }
  await card(third).getByRole("checkbox", { name: /b\.txt/ }).uncheck();
  await card(third).getByRole("button", { name: /Allow the chosen/ }).click();
  for (const page of [first, third]) await ended(page);
  await second.getByText("Nothing waits.").waitFor();
  for (const page of [first, second, third]) assert.equal(await card(page).count(), 0);
  assert.deepEqual([file("b.txt"), file("c.txt")], [null, "c\n"]);
  // Nothing waits any more, anywhere.
  for (const page of [first, second, third]) assert.equal(await page.locator(".side .count").isVisible(), false);
});
