//! The tree of a shell line, as the parser hands it to the walk.
//!
//! Nothing here is resolved: a [`Word`] is still made of the parts it was
//! written in, because what a part becomes depends on where the walk meets it.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

/// What stopped the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxError {
    /// Something that the grammar does not have at this place.
    Unexpected {
        /// What stands there.
        found: String,
        /// Where, in bytes.
        at: usize,
    },
    /// A quote, bracket or keyword that is never closed.
    Unclosed {
        /// What was opened.
        what: &'static str,
        /// Where, in bytes.
        at: usize,
    },
    /// Nested deeper than the parser follows.
    TooDeep,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { found, at } => write!(f, "unexpected `{found}` at byte {at}"),
            Self::Unclosed { what, at } => {
                write!(f, "the {what} opened at byte {at} is not closed")
            }
            Self::TooDeep => f.write_str("nested too deeply"),
        }
    }
}

/// A list of commands: a whole line, or what stands inside brackets.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
    /// Why the rest could not be read. A shell still runs what came before.
    pub(crate) faults: Vec<SyntaxError>,
}

/// One entry of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) node: Node,
    pub(crate) background: bool,
}

/// `&&` or `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Junction {
    And,
    Or,
}

/// A command of any kind.
#[derive(Debug)]
pub(crate) enum Node {
    Simple(Simple),
    Pipeline(Vec<Node>),
    Chain {
        first: Box<Node>,
        rest: Vec<(Junction, Node)>,
    },
    Compound {
        body: Box<Compound>,
        redirects: Vec<Redirect>,
    },
    Function {
        name: String,
        body: Rc<Node>,
    },
    Coprocess(Box<Node>),
}

impl Node {
    /// Adds a redirection behind those that are there.
    pub(crate) fn redirect(&mut self, redirect: Redirect) {
        match self {
            Self::Simple(simple) => simple.redirects.push(redirect),
            Self::Compound { redirects, .. } => redirects.push(redirect),
            Self::Pipeline(_) | Self::Chain { .. } | Self::Function { .. } | Self::Coprocess(_) => {
            }
        }
    }
}

/// The commands that have a closing word of their own.
#[derive(Debug)]
pub(crate) enum Compound {
    Group(Script),
    Subshell(Script),
    If {
        arms: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    While {
        condition: Script,
        body: Script,
        until: bool,
    },
    For {
        variable: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    ForArithmetic {
        header: Vec<Part>,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<Arm>,
    },
    Test(Vec<Word>),
    Arithmetic(Vec<Part>),
}

/// One way of a `case`.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: Script,
    /// `;&` or `;;&`: what it leaves behind reaches later arms.
    pub(crate) falls: bool,
}

/// Assignments, words and redirections up to an operator.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// `name=value`, before a command or alone.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    /// An element of an array, or a whole one: kept out of the variables the walk follows.
    pub(crate) array: bool,
    /// The index of an element: arithmetic.
    pub(crate) subscript: Option<Word>,
    /// One word, or the elements of an array.
    pub(crate) values: Vec<Word>,
}

/// How a redirection opens its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    Append,
    ReadWrite,
    /// `>&` and `<&`: a descriptor, or (for `>&`) a file.
    Duplicate {
        output: bool,
    },
    /// `&>` and `&>>`.
    Both,
    HereDocument,
    HereString,
}

/// One redirection.
#[derive(Debug)]
pub(crate) struct Redirect {
    /// The descriptor written before the operator, if there is one.
    pub(crate) descriptor: Option<String>,
    pub(crate) kind: RedirectKind,
    pub(crate) target: Target,
}

/// What stands behind a redirection's operator.
#[derive(Debug)]
pub(crate) enum Target {
    Word(Word),
    /// The body stands after the line that announces it, so it is filled in later.
    Document(Rc<OnceCell<Word>>),
}

/// One word as it was written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    pub(crate) raw: String,
}

/// A piece of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Plain text in which `*`, `{`, `~` still mean something.
    Text(String),
    /// Text that means only itself.
    Quoted(String),
    /// `$name` and `${…}`.
    Parameter(Rc<Parameter>),
    /// `$(…)` and backquotes.
    Command { script: Rc<Script>, quoted: bool },
    /// `$((…))`, with the expansions inside it.
    Arithmetic(Vec<Part>),
    /// `<(…)` and `>(…)`.
    Process { script: Rc<Script>, output: bool },
    /// Something the shell understands and this parser does not look into.
    Odd(String),
}

/// `$name` or `${name…}`.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The index between brackets: arithmetic, as every index.
    pub(crate) subscript: Option<Word>,
    pub(crate) operation: Operation,
    pub(crate) quoted: bool,
}

/// What `${…}` does with the value.
#[derive(Debug)]
pub(crate) enum Operation {
    Plain,
    Length,
    /// `:-`, `-`, `:=`, `=`.
    Default {
        word: Word,
        assign: bool,
        /// An empty value counts as none.
        colon: bool,
    },
    /// `:+`, `+`.
    Alternative {
        word: Word,
        colon: bool,
    },
    /// `:?`, `?`: the shell stops where the value is missing.
    Require(Word),
    TrimStart {
        pattern: Word,
        longest: bool,
    },
    TrimEnd {
        pattern: Word,
        longest: bool,
    },
    Replace {
        pattern: Word,
        with: Word,
        all: bool,
    },
    Slice {
        offset: Word,
        length: Option<Word>,
    },
    Case {
        upper: bool,
        all: bool,
    },
    /// Indirection (`!`), transformations (`@`) and the rest.
    Other {
        kind: u8,
        words: Vec<Word>,
    },
}
