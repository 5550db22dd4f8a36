//! Long lines get the same answers as short ones, in a time that grows with their length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use support::analyse_line;

const SIZE: usize = 60_000;

/// What is repeated, and what stands before and behind it.
const SHAPES: &[(&str, &str, &str)] = &[
    ("cat ", "a ", ""),
    ("rm ", "'a' ", ""),
    ("foo ", "a ", ""),
    ("ls ", "*.rs ", ""),
    ("ls ", "*", ""),
    ("cat ", "~/a ", ""),
    ("", "cat a | ", "wc"),
    ("", "cat a && ", "ls"),
    ("", "cd a && ", "ls"),
    ("", "(ls); ", ""),
    ("", "f() { ls; }; ", "f"),
    ("", "cat <<E\nabc\nE\n", ""),
    ("awk '{ ", "print /a/; ", "}' f"),
    ("sed '", "s/a/b/;", "' f"),
    ("python3 -c '", "os.system(\"ls\"); ", "'"),
    ("echo ", "a ", "| xargs ls"),
    ("set -- ", "a ", "; shift; shift; echo $1"),
];

#[test]
fn long_lines_hide_nothing() {
    for (before, repeated, behind) in SHAPES {
        let middle = repeated.repeat(SIZE / repeated.len());
        let line = format!("{before}{middle}{behind}");
        let hiding = format!("{line}\nrm -rf /");
        let facts = analyse_line(&hiding).facts;
        assert!(!facts.catastrophic.is_empty(), "{before}{repeated}{behind}");
    }
}

#[test]
fn many_variables_take_no_more_time_than_many_commands() {
    let numbered = |shape: &str| -> String {
        let one = |number: usize| shape.replace('#', &number.to_string());
        (0..SIZE / (shape.len() + 4)).map(one).collect()
    };
    for shape in [
        "v#=a; ",
        "v#=a; echo $v#; ",
        "export v#=a; ",
        "read v#; ",
        "f#() { ls; }; f#; ",
        "a#=(b c); ",
    ] {
        let facts = analyse_line(&format!("{}\nrm -rf /", numbered(shape))).facts;
        assert!(!facts.catastrophic.is_empty(), "{shape}");
    }
}

#[test]
fn ways_that_part_with_many_variables_are_bounded() {
    let variables: String = (0..5_000).map(|number| format!("v{number}=a; ")).collect();
    let ways = "if a; then b=1; fi; ".repeat(5_000);
    let facts = analyse_line(&format!("{variables}{ways}")).facts;
    assert!(!facts.complete);
    assert!(!facts.catastrophic.is_empty());
}
