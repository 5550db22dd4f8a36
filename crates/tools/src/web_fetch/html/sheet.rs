//! The text being written: words, blanks and lines.
//!
//! Blanks and line ends are owed until a word follows, so none stands at an end, and what
//! is opened around nothing never appears.

/// Deeper quotes and lists are not indented further, or lines would be nothing but indent.
const DEEPEST: usize = 16;

/// What stands at the start of lines.
#[derive(Clone, Debug)]
struct Indent {
    /// On the first line, until it has been written.
    first: Option<String>,
    /// On the others.
    rest: String,
}

/// A text that grows.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) text: String,
    /// Whether there was more than there is room for.
    pub(super) cut: bool,
    most: usize,
    /// Line ends that are owed before the next word.
    owed: usize,
    /// Whether a blank is owed before the next word of the line.
    blank: bool,
    /// The mark of the line that is owed before the next word, such as that of a heading.
    line_mark: Option<String>,
    /// Marks that are owed before the next word, such as those of emphasis.
    marks: Vec<String>,
    indents: Vec<Indent>,
    /// Indents that were asked for beyond the deepest.
    deeper: usize,
    /// How many enclosing parts have to stay on one line.
    single: usize,
}

impl Sheet {
    pub(super) fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            cut: false,
            most,
            owed: 0,
            blank: false,
            line_mark: None,
            marks: Vec::new(),
            indents: Vec::new(),
            deeper: 0,
            single: 0,
        }
    }

    /// Starts a new line before the next word; with two, leaves one free.
    pub(super) fn lines(&mut self, count: usize) {
        if self.single > 0 {
            self.blank = true;
            return;
        }
        // What stands in an item starts beside its mark.
        if self.indents.iter().any(|indent| indent.first.is_some()) {
            return;
        }
        self.owed = self.owed.max(count);
    }

    /// Text in which blanks and line ends are all one blank.
    pub(super) fn flowing(&mut self, text: &str) {
        let is_blank = |c: char| c.is_ascii_whitespace() || c == '\u{a0}';
        if text.starts_with(is_blank) {
            self.blank = true;
        }
        let mut words = text
            .split(is_blank)
            .filter(|word| !word.is_empty())
            .peekable();
        while let Some(word) = words.next() {
            self.word(word);
            if words.peek().is_some() {
                self.blank = true;
            }
        }
        if text.ends_with(is_blank) {
            self.blank = true;
        }
    }

    /// A piece of text as it is, on the line where the last one ended.
    pub(super) fn word(&mut self, word: &str) {
        self.catch_up();
        self.push(word);
    }

    /// Text whose blanks and lines count.
    pub(super) fn literal(&mut self, text: &str) {
        if self.single > 0 {
            self.flowing(text);
            return;
        }
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.owed = 0;
                self.push("\n");
                self.start_line();
            } else {
                self.catch_up();
            }
            self.push(line.strip_suffix('\r').unwrap_or(line));
        }
    }

    /// A mark that appears once something follows. Whoever opened it closes it with [`Sheet::close`].
    pub(super) fn open(&mut self, mark: impl Into<String>) {
        self.marks.push(mark.into());
    }

    /// Closes the last mark that was opened. Says whether there was anything in it.
    pub(super) fn close(&mut self, mark: &str) -> bool {
        if self.marks.pop().is_some() {
            return false;
        }
        self.push(mark);
        true
    }

    /// Marks the line on which the next word stands; `None` if no word came.
    pub(super) fn mark_line(&mut self, mark: Option<String>) {
        self.line_mark = mark;
    }

    /// Indents what follows.
    pub(super) fn indent(&mut self, first: &str, rest: &str) {
        if self.indents.len() >= DEEPEST {
            self.deeper += 1;
            return;
        }
        self.indents.push(Indent {
            first: Some(first.to_owned()),
            rest: rest.to_owned(),
        });
    }

    /// Ends the last indent.
    pub(super) fn outdent(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else {
            self.indents.pop();
        }
    }

    /// Keeps what follows on one line.
    pub(super) fn one_line(&mut self) {
        self.single += 1;
    }

    /// Ends that.
    pub(super) fn end_one_line(&mut self) {
        self.single = self.single.saturating_sub(1);
    }

    /// Puts a blank before the next word of the line.
    pub(super) fn owe_blank(&mut self) {
        self.blank = true;
    }

    /// Forgets a blank that is owed.
    pub(super) fn no_blank(&mut self) {
        self.blank = false;
    }

    fn catch_up(&mut self) {
        if self.text.is_empty() {
            self.owed = 0;
            self.start_line();
        } else if self.owed > 0 {
            for free in 0..self.owed {
                if free > 0 {
                    self.free_line();
                }
                self.push("\n");
            }
            self.owed = 0;
            self.start_line();
        } else if self.blank && !self.text.ends_with(' ') {
            self.push(" ");
        }
        self.blank = false;
        if let Some(mark) = self.line_mark.take() {
            self.push(&mark);
        }
        for mark in std::mem::take(&mut self.marks) {
            self.push(&mark);
        }
    }

    /// Writes what stands on a line that is left free: the indents that have begun.
    fn free_line(&mut self) {
        let begun = self
            .indents
            .iter()
            .take_while(|indent| indent.first.is_none());
        let start: String = begun.map(|indent| indent.rest.as_str()).collect();
        self.push(start.trim_end());
    }

    /// Writes what stands at the start of a line.
    fn start_line(&mut self) {
        self.blank = false;
        let mut start = String::new();
        for indent in &mut self.indents {
            start.push_str(&indent.first.take().unwrap_or_else(|| indent.rest.clone()));
        }
        self.push(&start);
    }

    fn push(&mut self, text: &str) {
        if self.cut {
            return;
        }
        let room = self.most.saturating_sub(self.text.len());
        if text.len() > room {
            self.cut = true;
        }
        let end = text.floor_char_boundary(room);
        self.text.push_str(text.get(..end).unwrap_or_default());
    }
}
