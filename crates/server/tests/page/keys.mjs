// Everything by keyboard alone, and no key approves by accident.

import { assert, card, ended, file, profile, script, tab, until } from "./lib.mjs";

await script(async () => {
  const page = await tab(await profile());
  await page.getByLabel("Your message").waitFor();
  // A key in the moment in which the question comes is too early, and is not kept for later.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      const card = document.querySelector("tg-approval article");
      if (!card) return;
      observer.disconnect();
      card.querySelector("h2").dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
      globalThis.early = card.querySelector("button[name=allow]").disabled;
    }).observe(document.body, { childList: true, subtree: true });
  });
  await page.keyboard.type("Write.");
  await page.keyboard.press("Enter");
  await card(page).waitFor();
  // Keys that are typed when the question comes belong to the message.
  await page.keyboard.type("yyynnn");
  assert.equal(await page.getByLabel("Your message").inputValue(), "yyynnn");
  assert.equal(file("a.txt"), null);
  await page.keyboard.press("Alt+Shift+KeyQ");
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H2");
  assert.equal(await page.evaluate(() => globalThis.early), true);
  await card(page).locator("button[name=allow]:enabled").waitFor();
  assert.equal(file("a.txt"), null);
  await page.keyboard.press("y");
  await until("it is written", () => file("a.txt") === "a\n");
  await card(page).getByText("2 calls need your approval").waitFor();
  // The question is gone, so the message has the focus; the next question does not take it.
  assert.equal(await page.evaluate(() => document.activeElement?.id), "message");
  await page.keyboard.press("Alt+Shift+KeyQ");
  await card(page).locator("button[name=allow]:enabled").waitFor();
  await page.keyboard.press("l");
  await page.keyboard.press("Enter");
  await card(page).locator("button[name=allow]:enabled").waitFor();
  await page.keyboard.press("r");
  await page.keyboard.type("Neither of them.");
  await page.keyboard.press("Enter");
  await ended(page);
  assert.deepEqual([file("b.txt"), file("c.txt")], [null, null]);
  await until("the message has the focus", () => page.evaluate(() => document.activeElement?.id === "message"));
  // Views.
  await page.keyboard.press("Alt+Shift+KeyW");
  await page.getByRole("heading", { name: "Waiting for you" }).waitFor();
  await page.keyboard.press("Alt+Shift+KeyJ");
  await ended(page);
  await page.keyboard.press("Alt+Shift+KeyS");
  await page.keyboard.type("nothing like this");
  await page.getByText("Nothing found.").waitFor();
  await page.keyboard.press("Alt+Shift+KeyN");
  await page.getByRole("heading", { name: "New conversation" }).waitFor();
  // Every control can be reached, and says where the focus is.
  const seen = new Set();
  await page.evaluate(() => document.body.focus());
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const style = element && getComputedStyle(element);
      return element && { is: `${element.tagName} ${element.textContent?.slice(0, 30) || element.id}`, outline: style?.outlineStyle };
    });
    if (!at || at.is.startsWith("BODY")) continue;
    assert.notEqual(at.outline, "none", at.is);
    seen.add(at.is);
  }
  const all = [...seen].join("\n");
  for (const one of ["New conversation", "Waiting for you", "Rules", "Settings", "TEXTAREA message", "Keys", "Skip to"]) {
    assert.ok(all.includes(one), `${one} is not reached: ${all}`);
  }
});
