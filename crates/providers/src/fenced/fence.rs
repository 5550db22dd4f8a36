//! Lines that open and close fenced code, read character by character.
//!
//! Both readers get the characters of one line without its end, and say as
//! early as possible that the line is not what it could have been.

/// The most bytes of a line that are held back because it may still open a
/// tool block. A longer line opens another kind of block.
const OPENER_MAX: usize = 1024;

/// The least marks that make a fence.
const FENCE_MIN: usize = 3;

/// The most spaces before a fence; four make an indented code block.
const INDENT_MAX: usize = 3;

const INFO: &str = "tool";

const fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// A run of `` ` `` or `~` that opened a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) len: usize,
}

/// The start of a line that may open a tool block.
#[derive(Debug, Default)]
pub(super) struct Opener {
    held: String,
    stage: OpenerStage,
    indent: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum OpenerStage {
    #[default]
    Indent,
    Run(Fence),
    /// The info string, with how many letters of `tool` have been read.
    Info(Fence, usize),
}

/// What one more character says about a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// It can still open a tool block.
    Open,
    /// It opens nothing.
    Nothing,
    /// It opens no tool block; it opens another one if its info string allows.
    Other(OtherOpener),
}

/// What a line was, once it has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Nothing,
    Other(Fence),
    Tool { fence: Fence, indent: usize },
}

impl Opener {
    /// Everything of the line so far.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn take(&mut self, c: char) -> Opening {
        self.held.push(c);
        match self.stage {
            OpenerStage::Indent if c == ' ' && self.indent < INDENT_MAX => {
                self.indent += 1;
                Opening::Open
            }
            OpenerStage::Indent if matches!(c, '`' | '~') => {
                self.stage = OpenerStage::Run(Fence { mark: c, len: 1 });
                Opening::Open
            }
            OpenerStage::Indent => Opening::Nothing,
            OpenerStage::Run(fence) if c == fence.mark => {
                let fence = Fence {
                    len: fence.len + 1,
                    ..fence
                };
                self.stage = OpenerStage::Run(fence);
                self.unless_too_long(fence, true)
            }
            OpenerStage::Run(fence) if fence.len < FENCE_MIN => Opening::Nothing,
            OpenerStage::Run(fence) => self.take_info(fence, 0, c),
            OpenerStage::Info(fence, letters) => self.take_info(fence, letters, c),
        }
    }

    fn take_info(&mut self, fence: Fence, letters: usize, c: char) -> Opening {
        let letters = match INFO.chars().nth(letters) {
            Some(letter) if c == letter => letters + 1,
            Some(_) if letters > 0 => return Opening::other(fence, c),
            _ if blank(c) => letters,
            _ => return Opening::other(fence, c),
        };
        self.stage = OpenerStage::Info(fence, letters);
        self.unless_too_long(fence, false)
    }

    const fn unless_too_long(&self, fence: Fence, in_run: bool) -> Opening {
        if self.held.len() > OPENER_MAX {
            Opening::Other(OtherOpener { fence, in_run })
        } else {
            Opening::Open
        }
    }

    /// What the line was if it ends here.
    pub(super) fn end(&self) -> Opened {
        match self.stage {
            OpenerStage::Info(fence, letters) if letters == INFO.len() => Opened::Tool {
                fence,
                indent: self.indent,
            },
            OpenerStage::Info(fence, _) => Opened::Other(fence),
            OpenerStage::Run(fence) if fence.len >= FENCE_MIN => Opened::Other(fence),
            OpenerStage::Run(_) | OpenerStage::Indent => Opened::Nothing,
        }
    }
}

impl Opening {
    /// The line's info string is not `tool`, because of this character.
    fn other(fence: Fence, c: char) -> Self {
        let mut other = OtherOpener {
            fence,
            in_run: false,
        };
        if other.take(c) {
            Self::Other(other)
        } else {
            Self::Nothing
        }
    }
}

/// The rest of a line that opens another code block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OtherOpener {
    pub(super) fence: Fence,
    in_run: bool,
}

impl OtherOpener {
    /// Whether the line still opens a block: a backtick after a backtick fence makes it a code span.
    pub(super) const fn take(&mut self, c: char) -> bool {
        let Fence { mark, len } = self.fence;
        if self.in_run && c == mark {
            self.fence.len = len + 1;
            return true;
        }
        self.in_run = false;
        mark != '`' || c != '`'
    }
}

/// A line inside a block that may close it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closer {
    Indent(usize),
    Run(usize),
    Blanks,
    Content,
}

