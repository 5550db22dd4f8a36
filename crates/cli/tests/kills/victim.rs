//! A conversation that is killed again and again, and what must hold after each kill.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Bench, finish};
use crate::talk::{self, BATCH, BATCHES, EDITED, END, Effect, LOG, MADE, PATCHED};

/// Numbers that look random and are the same in every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % bound
    }
}

/// So many writes of a whole run wait for the disk, in each of the two threads that have most of
/// them. Which one has the n-th first is different every time.
const SYNCS: u64 = 231;

/// When a run is killed.
#[derive(Debug)]
pub(crate) enum Moment {
    /// So long after so many events.
    After { events: u64, pause: Duration },
    /// At the n-th call of this kind in one of its threads.
    At { step: &'static str, nth: u64 },
}

impl Moment {
    pub(crate) fn anywhere(chance: &mut Chance) -> Self {
        Self::After {
            events: chance.below(BATCHES * BATCH * 3),
            pause: Duration::from_micros(chance.below(8_000)),
        }
    }

    /// The k-th of a row that comes to every write which makes something durable.
    pub(crate) fn durable(k: u64, chance: &mut Chance) -> Self {
        // As often as a whole run does it; beyond that it comes to its end.
        let (step, nth) = match k % 4 {
            // A step that shares no divisor with the count comes to each of them once.
            0..3 => ("fsync", (k - k / 4) * 23 % SYNCS),
            _ => match chance.below(4) {
                0 => ("renameat2", chance.below(20)),
                1 => ("linkat", chance.below(70)),
                _ => ("pwrite64", chance.below(8_000)),
            },
        };
        Self::At { step, nth: 1 + nth }
    }
}

/// What a kill left.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Whether the run died of it, and had not come to its end before.
    pub(crate) died: bool,
    /// Those without a result.
    pub(crate) open: usize,
    /// Those that had begun.
    pub(crate) unknown: usize,
}

/// What is on record of a call.
#[derive(Debug, Default)]
struct OnRecord {
    received: usize,
    started: usize,
    results: Vec<Value>,
}

pub(crate) struct Victim {
    bench: Bench,
    /// How many scripts were begun.
    round: u64,
}

impl Victim {
    pub(crate) fn new() -> Self {
        let bench = Bench::new();
        for name in [EDITED, PATCHED[0], PATCHED[1]] {
            bench.write(name, &format!("{END}\n"));
        }
        bench.write(LOG, "");
        Self { bench, round: 0 }
    }

    /// The arguments that begin the conversation or go on with it.
    fn arguments(&mut self, batches: u64) -> Vec<String> {
        self.round += 1;
        let name = format!("script{}.toml", self.round);
        self.bench.home(&name, &talk::script(self.round, batches));
        let script = self.bench.home_directory().join(name);
        let mut args = vec!["run", "--approve", "all", "--json"];
        let id = self.conversation();
        if let Some(id) = &id {
            args.extend(["--conversation", id]);
        }
        let script = script.to_str().unwrap();
        args.extend(["--script", script, "go on"]);
        args.into_iter().map(str::to_owned).collect()
    }

    /// The conversation, if one has had a turn.
    fn conversation(&self) -> Option<String> {
        let listed = self.bench.run(&["--json", "journal", "list"]);
        let all = listed
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let mut begun = all.filter(|one: &Value| one["entries"] != 0);
        let first = begun.next()?;
        assert_eq!(begun.next(), None, "there is one conversation");
        Some(first["conversation"].as_str().unwrap().to_owned())
    }

    /// Kills a run, resumes it, and checks everything.
    pub(crate) fn kill(&mut self, moment: &Moment, choice: &str) -> Found {
        let args = self.arguments(BATCHES);
        let died = match moment {
            Moment::After { events, pause } => self.kill_after(&args, *events, *pause),
            Moment::At { step, nth } => self.kill_at(&args, step, *nth),
        };
        let mut found = Found {
            died,
            ..Found::default()
        };
        let at = format!("round {} {moment:?} {choice}", self.round);
        if !self.bench.home_directory().join("journal.db").exists() {
            return found;
        }
        self.is_sound(&at);
        let Some(id) = self.conversation() else {
            return found;
        };
        let before = self.record(&id);
        self.begun_effects_only(&before, &at);
        let resumed = self.bench.run(&["--json", "resume", &id, choice]);
        assert_eq!(resumed.code, Some(0), "{at}: {resumed:?}");
        let after = self.record(&id);
        assert_eq!(after.len(), before.len(), "{at}");
        self.one_result_each(&after, &at);
        self.is_sound(&at);
        let open = before.values().filter(|call| call.results.is_empty());
        found.open = open.clone().count();
        found.unknown = open.filter(|call| call.started > 0).count();
        found
    }

