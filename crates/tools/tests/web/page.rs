//! Pages as text, by example.

use toolgate_tools::html::{Page, Reading, Selector, Style, read};
use url::Url;

fn base() -> Url {
    Url::parse("https://site.example/dir/page.html").unwrap()
}

fn page(html: &str, style: Style, selector: Option<&str>) -> Page {
    let selector = selector.map(|text| Selector::parse(text).unwrap());
    let base = base();
    let reading = Reading {
        style,
        selector: selector.as_ref(),
        base: Some(&base),
        most: 1 << 20,
    };
    read(html, &reading, &|| true).unwrap()
}

fn markdown(html: &str) -> String {
    page(html, Style::Markdown, None).text
}

fn text(html: &str) -> String {
    page(html, Style::Text, None).text
}

#[test]
fn elements_become_the_markdown_that_stands_for_them() {
    for (html, expected) in [
        ("", ""),
        ("just words", "just words"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("<p>  much \n\t space&nbsp;here  </p>", "much space here"),
        ("a<br>b", "a\nb"),
        ("<h1>T</h1>x<h3>U</h3>y", "# T\n\nx\n\n### U\n\ny"),
        ("<h2></h2>x", "x"),
        (
            "<h2><a href=/x>T</a></h2>",
            "## [T](https://site.example/x)",
        ),
        (
            "<a href=/x><h2>T</h2></a>y",
            "## [T](https://site.example/x)\n\ny",
        ),
        ("<b>bold</b> and <em>soft</em>", "**bold** and *soft*"),
        ("x<b> bold </b>y", "x **bold** y"),
        ("<b></b>x<i> </i>y", "x y"),
        ("<b><i>both</i></b>", "***both***"),
        (
            "<a href='a b'>link</a>",
            "[link](https://site.example/dir/a%20b)",
        ),
        (
            "<a href=//other.example/p>l</a>",
            "[l](https://other.example/p)",
        ),
        (
            "<a href=x(y)>l</a>",
            "[l](https://site.example/dir/x%28y%29)",
        ),
        (
            "<a href=mailto:a@b.example>mail</a>",
            "[mail](mailto:a@b.example)",
        ),
        ("<a href=#here>here</a>", "[here]"),
        ("<a href='javascript:x()'>run</a>", "[run]"),
        ("<a href=/x></a>y", "y"),
        (
            "<img src=/i.png alt='A picture'>",
            "![A picture](https://site.example/i.png)",
        ),
        ("<img src=/i.png alt=''>x<img src=y>", "x"),
        ("<img src='data:image/png;base64,x' alt=inline>", "inline"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("x<ul><li>a</li></ul>y", "x\n\n- a\n\ny"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ol start=9><li>a<li>b<p>c</ol>", "9. a\n10. b\n\n    c"),
        (
            "<ul><li>a<ul><li>b<li>c</ul><li>d</ul>",
            "- a\n  - b\n  - c\n- d",
        ),
        ("<ul><li><p>a</p></li><li><p>b</p></li></ul>", "- a\n\n- b"),
        ("<ul><li></li><li>b</ul>", "- b"),
        ("<blockquote>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
        (
            "<blockquote><ul><li>a<li>b</ul></blockquote>",
            "> - a\n> - b",
        ),
        ("<pre>a\n  b\n</pre>x", "```\na\n  b\n```\n\nx"),
        (
            "<pre class=language-rust>fn x() {}</pre>",
            "```rust\nfn x() {}\n```",
        ),
        (
            "<pre><code class='hl lang-c++'>x</code></pre>",
            "```c++\nx\n```",
        ),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<pre>``` x</pre>", "````\n``` x\n````"),
        (
            "<ul><li>a<pre>b\nc</pre></ul>",
            "- a\n\n  ```\n  b\n  c\n  ```",
        ),
        ("use <code>a  b</code>.", "use `a b`."),
        ("<code>a`b</code>", "``a`b``"),
        ("<code>`</code>", "`` ` ``"),
        ("<p>a<hr>b", "a\n\n---\n\nb"),
        (
            "<table><tr><th>A<th>B<tr><td>1<td>2</table>",
            "| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<table><thead><tr><th>A</th></tr></thead><tbody><tr><td><p>x</p><p>y</p></td></tr></tbody></table>",
            "| A |\n| --- |\n| x y |",
        ),
        (
            "<table><tr><td>a<br>b<td></table>",
            "| a b |  |\n| --- | --- |",
        ),
        // A table that only puts things beside each other is not one.
        (
            "<table><tr><td><h1>T</h1><td><ul><li>a</ul></table>",
            "# T\n\n- a",
        ),
        (
            "<table><tr><td><table><tr><td>x<td>y</table></table>",
            "| x | y |\n| --- | --- |",
        ),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"),
        (
            "<details><summary>more</summary>text</details>",
            "more\ntext",
        ),
        ("&lt;b&gt; &amp; &copy; &#8364;", "<b> & © €"),
        ("snake_case * 2 [x]", "snake_case * 2 [x]"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn text_is_the_words_without_marks() {
    for (html, expected) in [
        ("<h1>T</h1><p>a <b>b</b> <a href=/x>c</a></p>", "T\n\na b c"),
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<code>x</code>", "x"),
        (
            "<table><tr><th>A<th>B<tr><td>1<td>2</table>",
            "A | B\n1 | 2",
        ),
        ("<blockquote>q</blockquote>", "q"),
        ("a<hr>b", "a\n\nb"),
        ("<img src=x alt=pic>", "pic"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn what_nobody_reads_is_left_out() {
    for (html, expected) in [
        ("<script>x</script>a", "a"),
        ("<style>x</style>a", "a"),
        ("<p>b</p><noscript>x</noscript>a", "b\n\na"),
        ("<template>x</template>a", "a"),
        ("<svg><text>x</text></svg>a", "a"),
        ("<iframe>x</iframe>a", "a"),
        ("<button>x</button>a", "a"),
        ("<textarea>x</textarea>a", "a"),
        ("<select><option>x</select>a", "a"),
        ("<!-- x -->a", "a"),
        ("<p hidden>x</p>a", "a"),
        ("<p aria-hidden=true>x</p>a", "a"),
        ("<p style='color:red; display : none'>x</p>a", "a"),
        ("<title>x</title>a", "a"),
        ("<nav>x</nav><p>a<footer>y</footer><aside>z</aside>", "a"),
        ("<div role=navigation>x</div>a", "a"),
        ("<header><nav>x</nav><h1>T</h1></header>a", "# T\n\na"),
        ("<p>x</p><main>a</main><p>y", "a"),
        ("x<div role=main>a</div>y", "a"),
        ("x<article>a</article>y", "a"),
        ("<article>a</article><article>b</article>", "a\n\nb"),
        // A page that is nothing else is read as it is.
        ("<nav>x</nav>", "x"),
        ("<main></main><p>a", "a"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn a_selector_chooses_whatever_it_names() {
    let html = "<title>T</title><nav id=n>nav</nav><main><p class=a>one</p><p>two <b class=a>three</b></p>\
        <button>push</button><ul><li>x<li>y</ul><div class=a>out<div class=a>in</div></div></main>";
    for (selector, expected) in [
        ("p.a", "one"),
        ("#n", "nav"),
        (".a", "one\n\n**three**\n\nout\nin"),
        ("button", "push"),
        ("li", "x\n\ny"),
        ("ul", "- x\n- y"),
        ("title", "T"),
        ("p:first-child, li:last-child", "one\n\ny"),
        ("main > p:not(.a)", "two **three**"),
        ("p:has(b)", "two **three**"),
    ] {
        assert_eq!(
            page(html, Style::Markdown, Some(selector)).text,
            expected,
            "{selector}"
        );
    }
}

#[test]
fn a_selector_that_fits_nothing_is_told_what_is_there() {
    let selector = Selector::parse("#missing").unwrap();
    let reading = Reading {
        style: Style::Text,
        selector: Some(&selector),
        base: None,
        most: 1000,
    };
    let html = "<main id=content><p class='intro x'>a</p><p>b</p><div id='1 bad'>c</div></main>";
    let nothing = read(html, &reading, &|| true).unwrap_err();
    assert_eq!(nothing.there, ["main#content", "p.intro", "p"]);
    assert!(
        Selector::parse("a[")
            .unwrap_err()
            .to_string()
            .contains("no CSS selector")
    );
}

#[test]
fn the_title_is_the_pages_own() {
    for (html, title) in [
        ("<title> A \n title </title>x", Some("A title")),
        ("<title></title>x", None),
        ("x<svg><title>picture</title></svg>", None),
        ("<p>x", None),
    ] {
        assert_eq!(
            page(html, Style::Text, None).title.as_deref(),
            title,
            "{html}"
        );
    }
}

#[test]
fn the_base_of_links_is_what_the_page_says() {
    let html = "<base href='/other/'><a href=x>l</a>";
    assert_eq!(markdown(html), "[l](https://site.example/other/x)");
    let html = "<base href='https://elsewhere.example/'><a href=x>l</a>";
    assert_eq!(markdown(html), "[l](https://elsewhere.example/x)");
}
