//! What the features bring, and what stays away without them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::process::Command;

/// The packages that a package needs with these options.
fn tree(package: &str, options: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}", "--package", package])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let first = |line: &str| line.split(' ').next().unwrap().to_owned();
    text.lines().map(first).collect()
}

const NETWORK: [&str; 5] = ["hyper", "reqwest", "rustls", "tokio-rustls", "h2"];

#[test]
fn each_feature_brings_its_own_dependencies() {
    for (features, there, missing) in [
        (
            "",
            &["toolgate-gate"][..],
            &["rusqlite", "toolgate-tools"][..],
        ),
        (
            "sqlite",
            &["rusqlite"],
            &["toolgate-tools", "toolgate-engine"],
        ),
        (
            "tools",
            &["toolgate-tools"],
            &["rusqlite", "toolgate-engine"],
        ),
        ("sandbox,tools", &["toolgate-tools"], &["rusqlite"]),
    ] {
        let found = tree(
            "toolgate",
            &["--no-default-features", "--features", features],
        );
        let has = |name: &str| found.iter().any(|one| one == name);
        for name in there {
            assert!(has(name), "{features:?} lacks {name}");
        }
        for name in missing.iter().chain(&NETWORK) {
            assert!(!has(name), "{features:?} brings {name}");
        }
    }
    let all = tree("toolgate", &[]);
    for name in ["rusqlite", "hyper", "reqwest", "rustls"] {
        assert!(all.iter().any(|one| one == name), "{name}");
    }
}

#[test]
fn policy_and_shell_need_no_runtime() {
    for package in ["toolgate-policy", "toolgate-shell"] {
        let found = tree(package, &[]);
        assert!(found.len() > 1, "{found:?}");
        for name in ["tokio", "tokio-util", "futures", "toolgate-gate"] {
            assert!(!found.iter().any(|one| one == name), "{package}: {name}");
        }
    }
}
