// What every script needs: a browser, a page whose problems fail the script, and the harness.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const require = createRequire(join(process.env.PAGE_MODULES, "package.json"));
const { chromium } = require("playwright-core");

export { assert };
export const url = process.env.PAGE_URL;
export const workspace = process.env.PAGE_WORKSPACE;

/** So long something may take on a machine that does other things. */
export const LONG = Number(process.env.PAGE_PATIENCE ?? 60_000);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the harness to cut or mend the connection, or to stop or start the server. */
export async function ask(what) {
  process.stdout.write(`${what}\n`);
  const { value } = await lines.next();
  assert.equal(value, "ok");
}

/** A problem that the page had: anything that a user would see in the console. */
const problems = [];
let forgiven = [];

/** While `work` runs, problems that fit are those of the connection that the test cuts. */
export async function forgiving(pattern, work) {
  forgiven.push(pattern);
  await work();
  forgiven = forgiven.filter((one) => one !== pattern);
}

function problem(text) {
  if (!forgiven.some((pattern) => pattern.test(text))) problems.push(text);
}

let browser;

/** Opens the browser. Its own sandbox needs rights that root in a container may not have. */
export async function start() {
  const isRoot = process.getuid?.() === 0;
  browser = await chromium.launch({
    executablePath: process.env.PAGE_CHROMIUM ?? "/usr/bin/chromium",
    args: isRoot ? ["--no-sandbox"] : [],
    timeout: LONG,
  });
}

/** A profile of its own, in which tabs are opened. */
export async function profile(options = {}) {
  if (!browser) await start();
  const context = await browser.newContext({
    viewport: { width: 1400, height: 900 },
    colorScheme: "light",
    ...options,
  });
  context.setDefaultTimeout(LONG);
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  return context;
}

/** A tab whose problems count. */
export async function tab(context, address = `/#token=${process.env.PAGE_TOKEN}`) {
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problem(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problem(`error: ${error.stack}`));
  page.on("request", (request) => {
    const to = new URL(request.url());
    const isOwn = to.origin === new URL(url).origin || ["data:", "blob:"].includes(to.protocol);
    if (!isOwn) problem(`a request to another host: ${request.url()}`);
  });
  await page.goto(url + address);
  return page;
}

/** Waits until it is so. */
export async function until(what, look) {
  const end = Date.now() + LONG;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) assert.fail(`${what}: it did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Begins a conversation by hand. */
export async function say(page, text) {
  await page.getByLabel("Your message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** The end of a turn with this outcome, the nth one. */
export const ended = (page, outcome = "Finished", nth = 0) =>
  page.locator(".end", { hasText: outcome }).nth(nth).waitFor();

export const card = (page) => page.locator("tg-approval article.approval");

/** The text of a file of the workspace; nothing if there is none. */
export function file(name) {
  try {
    return readFileSync(join(workspace, name), "utf8");
  } catch {
    return null;
  }
}

/** Nothing that axe finds. */
export async function accessible(page, what) {
  const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations.map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160)} – ${node.failureSummary}`),
    }));
  });
  assert.deepEqual(found, [], `${what}: ${JSON.stringify(found, null, 1)}`);
}

/** The page is no wider than its window. */
export async function fits(page, what) {
  const [inside, window] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(inside <= window, `${what}: ${inside} pixels in ${window}`);
}

/** Runs a script to its end; a problem of a page fails it. */
export async function script(work) {
  try {
    await work();
    assert.deepEqual(problems, []);
  } catch (error) {
    process.stderr.write(`${error.stack ?? error}\n${problems.join("\n")}\n`);
    const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
    for (const [at, page] of pages.entries()) {
      const path = join(process.env.PAGE_MODULES, `failed-${at}.png`);
      await page.screenshot({ path }).catch(() => {});
      process.stderr.write(`what was to be seen: ${path}\n`);
    }
    process.exitCode = 1;
  } finally {
    await browser?.close();
    process.stdin.destroy();
  }
}
