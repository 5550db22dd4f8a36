//! Line patches a second time, as plainly as their rules can be written down.

use toolgate_tools::patch::{Lp1, Operation, Place};

/// A file the plain way: its lines, whether it ends with a newline, and the newline.
struct File {
    lines: Vec<String>,
    ended: bool,
    newline: &'static str,
}

fn read(text: &str) -> Option<File> {
    let crlf = text.matches("\r\n").count();
    if text.matches('\r').count() != crlf || crlf != 0 && text.matches('\n').count() != crlf {
        return None;
    }
    let newline = if crlf > 0 { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.split(newline).map(str::to_owned).collect();
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    Some(File {
        lines,
        ended: text.ends_with('\n'),
        newline,
    })
}

fn find(lines: &[String], place: &Place) -> Option<usize> {
    let mut places = Vec::new();
    for at in 0..=lines.len() {
        if lines[at..].starts_with(&place.find) {
            places.push(at);
        }
    }
    match place.occurrence {
        None if place.find.is_empty() || places.len() != 1 => None,
        None => places.first().copied(),
        Some(number) => places.get(number - 1).copied(),
    }
}

fn change(file: &mut File, operation: &Operation) -> Option<()> {
    let lines = &mut file.lines;
    match operation {
        Operation::Replace(place, with) => {
            let at = find(lines, place)?;
            lines.splice(at..at + place.find.len(), with.iter().cloned());
        }
        Operation::InsertAfter(place, block) => {
            let at = find(lines, place)? + place.find.len();
            lines.splice(at..at, block.iter().cloned());
        }
        Operation::InsertBefore(place, block) => {
            let at = find(lines, place)?;
            lines.splice(at..at, block.iter().cloned());
        }
        Operation::Erase(place) => {
            let at = find(lines, place)?;
            lines.drain(at..at + place.find.len());
        }
        Operation::Append(block) => lines.extend(block.iter().cloned()),
        Operation::Prepend(block) => {
            lines.splice(0..0, block.iter().cloned());
        }
        Operation::FinalNewline(on) => {
            if *on && lines.is_empty() {
                lines.push(String::new());
            }
            if !*on && file.ended && *lines == [String::new()] {
                lines.clear();
            }
            file.ended = *on;
        }
    }
    Some(())
}

/// What a patch of one file makes of it, if it applies.
pub(crate) fn plainly(patch: &Lp1, name: &str, text: Option<&str>) -> Option<Option<String>> {
    let mut file = None;
    for section in &patch.sections {
        if section.path != name {
            return None;
        }
        for (_, operation) in &section.operations {
            let makes = matches!(operation, Operation::Append(_) | Operation::Prepend(_));
            let seeks = !makes && !matches!(operation, Operation::FinalNewline(_));
            if text.is_none() && (seeks || file.is_none() && !makes) {
                return None;
            }
            if file.is_none() {
                file = Some(read(text.unwrap_or_default())?);
            }
            change(file.as_mut()?, operation)?;
        }
    }
    let Some(file) = file else {
        return Some(text.map(str::to_owned));
    };
    let mut out = file.lines.join(file.newline);
    if file.ended && !file.lines.is_empty() {
        out.push_str(file.newline);
    }
    Some(Some(out))
}
