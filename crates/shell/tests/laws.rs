//! Laws that hold for every line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use proptest::prelude::*;
use support::{analyse_line, rows};
use toolgate_shell::Analysis;

const HARMLESS: &[&str] = &[
    "ls",
    "cat a.txt",
    "cd src",
    "cp a b",
    "rm -r target",
    "echo x > out",
    "curl https://example.com",
    "sort -o s t",
    "git status",
    "find . -name '*.o' -delete",
    "mkdir -p d/e",
    "f() { touch z; }",
    "for i in 1 2; do touch $i; done",
    "if true; then touch y; fi",
    "sed -i s/a/b/ q",
    "x=1; touch k",
    "tar xf a.tar",
    "false || touch m",
    "true && cd src && touch n",
    "unknown-program --with words",
];

const CATASTROPHIC: &[&str] = &[
    "rm -rf /",
    "rm -r ~",
    "dd if=x of=/dev/sda",
    "mkfs.ext4 /dev/sda",
    "shutdown -h now",
    "chmod -R 777 /",
    "find / -delete",
    "sysctl -w a=1",
    "kill -9 -1",
];

/// Words to put before a simple command.
const PREFIXES: &[&str] = &[
    "env ",
    "env A=b ",
    "sudo ",
    "nohup ",
    "timeout 5 ",
    "nice -n 3 ",
    "command ",
    "exec ",
    "stdbuf -o0 ",
    "setsid ",
    "eval ",
    "busybox ",
    "xargs ",
    "flock l ",
    "strace ",
    "doas ",
    "ionice -c3 ",
    "time ",
    "valgrind -q ",
    "perf stat -e x ",
    "choom -n 1 -- ",
    "tini -- ",
    "nsenter -t 1 -m ",
    "unknown-wrapper --with words ",
];

/// Ways to put something around any command.
const AROUND: &[(&str, &str)] = &[
    ("! ", ""),
    ("ls; ", ""),
    ("ls && ", ""),
    ("ls || ", ""),
    ("ls | ", ""),
    ("( ", " )"),
    ("{ ", "; }"),
    ("if true; then ", "; fi"),
    ("for i in 1 2; do ", "; done"),
    ("while false; do ", "; done"),
    ("echo \"$( ", ")\""),
    ("f() { ", "; }; f"),
    ("case x in x) ", " ;; esac"),
    ("x=$( ", ")"),
    ("ls\n", "\nls"),
    ("( ", " & )"),
    ("echo ${x:-$( ", ")}"),
    ("diff <( ", " ) a"),
    ("cd src && cd .. && ", ""),
    ("if ", "; then ls; fi"),
    ("until ", "; do ls; done"),
    ("true && { ", "; } || ls"),
    ("cat <<E\n$( ", ")\nE\n"),
];

fn any_piece() -> impl Strategy<Value = String> {
    let tokens = prop::sample::select(vec![
        "'", "\"", "`", "$(", "$((", "))", ")", "(", "((", "{", "}", "${", "$", "|", "||", "&",
        "&&", ";", ";;", "\n", "\\\n", "\\", "<", ">", ">>", "<<", "<<E\n", "\nE\n", "<<<", "<(",
        "#", " ", "\t", "=", "if", "then", "fi", "for", "in", "do", "done", "case", "esac",
        "while", "function", "f()", "!", "[[", "]]", "*", "?", "[", "]", "~", "..", ",", ":-",
        "@P", "%", "rm", "-rf", "/", "cd", "eval", "sh", "-c", "xargs", "find", "-exec", "{}", "+",
        "sed", "s/a/b/e", "awk", "tar", "git", "-c", "x=", "$x", "é", "\u{202e}", "1", "a", "echo",
        "printf", "%s", "trap", "set", "--", "read", "export", "declare", "local",
    ])
    .prop_map(str::to_owned);
    prop_oneof![8 => tokens, 1 => any::<char>().prop_map(String::from), 1 => "[ -~]{0,6}"]
}

fn contains(whole: &Analysis, part: &Analysis) -> bool {
    let (whole, part) = (&whole.facts, &part.facts);
    let within = |list: &[String], of: &[String]| list.iter().all(|entry| of.contains(entry));
    within(&part.reads, &whole.reads)
        && within(&part.writes, &whole.writes)
        && within(&part.deletes, &whole.deletes)
        && within(&part.connects, &whole.connects)
        && within(&part.catastrophic, &whole.catastrophic)
        && part
            .runs
            .iter()
            .all(|run| whole.runs.iter().any(|other| other.words == run.words))
        && (part.complete || !whole.complete)
}

