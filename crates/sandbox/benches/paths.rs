//! The cost of the path sandbox: opening an existing file three components deep, against
//! the plain open of the standard library, in turns within one run.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolgate_sandbox::paths::{Method, PathRules, PathSandbox};

const ROUNDS: usize = 60;
const OPENS: u32 = 5_000;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("crates/model");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("lib.rs"), "//! text\n").unwrap();
    std::os::unix::fs::symlink("model", directory.path().join("crates/link")).unwrap();
    let plain = deep.join("lib.rs");
    let rules = PathRules::new(directory.path());

    for (name, method, path) in [
        ("open_read", Method::Kernel, "crates/model/lib.rs"),
        ("open_read_link", Method::Kernel, "crates/link/lib.rs"),
        ("open_read_walk", Method::Walk, "crates/model/lib.rs"),
    ] {
        let sandbox = PathSandbox::open_with(&rules, method).unwrap();
        let mut ours = Duration::MAX;
        let mut theirs = Duration::MAX;
        // Turns, and the best of each: noise of the machine hits both alike.
        for _ in 0..ROUNDS {
            theirs = theirs.min(time(|| {
                drop(black_box(std::fs::File::open(&plain).unwrap()))
            }));
            ours = ours.min(time(|| drop(black_box(sandbox.open_read(path).unwrap()))));
        }
        let (ours, theirs) = (ours.as_nanos(), theirs.as_nanos());
        let ratio = ours as f64 / theirs as f64;
        println!(
            r#"{{"name":"{name}","ours_ns":{},"theirs_ns":{},"ratio":{ratio:.2}}}"#,
            ours / u128::from(OPENS),
            theirs / u128::from(OPENS),
        );
    }
}

fn time(mut one: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..OPENS {
        one();
    }
    start.elapsed()
}