    /// Lets the conversation come to its end.
    pub(crate) fn ends(&mut self) {
        let args = self.arguments(2);
        let mut command = self.bench.toolgate();
        command.args(&args);
        let done = finish(command, b"");
        assert_eq!(done.code, Some(0), "{done:?}");
        let last = done.stdout.lines().last().unwrap();
        assert!(last.contains("turn_finished"), "{last}");
        let id = self.conversation().unwrap();
        let record = self.record(&id);
        self.one_result_each(&record, "the end");
        let of_round = format!("r{}b", self.round);
        for (id, call) in record.iter().filter(|(id, _)| id.starts_with(&of_round)) {
            assert_eq!(call.results[0]["status"], "ok", "{id}: {call:?}");
        }
        self.is_sound("the end");
        // Neither temporary files nor the sandbox's own directories are left.
        let mut left = self.bench.listing();
        let known = [LOG, EDITED, PATCHED[0], PATCHED[1], MADE];
        left.retain(|name| !known.contains(&name.as_str()));
        assert!(left.is_empty(), "{left:?}");
    }

    fn kill_after(&self, args: &[String], events: u64, pause: Duration) -> bool {
        let mut child = self
            .bench
            .toolgate()
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..events {
            if lines.next().is_none() {
                break;
            }
        }
        let until = Instant::now() + pause;
        while Instant::now() < until {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap().code().is_none()
    }

    fn kill_at(&self, args: &[String], step: &str, nth: u64) -> bool {
        let mut command = self.bench.command(Path::new("strace"));
        let trace = format!("trace={step}");
        let inject = format!("inject={step}:signal=SIGKILL:when={nth}");
        // Not --seccomp-bpf: with it, strace counts only the first call of a thread.
        command.args(["-f", "-qqq", "-o", "/dev/null"]);
        command.args(["-e", &trace, "-e", &inject]);
        command.arg(env!("CARGO_BIN_EXE_toolgate")).args(args);
        // Whether it came to its end does not matter: what holds then holds all the more.
        finish(command, b"").code.is_none()
    }

    fn is_sound(&self, at: &str) {
        let verified = self.bench.run(&["--json", "journal", "verify"]);
        assert_eq!(verified.code, Some(0), "{at}: {verified:?}");
    }

    fn record(&self, id: &str) -> BTreeMap<String, OnRecord> {
        let shown = self.bench.run(&["--json", "journal", "show", id]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let mut calls: BTreeMap<String, OnRecord> = BTreeMap::new();
        for line in shown.stdout.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let call = line["call"].as_str().unwrap_or_default();
            if call.is_empty() {
                continue;
            }
            let call = calls.entry(call.to_owned()).or_default();
            match line["kind"].as_str().unwrap() {
                "received" => call.received += 1,
                "started" => call.started += 1,
                "finished" => call.results.push(line["body"]["result"].clone()),
                _ => {}
            }
        }
        calls
    }

    /// How often the call's mark is in the workspace, in every place where it can be.
    fn times(&self, id: &str) -> Vec<usize> {
        let lines = |name: &str| {
            let text = self.bench.read(name);
            text.lines().filter(|line| *line == id).count()
        };
        match talk::effect(id) {
            Effect::None => vec![],
            Effect::Logged => vec![lines(LOG)],
            Effect::Edited => vec![lines(EDITED)],
            Effect::Patched => PATCHED.map(lines).to_vec(),
            Effect::Made => {
                let file = self.bench.workspace().join(MADE).join(id);
                vec![usize::from(file.exists())]
            }
        }
    }

    /// Nothing has happened that is not on record as begun.
    fn begun_effects_only(&self, record: &BTreeMap<String, OnRecord>, at: &str) {
        for (id, call) in record {
            assert!(call.results.len() <= 1, "{at}: {id} {call:?}");
            for times in self.times(id) {
                assert!(times <= call.started, "{at}: {id} {times} times, {call:?}");
            }
        }
        let marks = [LOG, EDITED, PATCHED[0], PATCHED[1]].map(|name| self.bench.read(name));
        for mark in marks.iter().flat_map(|text| text.lines()) {
            let known = mark == END || record.contains_key(mark);
            assert!(known, "{at}: {mark} is off the record");
        }
    }

    /// Every call has one result, and its effect is what the result says.
    fn one_result_each(&self, record: &BTreeMap<String, OnRecord>, at: &str) {
        for (id, call) in record {
            assert_eq!(
                (call.received, call.results.len()),
                (1, 1),
                "{at}: {id} {call:?}"
            );
            let result = &call.results[0];
            let times = self.times(id);
            let says = result["content"].as_str().unwrap();
            let done = result["status"] == "ok" || says.contains("were completed");
            let undone =
                call.started == 0 || says.contains("taken back") || result["status"] == "denied";
            for once in &times {
                assert!(*once <= 1, "{at}: {id} happened {once} times, {call:?}");
                assert!(
                    !done || *once == 1,
                    "{at}: {id} is told and not there: {call:?}"
                );
                assert!(
                    !undone || *once == 0,
                    "{at}: {id} is there and not told: {call:?}"
                );
            }
            let same = times.iter().all(|one| Some(one) == times.first());
            assert!(same, "{at}: {id} is half done: {times:?} {call:?}");
        }
    }
}
