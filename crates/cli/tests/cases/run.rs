//! Runs one case through the program.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

/// Who makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Same,
    /// Somebody without rights.
    Ordinary,
}

const NOBODY: u32 = 65534;
/// Where a case names no bound, it must still come to an end.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn users() -> Vec<User> {
    if rustix::process::getuid().is_root() {
        vec![User::Same, User::Ordinary]
    } else {
        vec![User::Same]
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    tool: String,
    args: Value,
    #[serde(default)]
    setup: String,
    expect: String,
    #[serde(default)]
    accept: Vec<String>,
    #[serde(default)]
    literal: bool,
    kind: Option<String>,
    must_contain: Option<String>,
    must_not_contain: Option<String>,
    expect_text: Option<String>,
    must_exist: Option<String>,
    must_not_exist: Option<String>,
    timeout_ms: Option<u64>,
    max_output_bytes: Option<usize>,
    repeat: Option<u32>,
    note: Option<String>,
    #[serde(flatten)]
    _more: HashMap<String, Value>,
}

/// A directory of its own for one case.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    program: Arc<Program>,
    user: User,
}

impl Place {
    pub(crate) fn new(user: User) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["ws", "out", "home"] {
            let path = directory.path().join(name);
            // `out` is left to the setup, which makes it where a case needs it.
            if name != "out" {
                std::fs::create_dir(&path).unwrap();
                if user == User::Ordinary {
                    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
                }
            }
        }
        if user == User::Ordinary {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self {
            directory,
            program: program(),
            user,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn filled_in(&self, text: &str) -> String {
        let (ws, out) = (self.path("ws"), self.path("out"));
        let (ws, out) = (ws.to_str().unwrap(), out.to_str().unwrap());
        text.replace("${WS}", ws)
            .replace("$WS", ws)
            .replace("${OUT}", out)
            .replace("$OUT", out)
    }

    /// The program itself.
    pub(crate) fn toolgate(&self) -> Command {
        self.command(&self.program.path)
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TOOLGATE_HOME", self.path("home"))
            .env("WS", self.path("ws"))
            .env("OUT", self.path("out"));
        if self.user == User::Ordinary {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

/// The program where everybody may run it: the build's own directory may be closed to others.
pub(crate) struct Program {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

/// That program. It goes when nobody holds it any more, so whoever has many places holds it too.
pub(crate) fn program() -> Arc<Program> {
    static COPY: Mutex<Weak<Program>> = Mutex::new(Weak::new());
    let mut copy = COPY.lock().unwrap();
    copy.upgrade().unwrap_or_else(|| {
        let directory = tempfile::tempdir().unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.path().join("toolgate");
        std::fs::copy(env!("CARGO_BIN_EXE_toolgate"), &path).unwrap();
        let made = Arc::new(Program {
            _directory: directory,
            path,
        });
        *copy = Arc::downgrade(&made);
        made
    })
}

fn wire_text(case: &Case, place: &Place) -> Vec<u8> {
    if let Some(raw) = case.args.get("raw").and_then(Value::as_str) {
        return raw.as_bytes().to_vec();
    }
    if let Some(repeat) = case
        .args
        .get("repeat")
        .filter(|_| case.args.get("mode").is_none())
    {
        let part = |name: &str| repeat[name].as_str().unwrap();
        let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
        return [
            part("prefix").as_bytes(),
            &part("unit").as_bytes().repeat(count),
            part("suffix").as_bytes(),
        ]
        .concat();
    }
    let text = case.args.to_string();
    if case.literal {
        text.into_bytes()
    } else {
        place.filled_in(&text).into_bytes()
    }
}

/// Runs a case. The error says what was wrong with it.
pub(crate) fn check(case: &Case, user: User, later: &[&str]) -> Result<(), String> {
    let place = Place::new(user);
    if !case.setup.is_empty() {
        let status = place
            .command(Path::new("bash"))
            .arg("-c")
            .arg(&case.setup)
            .stdin(Stdio::null())
            .status()
            .unwrap();
        if !status.success() {
            return Err(format!("setup failed: {status}"));
        }
    }
    let began = Instant::now();
    for round in 0..case.repeat.unwrap_or(1) {
        once(case, &place, later).map_err(|why| format!("round {round}: {why}"))?;
        // What the setup left running ends after some seconds, and so do we.
        if began.elapsed() > Duration::from_secs(4) {
            break;
        }
    }
    Ok(())
}

fn once(case: &Case, place: &Place, later: &[&str]) -> Result<(), String> {
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws")).args([
        "--approve",
        "all",
        "exec",
        &case.tool,
        "-",
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start: {error}"))?;
    let mut stdin = child.stdin.take().unwrap();
    let text = wire_text(case, place);
    let writer = std::thread::spawn(move || drop(stdin.write_all(&text)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let took = began.elapsed();
    let bound = case.timeout_ms.map_or(PATIENCE, Duration::from_millis);
    if took > bound {
        return Err(format!("took {took:?}, at most {bound:?}"));
    }
    let stdout = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("panicked") || stderr.contains("internal error") {
        return Err(format!("stderr: {stderr}"));
    }
    if let Some(most) = case.max_output_bytes.filter(|most| stdout.len() > *most) {
        return Err(format!("{} bytes of output, at most {most}", stdout.len()));
    }
    let result: Value =
        serde_json::from_str(&stdout).map_err(|error| format!("{error}: {stdout:?} {stderr}"))?;
    judge(case, place, &result, output.status.code(), later)
}

fn judge(
    case: &Case,
    place: &Place,
    result: &Value,
    code: Option<i32>,
    later: &[&str],
) -> Result<(), String> {
    let kind = result.pointer("/error/kind").and_then(Value::as_str);
    let outcome = if result["status"] == "ok" {
        "allow"
    } else {
        "deny"
    };
    let wanted_code = match (result["status"].as_str(), kind) {
        (Some("ok"), _) => 0,
        (Some("denied"), Some("no_approver" | "approval_expired")) => 4,
        (Some("denied"), _) => 3,
        (Some("error"), _) => 1,
        other => return Err(format!("unexpected end {other:?}")),
    };
    if code != Some(wanted_code) {
        return Err(format!(
            "exit code {code:?}, expected {wanted_code}: {result}"
        ));
    }
    if later.contains(&case.tool.as_str()) {
        return if kind == Some("unknown_tool") || kind == Some("bad_call") {
            Ok(())
        } else {
            Err(format!(
                "{} is there now; take it off the list: {result}",
                case.tool
            ))
        };
    }
    // Against a swapper both outcomes are right; what must never happen is asserted below. And where
    // the sample says so, a documented refusal is as good as an answer.
    let either = case.repeat.is_some()
        || case
            .note
            .as_deref()
            .is_some_and(|note| note.starts_with("deny is acceptable"));
    let fits = match case.expect.as_str() {
        "bounded" => true,
        "sanitized" => outcome == "allow",
        wanted => wanted == outcome,
    };
    if !fits && !either && !case.accept.iter().any(|also| also == outcome) {
        return Err(format!("expected {}, got {result}", case.expect));
    }
    if let Some(wanted) = &case.kind
        && kind != Some(wanted)
    {
        return Err(format!("expected kind {wanted}, got {kind:?}"));
    }
    let content = result["content"].as_str().unwrap_or_default();
    if let Some(part) = case
        .must_contain
        .as_ref()
        .filter(|part| outcome == "allow" && !content.contains(part.as_str()))
    {
        return Err(format!("{part:?} is not in {content:?}"));
    }
    let whole = result.to_string();
    if let Some(part) = case
        .must_not_contain
        .as_ref()
        .filter(|part| whole.contains(part.as_str()))
    {
        return Err(format!("{part:?} is in {whole}"));
    }
    if let Some(wanted) = case
        .expect_text
        .as_ref()
        .filter(|wanted| content != wanted.as_str())
    {
        return Err(format!("expected {wanted:?}, got {content:?}"));
    }
    for (path, wanted) in [(&case.must_exist, true), (&case.must_not_exist, false)] {
        if let Some(path) = path
            && Path::new(&place.filled_in(path)).symlink_metadata().is_ok() != wanted
        {
            return Err(format!(
                "{path} {} there",
                if wanted { "is not" } else { "is" }
            ));
        }
    }
    Ok(())
}
