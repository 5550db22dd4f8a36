//! Indexes and numbers: whatever a real shell evaluates must be opaque, or the command in it found.
//!
//! Every script is run by bash with a payload that calls a harmless function; see `support::bash`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use proptest::prelude::*;
use support::analyse_line;
use support::bash::{calls_in_bash, missed_call};

const PAYLOAD: &str = "zz[$(c evil)]";

/// Ways to get the payload into `x`.
const SOURCES: &[&str] = &[
    "x='PAYLOAD'",
    "x=\"zz[\\$(c evil)]\"",
    "x='zz[`c evil`]'",
    "x=$'zz[$(c evil)]'",
    "read -r x <<< 'PAYLOAD'",
    "printf -v x %s 'PAYLOAD'",
    "x='zz[$('; x+='c evil)]'",
    "p='zz[$(c '; q='evil)]'; x=$p$q",
    "x=5; x='PAYLOAD'",
    "x=5; if true; then x='PAYLOAD'; fi",
    "x=5; true && x='PAYLOAD'",
    "x=5; case a in a) x='PAYLOAD' ;; esac",
    "for x in 5 'PAYLOAD'; do :; done",
    "y='PAYLOAD'; x=y",
    "y='PAYLOAD'; x='1+y'",
    "set -- 'PAYLOAD'; x=$1",
    "declare x='PAYLOAD'",
    "export x='PAYLOAD'",
    "readonly x='PAYLOAD'; unset x",
    "readonly x='PAYLOAD'\nx=5",
    "x='PAYLOAD'; f() { local x=5; }; f",
    "x='PAYLOAD'; x=5 true",
    "x='PAYLOAD'; unset -f x",
    "x='PAYLOAD'; ( x=5 )",
    "x='PAYLOAD'; x=5 | true",
    "x='PAYLOAD'; (( 0 && (x=1) ))",
    "x='PAYLOAD'; : ${x[1]:=5}",
    "x='PAYLOAD'; x[1]=5",
    "x=('PAYLOAD' 2)",
    "x='5 PAYLOAD'; v=$x; declare x=$v; x=${x#5 }",
    "x=$((1)); x=$x' + PAYLOAD'",
    "x='PAYLOAD'; while read -r x; do :; done < /dev/null",
    "a=1; b=2; d=3; for i in 1 2 3 4 5; do x=$a; a=$b; b=$d; d='PAYLOAD'; done",
    "x=$(printf %s 'PAYLOAD')",
    "mapfile -t x <<< 'PAYLOAD'",
    "g() { x=$1; }; g 'PAYLOAD'",
    "x='PAYLOAD'; g() { unset x; }; f() { local x=5; g; c $((x)); }; f",
    "x='PAYLOAD'; f() { unset x; c $((x)); }; x=5 f",
    "x=1; trap 'c $((x))' EXIT; x='PAYLOAD'; x[1]=2",
    "x=1; trap 'c $((x))' DEBUG; x='PAYLOAD'; true; x=1",
    "set -- 1; trap 'c $(($1))' EXIT; set -- 'PAYLOAD'",
    "x=1; f() { :; }; trap f EXIT; f() { c $((x)); }; x='PAYLOAD'",
];

