//! Clients in other languages, with the libraries that people use, and a program that tries the
//! OpenAPI document.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/browser.rs"]
#[allow(dead_code)]
mod browser;
mod support;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use support::{Place, Served, writes};
use tokio::process::Command;
use toolgate_server::auth::Role;

/// A program of the environment that `cargo xtask test` makes.
fn program(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join("target/peers/bin").join(name);
    assert!(
        program.exists(),
        "{name} is missing; `cargo xtask needs` installs it"
    );
    program
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

async fn ended(command: &mut Command, most: Duration) -> Output {
    let ended = command.kill_on_drop(true).output();
    let ended = tokio::time::timeout(most, ended).await;
    let output = ended.unwrap_or_else(|_| panic!("the client took too long"));
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

async fn talked(place: &Place, served: &Served, mut command: Command) {
    let token = place.token("peer", Role::Owner);
    command
        .env("PEER_HOST", served.host())
        .env("PEER_TOKEN", token);
    ended(&mut command, Duration::from_secs(120)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_python_holds_a_conversation() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut command = Command::new(program("python"));
    command.arg(script("peers/client.py"));
    talked(&place, &served, command).await;
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_node_holds_two_conversations_at_once() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut command = Command::new("node");
    command.arg(script("page/client.mjs"));
    command.env("PAGE_MODULES", browser::modules());
    talked(&place, &served, command).await;
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_the_interface_describes_or_forbids_is_an_error_of_the_server() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place
        .serve_with(|options| options.unwatched = Some(Duration::from_millis(100)))
        .await;
    // Something to find.
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:tool-confirm").await;
    let reports = tempfile::tempdir().unwrap();
    let mut command = Command::new(program("st"));
    command
        .arg("run")
        .arg(format!("http://{}/api/openapi.json", served.host()))
        .args(["--url", &format!("http://{}", served.host())])
        .args([
            "--header",
            &format!("Authorization: Bearer {}", served.token),
        ])
        .args(["--checks", "not_a_server_error"])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", "12", "--seed", "1", "--no-shrink"])
        .args(["--generation-database", "none", "--request-timeout", "30"])
        .args(["--suppress-health-check", "all", "--no-color"])
        // It streams without an end.
        .args(["--exclude-path", "/api/conversations/{id}/events"])
        .current_dir(reports.path());
    let output = ended(&mut command, Duration::from_secs(300)).await;
    let said = String::from_utf8_lossy(&output.stdout);
    let cases = said.lines().find_map(|line| {
        line.trim()
            .strip_suffix(" passed")?
            .split_once(" generated, ")
    });
    let (made, passed) = cases.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(made, passed, "{said}");
    assert!(made.parse::<u32>().unwrap() > 300, "{said}");
    served.stop().await;
}
