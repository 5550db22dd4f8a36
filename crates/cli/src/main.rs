//! The program `toolgate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolgate_cli::main(std::env::args_os())
}
