// Send, watch, approve one and deny one with a reason; then timeline, journal and undo.

import { accessible, assert, card, ended, file, fits, profile, say, script, tab, until } from "./lib.mjs";

await script(async () => {
  const page = await tab(await profile());
  // The token leaves the address at once.
  await page.getByLabel("Your message").waitFor();
  assert.ok(!page.url().includes("token"), page.url());
  await page.evaluate(() => {
    // How long the first answer was whenever it changed.
    globalThis.lengths = new Set();
    const look = () => globalThis.lengths.add(document.querySelector(".answer .prose")?.textContent.length ?? 0);
    new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
  });
  await say(page, "Please change **things**.");

  const answer = page.locator(".answer .prose").first();
  await answer.locator("h3", { hasText: "Plan" }).waitFor();
  assert.equal(await page.locator(".user .text").innerText(), "Please change **things**.");
  await page.getByText("so that it can be seen to come in.").waitFor();
  const lengths = await page.evaluate(() => [...globalThis.lengths]);
  assert.ok(lengths.length > 4 && lengths.at(-1) > 90, `it came in pieces: ${lengths}`);

  // The first question: whole diff, side by side on a wide screen.
  await card(page).waitFor();
  assert.equal(file("greeting.txt"), "one\ntwo\nthree\n");
  await card(page).locator("table.diff.split").waitFor();
  const sides = await card(page).locator("td.text.removed, td.text.added").allInnerTexts();
  assert.deepEqual(sides.map((text) => text.replace(/\s+/g, " ").trim()), ["− removed: two", "+ added: TWO"]);
  await page.locator("tg-list .state", { hasText: "waits for you" }).waitFor();
  await accessible(page, "a question");
  // Not now is no answer.
  await card(page).getByRole("button", { name: "Not now" }).click();
  await card(page).getByText("Still waiting").waitFor();
  assert.equal(file("greeting.txt"), "one\ntwo\nthree\n");
  await card(page).getByRole("button", { name: "Look at it again" }).click();
  await card(page).getByRole("button", { name: /^Allow/ }).click();
  await until("the file is changed", () => file("greeting.txt") === "one\nTWO\nthree\n");

  // The second: a command, shown whole; denied with a reason.
  const command = "printf 'a very long command line that is shown whole' && rm -f greeting.txt";
  await card(page).getByText(command, { exact: true }).first().waitFor();
  await card(page).getByRole("button", { name: /Deny with a reason/ }).click();
  await card(page).getByLabel(/Why not/).fill("Keep the file.");
  await card(page).getByRole("button", { name: "Deny with this reason" }).click();
  await ended(page);
  assert.equal(await card(page).count(), 0);
  assert.equal(file("greeting.txt"), "one\nTWO\nthree\n");
  const denied = page.locator("tg-call", { hasText: "run_command" });
  assert.match(await denied.locator(".how").innerText(), /denied by you/);
  await denied.locator("summary").first().click();
  await denied.getByText("Keep the file.").first().waitFor();
  // The prose is Markdown, and what looks like HTML in it is text.
  await page.locator(".prose strong", { hasText: "done" }).waitFor();
  await page.locator(".prose pre code", { hasText: "let x = 1 < 2;" }).waitFor();
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.locator(".prose a").getAttribute("href"), "https://example.org/a");
  assert.equal(await page.locator(".prose a").count(), 1);
  await fits(page, "the conversation");
  await accessible(page, "the conversation");

  // The timeline: picture and table say the same.
  await page.getByRole("navigation", { name: "Views of the conversation" }).getByRole("link", { name: "Timeline" }).click();
  const rows = page.locator("tg-timeline tbody tr");
  await until("four bars", async () => (await rows.count()) === 4);
  await until("waiting for the person is drawn", async () => (await page.locator("svg.timeline rect.person").count()) === 2);
  const cells = await rows.nth(2).locator("th, td").allInnerTexts();
  assert.match(cells[0], /greeting\.txt/);
  assert.match(cells[2], /\d/);
  assert.equal(cells[4], "done");
  assert.equal(await rows.nth(3).locator("td").last().innerText(), "denied by you");
  assert.match(await page.locator("svg.timeline > title").textContent(), /Turn 1: .*3 calls/);
  await accessible(page, "the timeline");

  // The journal, searched.
  await page.getByRole("navigation", { name: "Views of the conversation" }).getByRole("link", { name: "Journal" }).click();
  const entries = page.locator(".entries li");
  await until("entries", async () => (await entries.count()) > 10);
  await page.getByLabel("Search entries").fill("Keep the file");
  await until("entries found", async () => [1, 2, 3].includes(await entries.count()));
  await page.getByLabel("Search entries").fill("");
  await until("all entries", async () => (await entries.count()) > 10);
  await entries.first().locator("summary").click();
  await entries.first().getByText("turn_started").waitFor();
  await accessible(page, "the journal");

  // Undo: shown first, then done.
  await page.getByRole("button", { name: /^Undo Edited|^Undo .*greeting/ }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("td.text.removed", { hasText: "TWO" }).waitFor();
  assert.equal(file("greeting.txt"), "one\nTWO\nthree\n");
  await accessible(page, "the undo");
  await dialog.getByRole("button", { name: "Undo these changes" }).click();
  await dialog.getByText("Undone.").waitFor();
  assert.equal(file("greeting.txt"), "one\ntwo\nthree\n");
  await dialog.getByRole("button", { name: "Close" }).click();
});