/// Constructs in which the value of `x` may be evaluated.
const SINKS: &[&str] = &[
    "c $((x))",
    "c $((x+1))",
    "c $(( $x ))",
    "c $((${x}))",
    "c $(( 1 ? x : 0 ))",
    "c $[x]",
    "((x))",
    "((x++))",
    "((x+=1))",
    "((i=x))",
    "(( i = 0, x ))",
    "let x",
    "let i=x",
    "let 'i = x'",
    "for ((i=x; i<1; i++)); do :; done",
    "for ((i=0; i<x; i++)); do :; done",
    "c ${y[x]}",
    "c \"${y[x]}\"",
    "c ${y[$x]}",
    "c ${y[x+1]}",
    "y=(1 2); c ${#y[x]}",
    "c ${y[x]:-d}",
    "c ${y[x]:=d}",
    "c ${y[x]%a}",
    "c ${y[x]/a/b}",
    "c ${y[x]^^}",
    "c ${y[x]@Q}",
    "z=abc; c ${z:x}",
    "z=abc; c ${z:0:x}",
    "z=abc; c ${z:$x}",
    "y=(1 2); c ${y[@]:x}",
    "set -- 1 2; c ${@:x}",
    "c ${!x}",
    "y[x]=1",
    "y[$x]=1",
    "y[x]+=1",
    "y[x]=1 c",
    "y=([x]=1)",
    "y=([$x]=1)",
    "y=([ x ]=1)",
    "declare y[x]=1",
    "declare 'y[x]=1'",
    "declare -a y=([x]=1)",
    "declare -i y=x",
    "declare -i y; y=x",
    "typeset -i y=x",
    "h() { local -i y=x; }; h",
    "declare -n y=x; c $y",
    "read 'y[x]' <<< 1",
    "read -a y <<< 1; c ${y[x]}",
    "printf -v 'y[x]' 1",
    "y=1; unset 'y[x]'",
    "unset y[x]",
    "test -v 'y[x]'",
    "[ -v 'y[x]' ]",
    "[[ -v y[x] ]]",
    "[[ x -eq 1 ]]",
    "[[ $x -eq 1 ]]",
    "[[ 1 -lt x ]]",
    "true & wait -n -p 'y[x]'",
    "c {y[x]}>/dev/null",
    "c > ${y[x]}",
    "c < ${y[x]}",
    "c <<< ${y[x]}",
    "c <<E\n${y[x]}\nE\n",
    "c <<E\n$((x))\nE\n",
    "case ${y[x]} in a) ;; esac",
    "case a in ${y[x]}) ;; esac",
    "for i in ${y[x]}; do :; done",
    "c \"$(c ${y[x]})\"",
    "v=${y[x]}",
    "v=$((x)) c",
    "RANDOM=x",
    "RANDOM=$x",
    "RANDOM+=x",
    "SRANDOM=x",
    "HISTCMD=x",
    "OPTIND=x",
    "export RANDOM=x",
    "declare RANDOM=x",
    "readonly RANDOM=x",
    "read RANDOM <<< x",
    "printf -v RANDOM %s x",
    "for RANDOM in x; do :; done",
    "select RANDOM in x; do break; done <<< 1",
    "getopts x RANDOM -x",
    "PIPESTATUS[x]=1",
    "c ${BASH_REMATCH[x]}",
    "z='$(c evil)'; c ${z@P}",
    "z='$(c evil)'; c ${z[0]@P}",
    "y['$(c evil)']=1",
    "c ${y['$(c evil)']}",
    "c ${y[zz[x]]}",
    "c ${y[$((x))]}",
    "c ${z:-${y[x]}}",
    "c {a,${y[x]}}",
    "eval 'c $((x))'",
    "trap 'c $((x))' EXIT",
];

/// What may stand around a construct.
const AROUND: &[(&str, &str)] = &[
    ("( ", " )"),
    ("{ ", "; }"),
    ("w() { ", "; }; w"),
    ("if true; then ", "; fi"),
    ("for q in 1 2; do ", "; done"),
    ("k=0; while [ $k -lt 2 ]; do k=$((k+1)); ", "; done"),
    (": \"$( ", ")\""),
    ("true | { ", "; }"),
    ("true && { ", "; } || :"),
    ("case a in a) ", " ;; esac"),
    ("v=$( ", ")"),
    (": <( ", ")"),
];

fn all_missed(scripts: impl IntoIterator<Item = String>) -> Vec<String> {
    scripts
        .into_iter()
        .filter_map(|script| missed_call(&script))
        .collect()
}

fn line(source: &str, sink: &str) -> String {
    let source = source.replace("PAYLOAD", PAYLOAD);
    let end = if sink.ends_with('\n') { "" } else { "\n" };
    format!("{source}\n{sink}{end}c ok")
}

