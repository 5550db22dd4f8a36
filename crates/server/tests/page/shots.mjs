// The pictures of the README.

import { join } from "node:path";
import { mkdirSync, writeFileSync } from "node:fs";
import { card, ended, profile, say, script, tab, until, workspace } from "./lib.mjs";

const to = process.env.PAGE_PICTURES;

const CART = `//! What is in the cart.

pub struct Item {
    pub name: String,
    pub price: f64,
    pub count: u32,
}

pub fn total(items: &[Item]) -> f64 {
    let mut sum = 0.0;
    for item in items {
        sum += item.price * f64::from(item.count);
    }
    sum
}
`;

/** Names the workspace as a user would have it. */
const settle = (page) =>
  page.evaluate(() => {
    for (const place of document.querySelectorAll(".place")) place.textContent = "~/shop";
    document.activeElement?.blur();
  });

await script(async () => {
  mkdirSync(join(workspace, "src"), { recursive: true });
  writeFileSync(join(workspace, "src/cart.rs"), CART);
  const wide = await tab(await profile({ viewport: { width: 1180, height: 860 }, reducedMotion: "reduce" }));
  await say(wide, "Totals in the cart are off by a cent now and then. Please fix that.");
  await card(wide).getByText("src/cart.rs").first().waitFor();
  await card(wide).locator("button[name=allow]:enabled").waitFor();
  await settle(wide);
  await wide.screenshot({ path: join(to, "page-question.png") });
  await card(wide).getByRole("button", { name: /^Allow/ }).click();
  await card(wide).getByText("grep -c").first().waitFor();
  const phone = await tab(await profile({ viewport: { width: 390, height: 760 }, colorScheme: "dark", reducedMotion: "reduce" }));
  await phone.getByRole("link", { name: /calls? waits? for you/ }).first().click();
  await card(phone).locator("button[name=allow]:enabled").waitFor();
  await settle(phone);
  await phone.screenshot({ path: join(to, "page-phone.png") });
  await card(phone).getByRole("button", { name: /^Allow/ }).click();
  await ended(wide);
  await wide.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  await wide.setViewportSize({ width: 1180, height: 640 });
  await wide.getByRole("link", { name: "Timeline" }).first().click();
  await until("bars", async () => (await wide.locator("svg.timeline rect").count()) > 6);
  await settle(wide);
  await wide.screenshot({ path: join(to, "page-timeline.png") });
});
