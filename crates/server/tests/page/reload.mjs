// Reload in the middle of everything: of an answer, of a command, of a question. Nothing is lost.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, card, ended, file, profile, say, script, tab, until, workspace } from "./lib.mjs";

await script(async () => {
  const page = await tab(await profile());
  await say(page, "Go.");
  const answer = page.locator(".answer .prose").first();
  const text = () => answer.innerText();

  // In the middle of the answer.
  await until("a part is there", async () => (await text().catch(() => "")).length > 20);
  const before = (await text()).replace("▍", "");
  await page.reload();
  await until("the part is there again", async () => (await text()).length >= before.length);
  assert.ok((await text()).startsWith(before.slice(0, 20)));
  assert.ok(!(await page.getByText("Here it ends.").isVisible()), "it was over before the reload");
  await page.getByText("Here it ends.").waitFor();
  const whole = await text();
  assert.match(whole, /^First a long answer.*Here it ends\.$/s);

  // A draft stays, too.
  await page.getByLabel("Your message").fill("Not sent yet");

  // In the middle of a command: its output so far comes again.
  const live = page.locator("tg-call pre.live");
  await until("output comes", async () => (await live.innerText()).includes("early"));
  await page.reload();
  await until("the output is there again", async () => (await live.innerText()).includes("early"));
  assert.equal(await page.getByLabel("Your message").inputValue(), "Not sent yet");
  assert.equal(await page.locator("tg-conversation").getAttribute("data-state"), "running");
  assert.equal(await text(), whole);
  writeFileSync(join(workspace, "go"), "");

  // In the middle of a question.
  await card(page).waitFor();
  await page.reload();
  await card(page).getByText("new file out.txt").first().waitFor();
  assert.equal(file("out.txt"), null);
  await card(page).getByRole("button", { name: /^Allow/ }).click();
  await ended(page);
  assert.equal(file("out.txt"), "written\n");
  const result = page.locator("tg-call", { hasText: "run_command" });
  await result.locator("summary").first().click();
  assert.match(await result.getByRole("group", { name: "Result" }).innerText(), /early\nlate/);

  // What a reload shows afterwards is what was there.
  const items = () => page.locator(".turn > div > *").allInnerTexts();
  const shown = (await items()).map((one) => one.split("\n")[0]);
  await page.reload();
  await ended(page);
  assert.deepEqual((await items()).map((one) => one.split("\n")[0]), shown);
});
