//! Programs whose words need more than a row.
//!
//! In come the words of one command, already sorted where the row says enough;
//! what is found goes to the walk, and what the command would print comes back.
//! Each code is named by `@code` or `@own` in the table.

mod awk;
mod build;
mod bus;
mod containers;
mod defaults;
mod each;
mod files;
mod find;
mod git;
mod history;
mod links;
mod located;
mod network;
mod printing;
mod python;
mod sed;
mod shells;
mod state;
mod system;
mod tar;
mod traps;
mod xargs;

use super::Known;
use super::scan::Scan;
use crate::expand::field::Field;
use crate::reasons::Catastrophe;
use crate::walk::{Invocation, Output, Walker};

/// Codes of commands that print nothing.
const QUIET: &[&str] = &[
    "cd", "declare", "let", "read", "set", "shift", "shopt", "test", "trap", "unset", "kill",
    "wait",
];

impl Walker {
    /// Runs the code that a row names.
    pub(super) fn special(
        &mut self,
        code: &str,
        name: &str,
        words: &[Field],
        scan: &Scan,
        invocation: &Invocation,
    ) -> Known {
        let arguments = words.get(1..).unwrap_or_default();
        let mut known = Known {
            output: Output::Unknown,
            recorded: true,
        };
        if QUIET.contains(&code) {
            known.output = Output::nothing();
        }
        match code {
            "archive" => self.archive(scan),
            "awk" => self.awk(name, scan),
            "cd" => self.change_directory(name, arguments),
            "script" => self.script_or_file(name, words, scan),
            "compiler" => self.compiler(name, scan),
            "cargo" | "emit" => self.cargo(name, scan),
            "cmake" => self.definitions(name, scan),
            "bus" => self.bus_message(name, arguments),
            "binary" => self.package_binary(words, invocation),
            "braces" => self.build_commands(name, scan),
            "goals" => self.build_goals(name, scan),
            "msbuild" => self.build_switches(name, words, scan),
            "watch" => self.watched(scan),
            "history" => self.history(name, words, scan),
            "contained" => self.contained(words, scan),
            "bound" => self.bound(name, words),
            "curl" => self.curl(scan),
            "dc" => self.desk_calculator(name, scan),
            "date" => self.date(scan),
            "default" => self.default_names(name, scan),
            "filter" => self.filter(name, scan),
            "dd" => self.copy_blocks(arguments),
            "declare" => self.declare(name, arguments),
            "echo" => known.output = printing::echo(arguments),
            "fetch" => self.fetch(words, scan),
            "formatter" => self.formatter(name, scan),
            "find" => known.output = self.find(arguments, invocation),
            "git" => self.git_files(words, scan),
            "gitconfig" => self.git_config(arguments),
            "go" => self.go_flags(scan),
            "kill" => self.kill(arguments),
            "every" => self.found.catastrophe(Catastrophe::EveryProcess),
            "fuser" => self.end_users(scan),
            "pkill" => self.end_matching(name, scan),
            "link" => self.make_links(name, scan),
            "mount" => {
                self.code_opaque(name);
                self.mount(words, scan);
            }
            "patch" => self.patch(scan),
            "let" => self.evaluate(arguments),
            "located" => known.output = self.print_located(name, scan),
            "ls" => known.output = printing::listing(scan),
            "matches" => known.output = printing::matches(name, scan),
            "names_of_hosts" => self.look_up(scan),
            "resolves" => self.contact(name, scan),
            "pages" => self.fetch_pages(scan),
            "names" => {
                known.output = printing::names(name, scan);
                self.run_on_each(name, words, invocation);
            }
            "man" => self.manual(scan),
            "module" => self.python_module(name, scan, invocation),
            "query" => self.query(name, scan),
            "make" => self.make(scan),
            "pager" => self.pager(name, scan),
            "parallel" => self.parallel(words, scan),
            "partition" => self.partition(name, arguments),
            "pwd" => known.output = self.print_directory(),
            "quiet" => known.output = Output::nothing(),
            "toplevel" => known.output = self.print_toplevel(scan),
            "printf" => known.output = self.print_formatted(arguments),
            "read" => self.read_variables(name, arguments),
            "reader" => known.output = self.pass_through(name, scan),
            "remote" => self.git_remote(words, scan),
            "response" => self.response_files(name, scan),
            "rsync" => self.rsync(scan),
            "sed" => self.sed(name, scan),
            "set" => self.set_options(arguments),
            "shift" => self.shift(arguments),
            "shell" => known.output = self.shell(name, arguments),
            "shopt" => self.shell_options(arguments),
            "source" => known.output = self.source(name, arguments),
            "sqlite" => self.sqlite(name, scan),
            "sysctl" => self.sysctl(arguments),
            "tar" => self.tar(name, arguments),
            "test" => self.test_words(arguments),
            "trap" => known.output = self.trap(arguments),
            "units" => self.units(name, scan),
            "unpack" => self.unpack(scan),
            "unset" => self.unset(arguments),
            "wait" => self.wait_for(arguments),
            "wget" => self.wget(scan),
            "xargs" => {
                known.recorded = false;
                self.xargs(words, scan, invocation);
            }
            _ => self.code_opaque(name),
        }
        known
    }
}
