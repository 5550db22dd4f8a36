//! What a real shell does, compared with what is said about it.
//!
//! The scripts that are run are made of words, quotes and bounded control flow
//! around one function that writes down how it was called. `PATH` leads nowhere,
//! so nothing else can be run by accident; functions that a script defines call
//! nothing but `c`, no loop is without end, and processor time is limited.
//! Soups of tokens are only parsed, never run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::process::{Command, Stdio};

use proptest::prelude::*;
use support::analyse_line;
use support::bash::{bash, calls_in_bash, missed_call};

fn accepted_by_bash(script: &str) -> bool {
    Command::new(bash())
        .args(["--noprofile", "--norc", "-n", "-c", script])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("bash runs")
        .success()
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9._/=:+,-]{1,5}",
        2 => "[ -&(-~]{0,6}".prop_map(|text| format!("'{text}'")),
        2 => "[ -!#%-\\[\\]-_a-~]{0,6}".prop_map(|text| format!("\"{text}\"")),
        1 => "[ -~]".prop_map(|text| format!("\\{text}")),
        1 => prop::sample::select(vec![
            "$'\\x41'", "$'a\\tb'", "$'\\101'", "$'\\''", "$'\\u00e9'", "\"\\$x\"", "\"a\\\"b\"", "''", "\"\"",
            "$\"loc\"", "\"\\\\\"", "\"\\a\"", "'a'\"b\"c", "\\\n", "a\\\nb", "\"x\\\ny\"", "#", "a#b", "$", "\"$\"",
            "a$", "{", "}", "{}", "!", "~", "~/x", "a~", "{a,b}", "{a,b}c{d,e}", "{1..3}", "{a", "a,b}", "{,x}",
            "\"{a,b}\"", "{'a b',c}", "=", "a=b", "{x},y}", "a{},b}", "{},b}", "{a},b}", "{a,{b},c}", "{{a},b}", "}{a,b}",
            "{a,b}}", "{a..{b,c}}", "{1..2},x}", "{a,b}{", "{..}", "{a..}", "{a,}", "{,}", "{a..c,d}", "{{a..b}}", "{a..b..}",
        ]).prop_map(str::to_owned),
    ]
}

fn word() -> impl Strategy<Value = String> {
    prop::collection::vec(literal(), 1..4).prop_map(|pieces| pieces.concat())
}

/// Words with expansions whose value the line itself fixes.
fn open_word() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => word(),
        3 => prop::sample::select(vec![
            "$v", "\"$v\"", "${v}", "\"${v}x\"", "${v:-d}", "${v%b}", "${v#a}", "${v##*/}", "${v%%.*}", "${v/a/b}",
            "${#v}", "${v:1}", "${v:0:2}", "${v^}", "${v^^}", "$(echo p q)", "\"$(echo p q)\"", "`echo r`",
            "$(printf '%s-' a b)", "$w", "\"$w\"", "$v$w", "a$IFS", "x${IFS}y", "$(echo \"$v\")", "${v:+alt}",
            "$v$", "a$v$", "\"$@\"\"\"", "x\"$@\"y", "\"$@$@\"", "$*", "\"$*\"", "${@}", "$2", "${v:=asg}", "$((2+3))",
            "$(c inner)", "\"$(c deep; echo z)\"", "$(echo $(echo n))", "$@", "\"$@\"", "$1", "\"$1\"",
            "\"${a[@]}\"", "${a[1]}", "$a",
        ]).prop_map(str::to_owned),
    ]
}

fn simple() -> impl Strategy<Value = String> {
    let call = prop::collection::vec(open_word(), 0..4)
        .prop_map(|words| format!("c {}", words.join(" ")))
        .boxed();
    prop_oneof![
        6 => call.clone(),
        1 => word().prop_map(|value| format!("v={value}")),
        1 => open_word().prop_map(|value| format!("w={value}")),
        1 => prop::sample::select(vec!["true", "false", ":", "set -- one 'two three'", "export v", "shift",
            "printf -v v '%s' q", "break", "continue", "return", "exit", "break 2", "f", "f x y", "g", "f < nosuch",
            "g > /dev/null", "command f", "builtin g", "unset -f f", "unset f", "unset v", "local v=l", "local v",
            "declare v=d", "declare -g v=h", "declare -p v=d", "export -p v=d", "export v=e", "readonly w", "set -", "v=m < nosuch",
            "command export v=k", "command eval v=k", "nosuch export v=z", "trap 'v=t' DEBUG", "trap 'v=t' ERR",
            "trap 'c $v' EXIT", "eval break", "eval 'v=n; return; v=o'", "command return", "v=u; v=$((1/0))", ": $((1/0))", ": $((3/3))",
            "false || { v=j; break; }", "true && return", "false && exit", "v=i; continue", "{ v=r; } < nosuch", "LC_ALL=C read v <<< 'r s'", "w=1 read -r v w <<< 'r s'", "a=(x 'y z')", "set --"])
            .prop_map(str::to_owned),
        1 => (call.clone(), word()).prop_map(|(call, text)| format!("{call} <<< {text}")),
        1 => call.clone().prop_map(|call| format!("{call} 2>&1 < /dev/null")),
        1 => call.prop_map(|call| format!("eval '{}'", call.replace('\'', "'\\''"))),
    ]
}

