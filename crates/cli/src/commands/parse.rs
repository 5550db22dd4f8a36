//! `toolgate parse`: calls out of a recorded answer.

use std::path::Path;

use toolgate_app::answers;

use crate::args::ParseFormat;
use crate::failure::CliError;
use crate::input;
use crate::out::Out;

/// The most bytes of an answer.
const INPUT: usize = 64 * 1024 * 1024;

pub(crate) fn run(out: &Out, file: Option<&Path>, format: ParseFormat) -> Result<u8, CliError> {
    let bytes = input::file(file, INPUT)?;
    let read = answers::read(&bytes, format.into());
    for line in &read.lines {
        out.json_line(line)?;
    }
    Ok(u8::from(!read.is_sound))
}
