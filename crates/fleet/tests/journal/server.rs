//! A PostgreSQL server of the tests' own, on a socket in a directory of its own.
//!
//! It runs as an ordinary user, because it refuses to run as root. A shell ends it, and removes
//! its directory, when the thread that started it ends; that lives as long as the test program.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Runs the server until the parent ends, and removes what it leaves.
const WATCHED: &str = r#"
directory=$1; shift
"$@" & server=$!
trap 'kill -INT "$server"' TERM
wait "$server" || wait "$server"
rm -rf "$directory"
"#;

/// A server that runs.
pub(crate) struct Server {
    pub(crate) socket: PathBuf,
}

impl Server {
    /// The server of this test program.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| {
            let (started, told) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let (server, _child) = start();
                started.send(server).unwrap();
                // The server ends when this thread does.
                loop {
                    std::thread::park();
                }
            });
            told.recv().expect("the server started")
        })
    }

    /// Where a client connects.
    pub(crate) fn address(&self) -> String {
        format!(
            "host={} user=toolgate dbname=toolgate",
            self.socket.display()
        )
    }
}

/// The newest installed server. `cargo xtask test` installs one.
fn programs() -> PathBuf {
    let found = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let versions = found.map(|entry| entry.unwrap().path());
    let version = |path: &PathBuf| -> u32 {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    versions.max_by_key(version).unwrap().join("bin")
}

fn start() -> (Server, Child) {
    // Short: the path of a socket has at most 107 bytes.
    let directory = tempfile::tempdir_in("/tmp").unwrap().keep();
    std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o777)).unwrap();
    let data = directory.join("data");
    let programs = programs();
    let made = as_user(&programs.join("initdb"))
        .args(["--auth=trust", "--username=postgres", "--no-sync", "-D"])
        .arg(&data)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut child = until_the_parent_ends(&directory)
        .arg(programs.join("postgres"))
        .arg("-D")
        .arg(&data)
        .arg("-k")
        .arg(&directory)
        .args(["-c", "listen_addresses=", "-c", "fsync=off"])
        .args(["-c", "max_connections=200"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut all = String::new();
    while !all.contains("ready to accept connections") {
        assert!(said.read_line(&mut all).unwrap() > 0, "{all}");
    }
    // What it says later is taken, so that it never waits.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    let made = as_user(Path::new("psql"))
        .arg("-h")
        .arg(&directory)
        .args(["-U", "postgres", "-q", "-c", "CREATE ROLE toolgate LOGIN"])
        .args(["-c", "CREATE DATABASE toolgate OWNER toolgate"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    (Server { socket: directory }, child)
}

/// A program as an ordinary user, and a shell above it which ends it with this thread. The
/// directory belongs to whoever made it, so the shell keeps the rights to remove it.
fn until_the_parent_ends(directory: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "sh", "-c", WATCHED, "sh"]);
    command.arg(directory).args(user()).current_dir("/");
    command
}

/// A program as an ordinary user.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("env");
    command.args(user()).arg(program).current_dir("/");
    command.env_remove("PGHOST").env_remove("PGPORT");
    command
}

/// What comes before a program that must not run as root.
fn user() -> &'static [&'static str] {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if is_root {
        return &[
            "setpriv",
            "--reuid=nobody",
            "--regid=nogroup",
            "--clear-groups",
        ];
    }
    &["env"]
}
