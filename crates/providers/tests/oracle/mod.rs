//! A second reading of the format, to hold the parser against: whole text at
//! once, line by line, with nothing in common with the parser but the rules.

/// A part of a text; the parts of a text, put together, are the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// The part as it stands in the text.
    pub(crate) raw: &'a str,
    /// Nothing for text; the block for a tool block.
    pub(crate) block: Option<Block>,
}

/// A fenced code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The info string without blanks around it.
    pub(crate) info: String,
    /// What stands between the fences, without the last line end.
    pub(crate) content: String,
    /// Whether the text closes it.
    pub(crate) closed: bool,
}

/// Text, and the fenced code blocks with this info string.
pub(crate) fn parts<'a>(text: &'a str, info: &str) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut at = 0;
    let mut lines = lines(text).into_iter().peekable();
    while let Some(line) = lines.next() {
        let start = at;
        at += line.len();
        let Some(fence) = opening(line) else {
            parts.push(Part {
                raw: &text[start..at],
                block: None,
            });
            continue;
        };
        let mut content = Vec::new();
        let mut closed = false;
        for line in lines.by_ref() {
            at += line.len();
            closed = closes(line, &fence);
            if closed {
                break;
            }
            let spaces = line.len() - line.trim_start_matches(' ').len();
            content.push(&line[spaces.min(fence.indent)..]);
        }
        let mut content = content.concat();
        if closed {
            content.truncate(bare(&content).len());
        }
        // A line that is held back for too long is another block's.
        let wanted = fence.info == info && (info != "tool" || fence.line_len <= 1024);
        let block = wanted.then_some(Block {
            info: fence.info,
            content,
            closed,
        });
        parts.push(Part {
            raw: &text[start..at],
            block,
        });
    }
    parts
}

struct Fence {
    indent: usize,
    marks: String,
    info: String,
    line_len: usize,
}

fn opening(line: &str) -> Option<Fence> {
    let line = bare(line);
    let unindented = line.trim_start_matches(' ');
    let indent = line.len() - unindented.len();
    let mark = unindented.chars().next().filter(|c| "`~".contains(*c))?;
    let info = unindented.trim_start_matches(mark);
    let marks = &unindented[..unindented.len() - info.len()];
    let code_span = mark == '`' && info.contains('`');
    (indent <= 3 && marks.len() >= 3 && !code_span).then(|| Fence {
        indent,
        marks: marks.to_owned(),
        info: info.trim_matches([' ', '\t']).to_owned(),
        line_len: line.len(),
    })
}

fn closes(line: &str, fence: &Fence) -> bool {
    let line = bare(line).trim_end_matches([' ', '\t']);
    let marks = line.trim_start_matches(' ');
    let indent = line.len() - marks.len();
    indent <= 3
        && marks.starts_with(&fence.marks)
        && marks.trim_start_matches(&fence.marks[..1]).is_empty()
}

/// A line, or the last line of a text, without its line end.
fn bare(line: &str) -> &str {
    let ends = ["\r\n", "\n", "\r"];
    let stripped = ends.iter().find_map(|end| line.strip_suffix(end));
    stripped.unwrap_or(line)
}

/// Lines with their ends: LF, CR LF, or a lone CR.
fn lines(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut lines, mut start) = (Vec::new(), 0);
    for (at, byte) in bytes.iter().enumerate() {
        let crlf = *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n');
        if *byte == b'\n' || (*byte == b'\r' && !crlf) {
            lines.push(&text[start..=at]);
            start = at + 1;
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}
