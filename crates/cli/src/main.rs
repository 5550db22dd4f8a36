//! The program `toolgate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this program is also the warden that makes commands' processes.
    toolgate_app::init();
    toolgate_cli::main(std::env::args_os())
}
