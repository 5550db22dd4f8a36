//! The process that gives the terminal back if this program is killed.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use toolgate_tui::terminal::{DONE, watch};

/// The name under which this program is the watcher.
const NAME: &str = "toolgate-terminal";

/// Watches, if this program was started for it.
pub(crate) fn serve(name: Option<&std::ffi::OsString>) -> bool {
    let is_watcher = name.is_some_and(|name| name == NAME);
    if is_watcher {
        // Nobody reads an error: without a terminal there is nothing to restore.
        let _ = watch();
    }
    is_watcher
}

/// A watcher that was started. Dropped, it is told that all is well.
pub(crate) struct Watcher(Child);

impl Watcher {
    /// Starts one and waits until it knows the terminal's settings. Nothing where it cannot be
    /// started: then a kill leaves the terminal as it is.
    pub(crate) fn start() -> Option<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg0(NAME)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::inherit())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut ready = [0];
        let told = child
            .stderr
            .take()
            .map(|mut pipe| pipe.read_exact(&mut ready));
        let watcher = Self(child);
        matches!(told, Some(Ok(()))).then_some(watcher)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(&[DONE]);
        }
        let _ = self.0.wait();
    }
}
