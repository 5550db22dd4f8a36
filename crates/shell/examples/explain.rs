//! Prints what a line would do: `cargo run -p toolgate-shell --example explain -- 'ls | sh'`.
#![allow(clippy::print_stdout)]

use toolgate_shell::{LineContext, analyse};

fn main() {
    let context = LineContext {
        cwd: "",
        home: Some("/home/ann"),
        roots: &["/home/ann/work"],
    };
    for line in std::env::args().skip(1) {
        let analysis = analyse(&line, &context);
        println!("{line}\n  {:?}", analysis.facts);
        for reason in &analysis.opaque {
            println!("  opaque: {reason}");
        }
    }
}
