//! Input within bounds.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use toolgate_app::ArgsText as Input;

use crate::failure::CliError;

/// Input beyond its limit is read on up to this much, so that whoever writes it is not cut off.
const DRAINED: u64 = 1 << 30;

/// Reads everything, keeping at most `limit` bytes in memory.
pub(crate) fn read(reader: &mut dyn Read, limit: usize) -> std::io::Result<Input> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(most).read_to_end(&mut bytes)?;
    if bytes.len() <= limit {
        return Ok(Input::Whole(bytes));
    }
    drop(bytes);
    std::io::copy(&mut reader.take(DRAINED), &mut std::io::sink())?;
    Ok(Input::TooLarge)
}

/// A call's arguments: the words themselves, or standard input for `-`.
pub(crate) fn arguments(words: &OsStr, limit: usize) -> Result<Input, CliError> {
    if words == "-" {
        return read(&mut std::io::stdin().lock(), limit)
            .map_err(|error| CliError::internal(format!("cannot read standard input: {error}")));
    }
    // Bytes that are not UTF-8 are not JSON either; they settle as a bad call.
    Ok(Input::Whole(words.as_encoded_bytes().to_vec()))
}

/// A whole file, or standard input, of at most `limit` bytes.
pub(crate) fn file(path: Option<&Path>, limit: usize) -> Result<Vec<u8>, CliError> {
    let (name, input) = match path.filter(|path| *path != Path::new("-")) {
        None => (
            "standard input".to_owned(),
            read(&mut std::io::stdin().lock(), limit),
        ),
        Some(path) => {
            let opened = std::fs::File::open(path).and_then(|mut file| read(&mut file, limit));
            (path.display().to_string(), opened)
        }
    };
    match input {
        Ok(Input::Whole(bytes)) => Ok(bytes),
        Ok(Input::TooLarge) => Err(CliError::usage(format!(
            "{name}: more than {limit} bytes; split it"
        ))),
        Err(error) => Err(CliError::usage(format!("{name}: {error}"))),
    }
}
