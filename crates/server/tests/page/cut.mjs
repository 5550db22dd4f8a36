// The connection is cut and comes back; the server is started again. No reload.

import { assert, ask, card, ended, file, forgiving, profile, say, script, tab, until } from "./lib.mjs";

const CUT = /ERR_|WebSocket connection|Failed to load resource/;

await script(async () => {
  const page = await tab(await profile());
  await say(page, "Write.");
  await card(page).waitFor();
  const other = await tab(await profile());
  await other.locator("tg-list a").first().click();
  await card(other).waitFor();

  // Both are cut. Nothing that waits is lost, and nothing is denied by it.
  await forgiving(CUT, async () => {
    await ask("cut");
    await page.getByText("Connecting…").waitFor();
    assert.equal(await card(page).count(), 1);
    await ask("mend");
    await page.getByText("Connected").waitFor();
    await other.getByText("Connected").waitFor();
  });
  await card(page).getByRole("button", { name: /^Allow/ }).click();
  await until("it is written", () => file("a.txt") === "a\n");
  await card(other).getByText("2 calls need your approval").waitFor();
  await card(other).getByRole("button", { name: /Deny all/ }).click();
  await ended(page);
  await ended(other);
  assert.deepEqual([file("b.txt"), file("c.txt")], [null, null]);

  // A message that is said while there is no connection is sent once it is back, and once only.
  await forgiving(CUT, async () => {
    await ask("cut");
    await page.getByText("Connecting…").waitFor();
    await say(page, "Are you there?");
    await page.getByText("not sent yet").waitFor();
    await ask("mend");
    await card(page).waitFor();
  });
  assert.equal(await page.locator(".user .text", { hasText: "Are you there?" }).count(), 1);
  await card(page).getByRole("button", { name: "Deny", exact: true }).click();
  await card(page).getByText("2 calls need your approval").waitFor();

  // The server ends and is started again: the turn is settled, and the page goes on.
  await forgiving(CUT, async () => {
    await ask("stop");
    await page.getByText("Connecting…").waitFor();
    await ask("start");
    await page.getByText("Connected").waitFor();
  });
  await ended(page, "Stopped");
  assert.equal(await card(page).count(), 0);
  await say(page, "And now?");
  await card(page).waitFor();
  assert.equal(await page.locator(".user .text").count(), 3);
  assert.equal(await page.locator(".turn").count(), 3);
});
