//! The program in a pseudo-terminal, with a screen that reads what it writes.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// How long anything may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Pty {
    pub(crate) child: Child,
    /// Held open, so that the terminal outlives the program.
    slave: File,
    master: File,
    arriving: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    pub(crate) raw: Vec<u8>,
}

impl Pty {
    /// Starts a command at a terminal of its own.
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        let child = command
            .stdin(Stdio::from(slave.try_clone().unwrap()))
            .stdout(Stdio::from(slave.try_clone().unwrap()))
            .stderr(Stdio::from(slave.try_clone().unwrap()))
            .spawn()
            .unwrap();
        let master = File::from(master);
        let mut reading = master.try_clone().unwrap();
        let (to, arriving) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 65_536];
            while let Ok(count) = reading.read(&mut piece) {
                if count == 0 || to.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            slave,
            master,
            arriving,
            parser: vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0),
            raw: Vec::new(),
        }
    }

    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.slave).unwrap()
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + LONG;
        loop {
            if is_so(&self.screen()) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.arriving.recv_timeout(left) else {
                panic!("never: {what}\n{}", self.screen());
            };
            self.take(&bytes);
        }
    }

    pub(crate) fn until_shown(&mut self, words: &str) {
        self.until(words, |screen| screen.contains(words));
    }

    /// Reads for this long; how many bytes came.
    pub(crate) fn listen(&mut self, time: Duration) -> usize {
        let deadline = Instant::now() + time;
        let before = self.raw.len();
        while let Ok(bytes) = self
            .arriving
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.take(&bytes);
        }
        self.raw.len() - before
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.parser.process(bytes);
    }

    /// Presses a key until something is shown: one that came too soon counts for nothing.
    pub(crate) fn press_until(&mut self, key: &str, words: &str) {
        for _ in 0..100 {
            self.send(key);
            self.listen(Duration::from_millis(600));
            if self.screen().contains(words) {
                return;
            }
        }
        panic!("never after {key:?}: {words}\n{}", self.screen());
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