fn script() -> impl Strategy<Value = String> {
    simple().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}; {b}")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}\n{b}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} && {b}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} || {b}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} | {b}")),
            1 => inner.clone().prop_map(|a| format!("( {a} )")),
            1 => inner.clone().prop_map(|a| format!("{{ {a}\n}}")),
            1 => inner.clone().prop_map(|a| format!("! {a}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if {a}\nthen {b}\nelse c no\nfi")),
            1 => (open_word(), inner.clone()).prop_map(|(w, a)| format!("for v in a {w}; do {a}\ndone")),
            1 => inner.clone().prop_map(|a| format!("for v; do {a}\ndone")),
            1 => (open_word(), inner.clone()).prop_map(|(w, a)| format!("case {w} in a*|b) {a}\n;; *) c other ;; esac")),
            1 => inner.clone().prop_map(|a| format!("c <<E\nx $v $(c here) \\$\nE\n{a}")),
            1 => inner.clone().prop_map(|a| format!("c <<'E'\nx $v $(c never)\nE\n{a}")),
            1 => inner.clone().prop_map(|a| format!("i=0; while [ $i -lt 2 ]; do i=$((i+1)); {a}\ndone")),
            1 => inner.clone().prop_map(|a| format!("c before # {a}")),
            2 => (prop::sample::select(vec!["f", "g", "f", "g", "echo", "export", "true", "exit"]), inner.clone())
                .prop_map(|(name, a)| format!("{name}() {{ {a}\n}}")),
            1 => inner.clone().prop_map(|a| format!("f() {{ local v; {a}\n}}; f")),
            1 => (inner.clone(), inner.clone(), prop::sample::select(vec![";;", ";&", ";;&"]))
                .prop_map(|(a, b, end)| format!("case $v in a*|one) {a}\n{end} b*) {b}\n;& *) c last ;; esac")),
            1 => (inner.clone(), inner.clone(), prop::sample::select(vec![";;", ";&", ";;&"]))
                .prop_map(|(a, b, end)| format!("case x in x) {a}\n{end} y) {b}\n{end} *) c $v ;; esac")),
            2 => (inner.clone(), prop::sample::select(vec!["< nosuch", "<&9", ">&9", "2>&1", "> /dev/null", "< /dev/null", "2>&-"]))
                .prop_map(|(a, redirect)| format!("{{ {a}\n}} {redirect}")),
            1 => inner.clone().prop_map(|a| format!("for v in a b; do {a}\n done < nosuch")),
            1 => inner.clone().prop_map(|a| format!("set -- p q; n=xxx; while n=${{n%x}}; [ \"$n\" ]; do {a}\nshift; done")),
            1 => inner.clone().prop_map(|a| format!("set -- p q r; n=xxx; while shift; n=${{n%x}}; [ \"$n\" ]; do {a}\nc $1; done")),
            1 => inner.clone().prop_map(|a| format!("false || {{ {a}\n}}")),
            1 => inner.clone().prop_map(|a| format!("true && {{ {a}\n}}")),
            1 => inner.clone().prop_map(|a| format!("f() {{ {a}\n}}; f one < nosuch; f 'two three'")),
        ]
    })
}

fn soup() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "c", "c a", "c b", "'", "\"", "`", "$(", "$((", "))", ")", "(", "{", "}", "${v", "$v", "|",
        "||", "&&", ";", ";;", "\n", "\\\n", "\\", "<<E", "\nE\n", "<<-E", "<<'E'", "#", " ", "\t",
        "=", "v=", "if", "then", "fi", "for", "v", "in", "do", "done", "case", "esac", "f()", "!",
        "[[", "]]", "eval", "echo", "true", "false", "x", ":-", "%", "\"", "'", "function", "else",
        "elif", "time", "-p", "2>&1", "<<<", "~", "{a,b}", "..", "1",
    ]);
    (prop::collection::vec(token, 1..16), any::<bool>()).prop_map(|(tokens, blanks)| {
        if blanks {
            tokens.join(" ")
        } else {
            tokens.concat()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

    #[test]
    fn words_are_what_bash_makes_of_them(words in prop::collection::vec(word(), 1..5)) {
        let line = format!("c {}", words.join(" "));
        let analysis = analyse_line(&line);
        let calls = calls_in_bash(&line);
        prop_assume!(calls.len() == 1 && analysis.facts.complete);
        prop_assert_eq!(&analysis.commands[0].words[1..], calls[0].as_slice(), "{}", line);
    }

    #[test]
    fn every_call_bash_makes_is_found(script in script()) {
        let missed = missed_call(&script);
        prop_assert!(missed.is_none(), "{:?}", missed);
    }

    #[test]
    fn state_is_what_bash_makes_of_it(first in simple(), second in script(), third in script()) {
        let script = format!("v=a; w=b\n{first}\n{second}\nc $v\n{third}\nc $v \"$1\" \"$w\"");
        let missed = missed_call(&script);
        prop_assert!(missed.is_none(), "{:?}", missed);
    }

    #[test]
    fn what_bash_accepts_is_parsed_or_incomplete(script in soup()) {
        if accepted_by_bash(&script) {
            let facts = analyse_line(&script).facts;
            prop_assert!(!facts.complete || !facts.runs.is_empty(), "{}", script);
        }
    }
}
