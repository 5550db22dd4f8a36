// The parts of the page that are functions of their input, in the browser that runs them.

import { assert, profile, script, tab } from "./lib.mjs";

await script(async () => {
  const page = await tab(await profile());
  await page.getByLabel("Your message").waitFor();

  const pieces = await page.evaluate(async () => {
    const { add, nothing } = await import("/page/pieces.js");
    const held = nothing();
    const said = [
      add(held, 0, "hö"), add(held, 0, "hö"), add(held, 1, "ölz"), add(held, 9, "x"), add(held, 5, "ern"), add(held, 0, "h"),
    ];
    return { held, said };
  });
  assert.deepEqual(pieces.said, ["applied", "ignored", "applied", "gap", "applied", "ignored"]);
  assert.deepEqual(pieces.held, { text: "hölzern", end: 8 });

  const rows = await page.evaluate(async () => {
    const { read } = await import("/page/diff.js");
    const text = "--- a.sql\n+++ a.sql\n@@ -1,4 +1,3 @@\n one\n--- two\n-three\n+-- TWO\n four\n--- b\n+++ b\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n";
    return { diff: read(text), created: read("new file x, 2 lines\na\n--- b\n"), other: read("just text\n") };
  });
  assert.equal(rows.other, null);
  assert.deepEqual(rows.diff.map((row) => [row.kind, row.oldNumber, row.oldText, row.newNumber, row.newText]), [
    ["file", null, "a.sql", null, "a.sql"],
    ["head", null, "@@ -1,4 +1,3 @@", null, "@@ -1,4 +1,3 @@"],
    ["same", 1, "one", 1, "one"],
    ["changed", 2, "-- two", 2, "-- TWO"],
    ["changed", 3, "three", null, null],
    ["same", 4, "four", 3, "four"],
    ["file", null, "b", null, "b"],
    ["head", null, "@@ -0,0 +1 @@", null, "@@ -0,0 +1 @@"],
    ["changed", null, null, 1, "new"],
    ["head", null, "\\ No newline at end of file", null, "\\ No newline at end of file"],
  ]);
  assert.deepEqual(rows.created.map((row) => row.newText), ["new file x, 2 lines", "a", "--- b"]);

  const spans = await page.evaluate(async () => {
    const { spansOf, ticks, total } = await import("/page/spans.js");
    const call = (seqs) => ({ kind: "call", key: "k", id: "k", tool: "t", state: "asked", summary: "s", result: null, seqs: { received: 0, asked: 0, answered: 0, started: 0, finished: 0, ...seqs } });
    const turn = (items, ended) => ({ number: 1, provider: "p", model: "m", began: 1, ended, items });
    const at = (seq) => 1000 + 10 * seq;
    const closed = spansOf(turn([{ kind: "answer", seq: 2 }, call({ received: 3, asked: 4, answered: 6, started: 7, finished: 9 }), { kind: "answer", seq: 10 }], 11), at, 5000);
    const open = spansOf(turn([{ kind: "answer", seq: 2 }, call({ received: 3, asked: 4 })], 0), at, 2000);
    return { closed, open, person: total(open.bars[1], "person"), ticks: ticks(950, 4), none: ticks(0, 4) };
  });
  assert.deepEqual(spans.closed.bars[1].spans.map((span) => [span.state, span.from, span.to, span.isOpen]), [
    ["waiting", 1030, 1040, false],
    ["person", 1040, 1060, false],
    ["waiting", 1060, 1070, false],
    ["running", 1070, 1090, false],
  ]);
  assert.deepEqual(spans.closed.bars[0].spans.map((span) => [span.from, span.to]), [[1010, 1020], [1090, 1100]]);
  assert.equal(spans.closed.isOpen, false);
  assert.deepEqual(spans.open.bars[1].spans.map((span) => [span.state, span.to, span.isOpen]), [["waiting", 1040, false], ["person", 2000, true]]);
  assert.equal(spans.person, 960);
  assert.deepEqual(spans.ticks, [0, 500]);
  assert.deepEqual(spans.none, [0]);

  // Markdown: nothing of it becomes markup, whatever it says.
  const shown = await page.evaluate(async () => {
    const { blocks, show } = await import("/page/markdown.js");
    const place = document.createElement("div");
    const text = [
      "# One", "para `code <b>` and **bold *both*** and snake_case_name and ~~gone~~", "",
      "1. first", "   - inner", "2. second", "", "> quote", "",
      "[x](javascript:alert(1)) [y](data:text/html,x) ![p](http://a.example/p.png) <http://b.example/> https://c.example/d.", "",
      "<script>alert(1)</script>", "", "```html", "<iframe src=x>", "", "``` not closed",
    ].join("\n");
    show(place, text);
    const before = [...place.children];
    show(place, `${text}\nmore`);
    const same = [...place.children].filter((child, at) => child === before[at]).length;
    return {
      tags: [...new Set([...place.querySelectorAll("*")].map((one) => one.localName))].sort(),
      links: [...place.querySelectorAll("a")].map((one) => one.href),
      text: place.innerText, same, all: before.length, blocks: blocks("a\n\nb\n```\nc\n\nd\n```\ne").length,
      code: place.querySelector("pre").innerText, inner: place.querySelectorAll("ol > li > ul > li").length,
    };
  });
  assert.deepEqual(shown.tags, ["a", "blockquote", "code", "div", "em", "h3", "li", "ol", "p", "pre", "s", "span", "strong", "ul"].sort());
  assert.deepEqual(shown.links, ["http://a.example/p.png", "http://b.example/", "https://c.example/d"]);
  assert.match(shown.text, /<script>alert\(1\)<\/script>/);
  assert.match(shown.text, /snake_case_name/);
  assert.equal(shown.code, "<iframe src=x>\n\n``` not closed\nmore");
  assert.equal(shown.inner, 1);
  assert.equal(shown.blocks, 4);
  assert.equal(shown.same, shown.all - 1);

  // A long and hostile text does not stop the page.
  const took = await page.evaluate(async () => {
    const { show } = await import("/page/markdown.js");
    const place = document.createElement("div");
    const began = performance.now();
    for (const piece of ["**a ", "`a ", "[a](", "*_", "~~x", "> ", "- a\n", "|a|b|\n"]) show(place, piece.repeat(20_000));
    return performance.now() - began;
  });
  assert.ok(took < 20_000, `${took} ms`);
});
