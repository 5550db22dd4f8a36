//! Where to look, and which rule to ask there.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use toolgate_redact::{KnownValues, Prefixes};

use super::assignment::{self, KEYWORDS};
use super::cursor::{Cursor, NeedMore};
use super::scan::Secret;
use super::shapes::{self, SHAPES, Shape};
use super::{MIN_ENV_VALUE_CHARS, RedactorError, SecretClass, pem};

/// Longer values of variables are looked for in pieces of this size, so that nothing
/// has to be kept back for longer than a piece.
const PIECE_BYTES: usize = 256;

/// Variables that are never secret and whose values are found all over any output.
const NEVER_SECRET: &[&str] = &[
    "COLORTERM",
    "DISPLAY",
    "EDITOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
];

/// The rule for what begins in a certain way.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Token(&'static Shape),
    Jwt,
    PrivateKey,
    UrlPassword,
    Authorization,
    Bearer,
    Assignment(&'static str),
}

/// A place where a secret may begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its offset.
    pub(super) start: usize,
    found: Beginning,
}

#[derive(Debug, Clone, Copy)]
enum Beginning {
    Rule(Rule),
    /// The value of a variable, of this length.
    Value(usize),
}

/// The variable that a value belongs to. Credentials sort first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Variable {
    /// Whether it names something, such as a profile, and holds no credential.
    pub(super) is_ordinary: bool,
    pub(super) name: String,
}

/// All rules, and the automata that find where to ask them.
#[derive(Debug)]
pub(super) struct Rules {
    beginnings: Vec<Rule>,
    find_beginnings: AhoCorasick,
    prefixes: Prefixes,
    values: KnownValues,
    /// The variable of each of these values.
    variables: Vec<Variable>,
}

impl Rules {
    pub(super) fn new<N, V>(env: impl IntoIterator<Item = (N, V)>) -> Result<Self, RedactorError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let table = beginnings();
        // Two spellings of a keyword are one; where case matters, the rule looks.
        let find_beginnings = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(table.iter().map(|(text, _)| *text))
            .map_err(RedactorError::NoShapes)?;
        let prefixes = table.iter().map(|(text, _)| text.to_ascii_lowercase());
        let prefixes = Prefixes::new(prefixes.collect());
        let (variables, values): (Vec<Variable>, Vec<String>) = secrets(env).into_iter().unzip();
        Ok(Self {
            beginnings: table.into_iter().map(|(_, rule)| rule).collect(),
            find_beginnings,
            prefixes,
            values: KnownValues::in_pieces(values, PIECE_BYTES)?,
            variables,
        })
    }

    /// The places in `text` where a secret may begin, from left to right.
    pub(super) fn places(&self, text: &str) -> Vec<Place> {
        let by_shape = self
            .find_beginnings
            .find_overlapping_iter(text)
            .filter_map(|hit| {
                let rule = *self.beginnings.get(hit.pattern().as_usize())?;
                Some(Place {
                    start: hit.start(),
                    found: Beginning::Rule(rule),
                })
            });
        let by_value = self.values.found(text).map(|hit| Place {
            start: hit.start,
            found: Beginning::Value(hit.end - hit.start),
        });
        let mut places: Vec<Place> = by_shape.chain(by_value).collect();
        places.sort_by_key(|place| place.start);
        places
    }

    /// Where the values of variables stand in `text`, by their starts, with the variable of each.
    pub(super) fn values(&self, text: &str) -> Vec<(usize, usize, &Variable)> {
        let hits = self.values.found(text);
        let mut found: Vec<(usize, usize, &Variable)> = hits
            .filter_map(|hit| Some((hit.start, hit.end, self.variables.get(hit.value)?)))
            .collect();
        found.sort_unstable();
        found
    }

    /// Asks the rule of a place.
    pub(super) fn judge(
        &self,
        place: Place,
        cursor: Cursor<'_>,
    ) -> Result<Option<Secret>, NeedMore> {
        let rule = match place.found {
            Beginning::Rule(rule) => rule,
            Beginning::Value(len) => {
                return Ok(Some(Secret {
                    start: 0,
                    end: len,
                    class: SecretClass::Env,
                    tail: None,
                }));
            }
        };
        match rule {
            Rule::Token(shape) => shapes::token(shape, cursor),
            Rule::Jwt => shapes::jwt(cursor),
            Rule::PrivateKey => pem::private_key(cursor),
            Rule::UrlPassword => shapes::url_password(cursor),
            Rule::Authorization => shapes::authorization(cursor),
            Rule::Bearer => shapes::bearer(cursor),
            Rule::Assignment(keyword) => assignment::assignment(keyword, cursor),
        }
    }

    /// The offset from which on `text` may be the cut-off start of something that
    /// would have been found.
    pub(super) fn cut_off(&self, text: &str) -> usize {
        let longest = text.len().saturating_sub(self.prefixes.longest());
        let start = text.ceil_char_boundary(longest);
        let lower = text.get(start..).unwrap_or_default().to_ascii_lowercase();
        let beginning = start + self.prefixes.cut_off(&lower);
        beginning.min(self.values.cut_off(text))
    }
}

fn beginnings() -> Vec<(&'static str, Rule)> {
    let mut table = vec![
        (shapes::JWT, Rule::Jwt),
        (pem::BEGIN, Rule::PrivateKey),
        (shapes::URL, Rule::UrlPassword),
        (shapes::AUTHORIZATION, Rule::Authorization),
        (shapes::BEARER, Rule::Bearer),
    ];
    table.extend(
        SHAPES
            .iter()
            .map(|shape| (shape.prefix, Rule::Token(shape))),
    );
    table.extend(
        KEYWORDS
            .iter()
            .map(|&keyword| (keyword, Rule::Assignment(keyword))),
    );
    table
}

/// The values to look for. Credentials come first: a value that is one of one variable is one
/// wherever it comes from.
fn secrets<N, V>(env: impl IntoIterator<Item = (N, V)>) -> Vec<(Variable, String)>
where
    N: AsRef<str>,
    V: AsRef<str>,
{
    let mut secrets = Vec::new();
    for (name, value) in env {
        let (name, value) = (name.as_ref(), value.as_ref().trim());
        let common = NEVER_SECRET.iter().any(|n| n.eq_ignore_ascii_case(name));
        if common || value.chars().count() < MIN_ENV_VALUE_CHARS {
            continue;
        }
        let variable = Variable {
            is_ordinary: is_ordinary(name),
            name: name.to_owned(),
        };
        secrets.push((variable, value.to_owned()));
    }
    secrets.sort_unstable();
    secrets
}

/// Words in names of variables that hold credentials.
const CREDENTIALS: [&str; 8] = [
    "KEY", "TOKEN", "SECRET", "PASS", "PWD", "CRED", "AUTH", "COOKIE",
];

/// Last words in names of variables that name a thing: a profile, a project, a file.
const NAMES: [&str; 14] = [
    "PROFILE",
    "PROJECT",
    "PROJECT_ID",
    "REGION",
    "ZONE",
    "ACCOUNT",
    "ACCOUNT_ID",
    "USER",
    "EMAIL",
    "HOST",
    "ENDPOINT",
    "FILE",
    "DIR",
    "NAME",
];

/// Whether a variable names something that a command may be about.
fn is_ordinary(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = |word: &&str| {
        let before = name.strip_suffix(*word);
        before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    NAMES.iter().any(ends) && !CREDENTIALS.iter().any(|word| name.contains(word))
}