fn quote(word: &str, style: u8) -> String {
    match style % 4 {
        0 => format!("'{}'", word.replace('\'', "'\\''")),
        1 => {
            let mut out = String::from("\"");
            for character in word.chars() {
                if matches!(character, '"' | '\\' | '$' | '`') {
                    out.push('\\');
                }
                out.push(character);
            }
            out + "\""
        }
        2 => word.chars().fold(String::new(), |out, c| {
            if c == '\n' {
                out + "'\n'"
            } else {
                format!("{out}\\{c}")
            }
        }),
        _ => {
            let hex: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{hex}'")
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(any_piece(), 0..40)) {
        analyse_line(&pieces.concat());
        analyse_line(&pieces.join(" "));
    }

    #[test]
    fn no_characters_make_it_panic(text in any::<String>()) {
        analyse_line(&text);
    }

    #[test]
    fn an_incomplete_line_says_why(pieces in prop::collection::vec(any_piece(), 0..20)) {
        let analysis = analyse_line(&pieces.join(" "));
        prop_assert_eq!(analysis.facts.complete, analysis.opaque.is_empty());
        prop_assert!(analysis.facts.claimed);
    }

    #[test]
    fn two_lines_together_have_the_facts_of_both(
        a in prop::sample::select(HARMLESS), b in prop::sample::select(HARMLESS),
    ) {
        let both = analyse_line(&format!("{a}; {b}"));
        prop_assert!(contains(&both, &analyse_line(a)), "{a}; {b}: {:?}", both.facts);
        prop_assert!(contains(&both, &analyse_line(b)), "{a}; {b}: {:?}", both.facts);
    }

    #[test]
    fn no_wrapper_loses_a_catastrophe(
        inner in prop::sample::select(CATASTROPHIC),
        prefixes in prop::collection::vec(prop::sample::select(PREFIXES), 0..4),
        around in prop::collection::vec(prop::sample::select(AROUND), 0..4),
        set in any::<bool>(),
    ) {
        let setting = if set { "A=b " } else { "" };
        let mut line = format!("{setting}{}{inner}", prefixes.concat());
        for (before, after) in around {
            line = format!("{before}{line}{after}");
            if line.contains("<<E") || line.contains("f()") {
                // A here-document ends its line, so nothing can stand behind it. A function that is
                // defined in a pipe is defined in a subshell, and not known where it is called.
                break;
            }
        }
        prop_assert!(!analyse_line(&line).facts.catastrophic.is_empty(), "{}", line);
    }

    #[test]
    fn words_do_not_depend_on_how_they_are_quoted(
        words in prop::collection::vec("[ -~äß\\n]{1,8}", 1..5), styles in any::<[u8; 5]>(),
    ) {
        prop_assume!(words.iter().all(|word| !word.contains('\0')));
        let quoted: Vec<String> =
            words.iter().zip(styles).map(|(word, style)| quote(word, style)).collect();
        let analysis = analyse_line(&format!("some-program {}", quoted.join(" ")));
        let expected: Vec<String> =
            std::iter::once("some-program".to_owned()).chain(words).collect();
        prop_assert_eq!(&analysis.facts.runs[0].words, &expected);
        prop_assert!(analysis.facts.complete, "{:?}", analysis.opaque);
    }
}

#[test]
fn putting_a_harmless_command_beside_a_catastrophe_changes_nothing() {
    #[derive(serde::Deserialize)]
    struct Row {
        line: String,
    }
    let rows: Vec<Row> = rows("deny.jsonl");
    for row in rows
        .iter()
        .filter(|row| analyse_line(&row.line).facts.complete)
    {
        for line in [format!("ls\n{}", row.line), format!("{}\nls", row.line)] {
            assert!(
                !analyse_line(&line).facts.catastrophic.is_empty(),
                "{line:?}"
            );
        }
    }
}

#[test]
fn no_limit_makes_a_denied_line_anything_less() {
    let many = format!("{}rm -rf /", "true; ".repeat(60_000));
    let deep = format!("{}rm -rf /{}", "( ".repeat(3_000), " )".repeat(3_000));
    let substituted = format!("{}rm -rf /{}", "$( ".repeat(3_000), " )".repeat(3_000));
    let wrapped = format!("{}rm -rf /", "env ".repeat(3_000));
    let braces = format!("rm -rf {}/", "{a,b}".repeat(30));
    let doubled = format!("x=aaaaaaaa;{} rm -rf /", "x=$x$x$x$x;".repeat(40));
    let loops = format!(
        "{}rm -rf /{}",
        "for i in 1 2 3 4 5 6 7 8 9; do ".repeat(8),
        "; done".repeat(8)
    );
    let calls = {
        let mut text = String::from("f0() { :; };");
        for level in 1..40 {
            let below = level - 1;
            text += &format!("f{level}() {{ f{below}; f{below}; f{below}; }};");
        }
        text + "f39; rm -rf /"
    };
    let empties = format!(
        "set -- '' '';{} rm -rf /",
        "set -- \"$@\" \"$@\";".repeat(40)
    );
    let elements = format!("a=('' '');{} rm -rf /", "a+=(\"${a[@]}\");".repeat(40));
    let unknown = format!("some-wrapper {} rm -rf /", "rm ".repeat(2_000));
    let declared = format!("{}rm -rf /{}", "export a=$( ".repeat(60), " )".repeat(60));
    let files = format!("{} rm -rf /", "a > b;".repeat(20_000));
    for line in [
        many,
        deep,
        substituted,
        wrapped,
        braces,
        doubled,
        loops,
        calls,
        empties,
        elements,
        unknown,
        declared,
        files,
    ] {
        let analysis = analyse_line(&line);
        let start: String = line.chars().take(40).collect();
        assert!(!analysis.facts.catastrophic.is_empty(), "{start}…");
    }
}
