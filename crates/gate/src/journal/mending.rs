//! How a half-made change of files is brought to an end, by what each file holds.

use std::path::Path;

use super::{FileError, Files, IntendedFile, Recovered, RecoveredFile, Recovery};

/// Which side of the change a file is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    /// The change leaves this file as it is.
    Either,
    /// Neither: the file was changed since.
    Third,
    /// It could not be looked at.
    Unknown,
}

/// A file of a change, as it was found.
pub(super) struct Looked {
    file: IntendedFile,
    side: Side,
    found: Option<String>,
    /// The temporary file is there and holds what the change wanted.
    staged: bool,
    /// Why the file, or the temporary file it waits for, could not be looked at.
    problem: Option<FileError>,
    /// What it held before the change, where that is needed and there.
    pub(super) image: Option<Vec<u8>>,
}

impl Looked {
    /// Looks at a file.
    pub(super) fn at(file: IntendedFile, files: &dyn Files) -> Self {
        look(file, files)
    }

    /// The hash of what it held before the change, if going back needs that.
    pub(super) fn wants_image(&self) -> Option<String> {
        self.file
            .before
            .clone()
            .filter(|_| self.side == Side::After)
    }
}

fn look(file: IntendedFile, files: &dyn Files) -> Looked {
    let (found, mut problem) = match files.sha256(&file.place) {
        Ok(found) => (found, None),
        Err(problem) => (None, Some(problem)),
    };
    let side = match (found == file.before, found == file.after) {
        _ if problem.as_ref().is_some_and(|why| why.something_else) => Side::Third,
        _ if problem.is_some() => Side::Unknown,
        (true, true) => Side::Either,
        (true, false) => Side::Before,
        (false, true) => Side::After,
        (false, false) => Side::Third,
    };
    let staged = match file.staged_beside().map(|staged| files.sha256(&staged)) {
        Some(Ok(staged)) => staged,
        Some(Err(why)) if side == Side::Before && !why.something_else => {
            problem = Some(why);
            None
        }
        Some(Err(_)) | None => None,
    };
    Looked {
        side,
        found,
        staged: staged.is_some() && staged == file.after,
        problem,
        file,
        image: None,
    }
}

/// Decides for all files at once, and does it.
pub(super) fn bring_to_an_end(
    looks: &[Looked],
    files: &dyn Files,
    random: &dyn Fn() -> u128,
) -> Recovery {
    let has = |side| looks.iter().any(|look| look.side == side);
    let mut forward = looks.iter().filter(|look| look.side == Side::Before);
    let mut back = looks.iter();
    let can_go_on = forward.all(|look| look.file.after.is_none() || look.staged);
    let can_go_back = back
        .all(|look| look.side != Side::After || look.file.before.is_none() || look.image.is_some());
    let third = has(Side::Third);
    // Without a look at every file nothing is decided.
    let mut unseen = looks.iter().filter_map(|look| look.problem.clone());
    let hindered = unseen.next().filter(|_| !third);
    let outcome = if third || hindered.is_some() {
        Recovered::LeftAlone
    } else if !has(Side::After) {
        // Nothing was renamed: the change has not happened.
        Recovered::Back
    } else if can_go_on {
        Recovered::Forward
    } else if can_go_back {
        Recovered::Back
    } else {
        Recovered::LeftAlone
    };
    let mut recovery = Recovery {
        outcome,
        files: Vec::with_capacity(looks.len()),
        hindered,
    };
    for look in looks {
        let done = match outcome {
            Recovered::LeftAlone => Ok(left_alone(look)),
            Recovered::Forward => go_on(look, files),
            Recovered::Back => go_back(look, look.image.as_deref(), files, random()),
        };
        let note = done.unwrap_or_else(|problem| {
            // What was done stays done; the next recovery finds it so and goes on from there.
            recovery.outcome = Recovered::LeftAlone;
            let note = format!("could not be mended: {problem}");
            recovery.hindered.get_or_insert(problem);
            note
        });
        recovery.files.push(RecoveredFile {
            path: look.file.path.clone(),
            found: look.found.clone(),
            note,
        });
    }
    recovery
}

fn left_alone(look: &Looked) -> String {
    match (&look.problem, look.side) {
        (Some(problem), _) => format!("cannot be looked at: {problem}; not touched"),
        (None, Side::Third | Side::Unknown) => "holds something else since; not touched".to_owned(),
        (None, Side::Before) => "is as it was before; not touched".to_owned(),
        (None, Side::After | Side::Either) => "is as it was wanted; not touched".to_owned(),
    }
}

fn go_on(look: &Looked, files: &dyn Files) -> Result<String, FileError> {
    if look.side != Side::Before {
        clear(look, files);
        return Ok("was changed already".to_owned());
    }
    still(look, files)?;
    match (&look.file.after, look.file.staged_beside()) {
        (None, _) => files.remove(&look.file.place)?,
        (Some(_), Some(staged)) => files.put_in_place(&staged, &look.file.place)?,
        (Some(_), None) => return Err(FileError::new("its new content is gone")),
    }
    Ok("the change was completed".to_owned())
}

fn go_back(
    look: &Looked,
    image: Option<&[u8]>,
    files: &dyn Files,
    nonce: u128,
) -> Result<String, FileError> {
    let note = if look.side == Side::After {
        still(look, files)?;
        match (&look.file.before, image) {
            (None, _) => files.remove(&look.file.place)?,
            (Some(_), Some(bytes)) => {
                files.restore(&look.file.place, bytes, look.file.mode, nonce)?;
            }
            (Some(_), None) => return Err(FileError::new("its old content is gone")),
        }
        "was put back"
    } else {
        "had not been changed"
    };
    clear(look, files);
    Ok(note.to_owned())
}

/// The file is what it was a moment ago.
fn still(look: &Looked, files: &dyn Files) -> Result<(), FileError> {
    let now = files.sha256(&look.file.place)?;
    if now == look.found {
        return Ok(());
    }
    let place: &Path = &look.file.place;
    Err(FileError::new(format!(
        "{} changed just now",
        place.display()
    )))
}

/// Removes a temporary file that is known to be ours by what it holds.
fn clear(look: &Looked, files: &dyn Files) {
    if let Some(staged) = look.file.staged_beside().filter(|_| look.staged) {
        // One that cannot be removed does no harm.
        let _ = files.remove(&staged);
    }
}