#[test]
fn every_construct_that_bash_evaluates_is_opaque_or_found() {
    let plain = SOURCES.first().expect("sources");
    let ran: Vec<&&str> = SINKS
        .iter()
        .filter(|sink| calls_in_bash(&line(plain, sink)).contains(&vec!["evil".to_owned()]))
        .collect();
    // The table is worth something only while bash does evaluate what it lists.
    assert!(
        ran.len() * 10 > SINKS.len() * 8,
        "{} of {}: {ran:?}",
        ran.len(),
        SINKS.len()
    );
    let missed = all_missed(SINKS.iter().map(|sink| line(plain, sink)));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn no_way_to_set_a_variable_hides_what_it_holds() {
    let sinks = [
        "c $((x))",
        "c ${y[x]}",
        "[[ $x -eq 1 ]]",
        "RANDOM=x",
        "let x",
    ];
    let missed = all_missed(
        SOURCES
            .iter()
            .flat_map(|source| sinks.iter().map(move |sink| line(source, sink))),
    );
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn nothing_around_a_construct_hides_it() {
    let sinks = ["c ${y[x]}", "y[x]=1", "((i=x))", "RANDOM=x", "c $((x))"];
    let source = format!("x='{PAYLOAD}'");
    let missed = all_missed(AROUND.iter().flat_map(|(before, after)| {
        let source = &source;
        sinks
            .iter()
            .map(move |sink| format!("{source}\n{before}{sink}{after}\nc ok"))
    }));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_variable_of_the_shell_that_takes_numbers_is_known() {
    const NAMES: &[&str] = &[
        "BASHPID",
        "BASH_ARGV0",
        "BASH_COMMAND",
        "BASH_COMPAT",
        "BASH_MONOSECONDS",
        "BASH_SUBSHELL",
        "BASH_XTRACEFD",
        "CHILD_MAX",
        "COLUMNS",
        "COMP_CWORD",
        "COMP_KEY",
        "COMP_POINT",
        "COMP_TYPE",
        "COMP_WORDBREAKS",
        "COPROC",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "FUNCNEST",
        "GLOBSORT",
        "GROUPS",
        "HISTCMD",
        "HISTCONTROL",
        "HISTFILESIZE",
        "HISTSIZE",
        "HISTTIMEFORMAT",
        "IGNOREEOF",
        "LANG",
        "LC_ALL",
        "LINENO",
        "LINES",
        "MAILCHECK",
        "MAPFILE",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "PIPESTATUS",
        "PPID",
        "PROMPT_DIRTRIM",
        "RANDOM",
        "READLINE_LINE",
        "READLINE_MARK",
        "READLINE_POINT",
        "REPLY",
        "SECONDS",
        "SHLVL",
        "SRANDOM",
        "TERM",
        "TIMEFORMAT",
        "TMOUT",
        "TZ",
        "UID",
    ];
    const FORMS: &[&str] = &[
        "NAME='PAYLOAD'",
        "NAME='PAYLOAD' c",
        "NAME+='PAYLOAD'",
        "declare NAME='PAYLOAD'",
        "export NAME='PAYLOAD'",
        "read -r NAME <<< 'PAYLOAD'",
        "printf -v NAME %s 'PAYLOAD'",
        "for NAME in 'PAYLOAD'; do :; done",
        "f() { local NAME='PAYLOAD'; c $((NAME)); }; f",
        "c $((NAME))",
        "NAME=5; c $((NAME))",
    ];
    let missed = all_missed(NAMES.iter().flat_map(|name| {
        FORMS.iter().map(move |form| {
            let form = form.replace("NAME", name).replace("PAYLOAD", PAYLOAD);
            format!("{form}\nc ok")
        })
    }));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn everyday_arithmetic_stays_complete() {
    for line in [
        "for i in 1 2 3; do echo $i; done",
        "echo $((1+2))",
        "echo $(( (1 + 2) * 3 % 4 )) $((16#ff)) $((0x1f)) $((1 << 3))",
        "x=5; echo $x",
        "x=5; echo ${#x}",
        "x=hello; echo ${x:1:3} ${x:2}",
        "arr=(a b c); echo \"${arr[0]}\" \"${arr[@]}\" ${#arr[@]} ${arr[-1]}",
        "arr=(a b c); for i in 0 1 2; do echo ${arr[i]} ${arr[$i]}; done",
        "i=0; i=$((i+1)); echo $i",
        "i=0; ((i++)); ((i += 2)); echo $i",
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "i=0; while ((i < 3)); do echo $i; ((i++)); done",
        "for ((i=0; i<10; i++)); do echo $i; done",
        "for ((i=0, j=9; i<j; i++, j--)); do echo $i $j; done",
        "n=0; for f in a b c; do n=$((n+1)); done; echo $n",
        "n=0; if true; then n=1; fi; echo $((n+1))",
        "f() { local n=$1; echo $((n * 2)); }; f 21",
        "set -- 1 2; echo $(($1 + $2))",
        "echo $((RANDOM % 6 + 1))",
        "start=$SECONDS; ls; echo $((SECONDS - start))",
        "SECONDS=0; ls; echo $SECONDS",
        "a[0]=x; a[1]=y; ls",
        "[[ $# -eq 0 ]] && ls",
        "ls; [[ $? -eq 0 ]] && echo ok",
        "x=3; [[ $x -gt 2 ]] && echo big",
        "let x=1+2; echo $x",
        "false | true; echo ${PIPESTATUS[0]}",
        "b=([0]=x [1]=y); echo \"${b[@]}\"",
        "i=1; b[i]=x; b[$i]=y; b[i+1]=z; ls",
        "grep '[0-9]' a.txt",
    ] {
        let analysis = analyse_line(line);
        assert!(analysis.facts.complete, "{line}: {:?}", analysis.opaque);
    }
}

#[test]
fn the_floor_sees_what_hides_in_an_index() {
    let sinks = SINKS
        .iter()
        .filter(|sink| !sink.contains("evil") && !sink.contains("trap"));
    let mut lost = Vec::new();
    for source in SOURCES
        .iter()
        .filter(|source| !source.contains("c evil") && !source.contains("printf"))
    {
        for sink in sinks.clone() {
            let line = line(source, sink)
                .replace("c evil", "rm -rf /")
                .replace("c '; q='evil", "rm -rf '; q='/");
            if analyse_line(&line).facts.catastrophic.is_empty() {
                lost.push(line);
            }
        }
    }
    assert!(
        lost.is_empty(),
        "{} lost: {:#?}",
        lost.len(),
        lost.get(..lost.len().min(20))
    );
}

fn value() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["x", "y", "z"]);
    prop_oneof![
        3 => Just("5".to_owned()),
        2 => Just(format!("'{PAYLOAD}'")),
        1 => Just("''".to_owned()),
        2 => name.clone().prop_map(|name| format!("${name}")),
        1 => name.clone().prop_map(|name| format!("\"${name}\"")),
        1 => name.clone().prop_map(|name| name.to_owned()),
        2 => name.clone().prop_map(|name| format!("$(({name}+1))")),
        1 => name.clone().prop_map(|name| format!("1${name}")),
        1 => name.clone().prop_map(|name| format!("${{{name}:-7}}")),
        1 => name.clone().prop_map(|name| format!("${{#{name}}}")),
        1 => name.prop_map(|name| format!("${{{name}[0]}}")),
        1 => Just("$?".to_owned()),
        1 => Just("$(echo 5)".to_owned()),
    ]
}

fn step() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["x", "y", "z"]).boxed();
    prop_oneof![
        6 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}={value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}+={value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("declare {name}={value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}={value} true")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("read -r {name} <<< {value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("readonly {name}={value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}[1]={value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!(": ${{{name}:={value}}}")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("(({a} = {b}))")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("((0 && ({a} = {b})))")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("(({a} = 1, {b} = {a}))")),
        1 => name.clone().prop_map(|name| format!("(({name}++))")),
        1 => name.clone().prop_map(|name| format!("unset {name}")),
        2 => name.clone().prop_map(|name| format!("c $(({name}))")),
        2 => name.clone().prop_map(|name| format!("c ${{w[{name}]}}")),
        1 => name.clone().prop_map(|name| format!("[[ ${name} -eq 1 ]]")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("f() {{ local {name}={value}; }}; f")),
        1 => name.clone().prop_map(|name| format!("u() {{ unset {name}; }}; u")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("s() {{ c $(({name})); }}; {name}={value} s")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("printf -v {name} %s {value}")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}=({value} 2)")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("set -- {value}; {name}=$1")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("for {name} in {value}; do :; done")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("{name}=$(echo {value})")),
        1 => (name.clone(), value()).prop_map(|(name, value)| format!("eval {name}={value}")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("let {a}={b}")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("(({a} += {b}))")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("{a}=${{{b}:0:9}}")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("{a}=${{{b}/5/{b}}}")),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| format!("{a}=${{{b}:+{b}}}")),
        1 => name.prop_map(|name| format!("trap 'c $(({name}))' EXIT")),
    ]
}

fn program() -> impl Strategy<Value = String> {
    step().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}\n{b}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a}\n}} && {{ {b}\n}}")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a}\n}} || {{ {b}\n}}")),
            1 => inner.clone().prop_map(|a| format!("( {a}\n)")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if {a}\nthen {b}\nfi")),
            2 => inner.clone().prop_map(|a| format!("for i in 1 2 3 4 5 6; do {a}\ndone")),
            2 => (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("for i in $(echo 1 2 3) $u; do {a}\n{b}\ndone")),
            1 => (value(), inner.clone()).prop_map(|(v, a)| format!("for x in 1 {v}; do {a}\ndone")),
            2 => (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("for ((k=0; k<6; k++)); do {a}\n{b}\ndone")),
            1 => inner.clone().prop_map(|a| format!("g() {{ {a}\n}}; g")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(256) })]

    #[test]
    fn no_program_evaluates_what_is_not_found(program in program()) {
        let ends = ["c ok", "true $((x)) $((y)) $((z)); c ok"];
        for end in ends {
            let missed = missed_call(&format!("x=1; y=2; z=3\n{program}\n{end}"));
            prop_assert!(missed.is_none(), "{:?}", missed);
        }
    }
}