impl Closer {
    /// A line of which nothing has been read.
    pub(super) const NEW: Self = Self::Indent(0);

    pub(super) fn take(&mut self, c: char, fence: Fence) {
        *self = match *self {
            Self::Indent(spaces) if c == ' ' && spaces < INDENT_MAX => Self::Indent(spaces + 1),
            Self::Indent(_) if c == fence.mark => Self::Run(1),
            Self::Run(len) if c == fence.mark => Self::Run(len + 1),
            Self::Run(len) if len >= fence.len && blank(c) => Self::Blanks,
            Self::Blanks if blank(c) => Self::Blanks,
            _ => Self::Content,
        };
    }

    /// Whether the line closes the block if it ends here.
    pub(super) const fn closes(self, fence: Fence) -> bool {
        match self {
            Self::Run(len) => len >= fence.len,
            Self::Blanks => true,
            Self::Indent(_) | Self::Content => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a whole line opens, read as the parser reads it.
    fn opens(line: &str) -> Opened {
        let mut opener = Opener::default();
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match opener.take(c) {
                Opening::Open => {}
                Opening::Nothing => return Opened::Nothing,
                Opening::Other(mut other) => {
                    return if chars.all(|c| other.take(c)) {
                        Opened::Other(other.fence)
                    } else {
                        Opened::Nothing
                    };
                }
            }
        }
        opener.end()
    }

    #[test]
    fn opening_lines_are_told_apart() {
        let tool = |mark, len, indent| Opened::Tool {
            fence: Fence { mark, len },
            indent,
        };
        let other = |mark, len| Opened::Other(Fence { mark, len });
        for (line, expected) in [
            ("```tool", tool('`', 3, 0)),
            ("   ````` \ttool\t ", tool('`', 5, 3)),
            ("~~~tool", tool('~', 3, 0)),
            ("    ```tool", Opened::Nothing),
            ("\t```tool", Opened::Nothing),
            (" \t```tool", Opened::Nothing),
            ("``tool", Opened::Nothing),
            ("~~", Opened::Nothing),
            ("", Opened::Nothing),
            ("  ", Opened::Nothing),
            ("> ```tool", Opened::Nothing),
            ("```", other('`', 3)),
            ("``` ", other('`', 3)),
            ("```to", other('`', 3)),
            ("```to ol", other('`', 3)),
            ("```tools", other('`', 3)),
            ("```Tool", other('`', 3)),
            ("```tool x", other('`', 3)),
            ("```tool\u{a0}", other('`', 3)),
            ("```tool_result", other('`', 3)),
            ("```tool```", Opened::Nothing),
            ("```rust `x`", Opened::Nothing),
            ("``` ``", Opened::Nothing),
            ("~~~ tool `x`~", other('~', 3)),
            ("~~~`tool", other('~', 3)),
            ("```~tool", other('`', 3)),
            ("~~~~rust", other('~', 4)),
        ] {
            assert_eq!(opens(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_line_too_long_to_hold_opens_another_block() {
        let run = "`".repeat(5000);
        let fence = Fence {
            mark: '`',
            len: 5000,
        };
        assert_eq!(opens(&run), Opened::Other(fence));
        assert_eq!(opens(&format!("{run}tool")), Opened::Other(fence));
        assert_eq!(opens(&format!("{run} `")), Opened::Nothing);
        let blanks = format!("```tool{}", " ".repeat(OPENER_MAX));
        assert_eq!(opens(&blanks), Opened::Other(Fence { mark: '`', len: 3 }));
        let just = format!("```tool{}", " ".repeat(OPENER_MAX - 7));
        assert!(matches!(opens(&just), Opened::Tool { .. }));
    }

    #[test]
    fn closing_lines_are_told_from_content() {
        let fence = Fence { mark: '~', len: 4 };
        for (line, expected) in [
            ("~~~~", true),
            ("~~~~~~~", true),
            ("   ~~~~ \t", true),
            ("    ~~~~", false),
            ("\t~~~~", false),
            ("~~~", false),
            ("~~~ ", false),
            ("~~~~x", false),
            ("~~~ ~", false),
            ("~~~~ x", false),
            ("~~~~tool", false),
            ("~~~~ ~~~~", false),
            ("````", false),
            ("x~~~~", false),
            ("", false),
        ] {
            let mut closer = Closer::NEW;
            line.chars().for_each(|c| closer.take(c, fence));
            assert_eq!(closer.closes(fence), expected, "{line:?}");
        }
    }
}
