//! Names as the most forgiving file system would read them.
//!
//! Two spellings that some file system takes for the same name must not be treated
//! differently by a rule. So rules look at names in two forms:
//!
//! - *plain*: case folded, characters that some systems ignore taken out;
//! - *forgiving*: the plain form, and `\` separates, `:stream` is cut, trailing
//!   dots and blanks are gone and 8.3 short names are spelled out.
//!
//! A rule that matches either form matches. Keeping both matters: cutting `a:b.pem`
//! at the colon would hide that it ends in `.pem` on a system where the colon
//! is a letter like any other.

use std::borrow::Cow;

use toolgate_model::characters::is_invisible;

use super::lists::short_forms;

/// A path's components in the forms that rules look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folded<'a> {
    plain: Vec<Cow<'a, [u8]>>,
    /// Only there when it differs from the plain form.
    forgiving: Option<Vec<Cow<'a, [u8]>>>,
}

impl<'a> Folded<'a> {
    /// Folds a path that is already split into its components.
    pub(crate) fn of(components: &[&'a [u8]]) -> Self {
        let mut folded = Self {
            plain: Vec::with_capacity(components.len()),
            forgiving: None,
        };
        for name in components {
            folded.push(name);
        }
        folded
    }

    /// Adds one component at the end.
    pub(crate) fn push(&mut self, name: &'a [u8]) {
        let plain = fold_name(name);
        if is_ambiguous(&plain) {
            let before = &self.plain;
            let forgiving = self.forgiving.get_or_insert_with(|| before.clone());
            forgiving.extend(forgiving_parts(&plain).into_iter().map(Cow::Owned));
        } else if let Some(forgiving) = &mut self.forgiving {
            forgiving.push(plain.clone());
        }
        self.plain.push(plain);
    }

    /// This path with one component more.
    pub(crate) fn child<'b>(&'b self, name: &'b [u8]) -> Folded<'b> {
        let borrow = |names: &'b Vec<Cow<'a, [u8]>>| -> Vec<Cow<'b, [u8]>> {
            let mut all = Vec::with_capacity(names.len() + 1);
            all.extend(names.iter().map(|name| Cow::Borrowed(name.as_ref())));
            all
        };
        let mut child = Folded {
            plain: borrow(&self.plain),
            forgiving: self.forgiving.as_ref().map(borrow),
        };
        child.push(name);
        child
    }

    /// The forms a rule has to be tried on.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &[Cow<'a, [u8]>]> {
        std::iter::once(self.plain.as_slice()).chain(self.forgiving.as_deref())
    }

    /// The plain form, if a rule has to be tried on no other.
    pub(crate) fn only_form(&self) -> Option<&[Cow<'a, [u8]>]> {
        self.forgiving.is_none().then_some(self.plain.as_slice())
    }

    /// The same path without a borrow of its source.
    pub(crate) fn into_owned(self) -> Folded<'static> {
        let own = |names: Vec<Cow<'a, [u8]>>| -> Vec<Cow<'static, [u8]>> {
            names
                .into_iter()
                .map(|name| Cow::Owned(name.into_owned()))
                .collect()
        };
        Folded {
            plain: own(self.plain),
            forgiving: self.forgiving.map(own),
        }
    }
}

/// Case-folds one name and takes out what some file systems ignore.
pub(crate) fn fold_name(name: &[u8]) -> Cow<'_, [u8]> {
    // One branch-free pass decides for nearly every real path.
    let unusual = name
        .iter()
        .fold(false, |seen, b| seen | matches!(b, b'A'..=b'Z' | 0x80..));
    if !unusual {
        return Cow::Borrowed(name);
    }
    let mut folded = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            fold_char(c, &mut folded);
        }
        folded.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(folded)
}

/// Appends the folded form of one character.
pub(crate) fn fold_char(c: char, to: &mut Vec<u8>) {
    if c.is_ascii() {
        to.extend(c.to_ascii_lowercase().encode_utf8(&mut [0; 4]).bytes());
        return;
    }
    // A renderer passes over it, and HFS+ lets a lookup do the same.
    if is_invisible(c) {
        return;
    }
    // Down, up and down: the long s becomes s, a small or capital sharp s two of them, the
    // Kelvin sign k. The dotted capital I would leave a combining dot behind.
    if c == '\u{130}' {
        to.push(b'i');
        return;
    }
    let upper = c.to_lowercase().flat_map(char::to_uppercase);
    for folded in upper.flat_map(char::to_lowercase) {
        let mut buffer = [0; 4];
        to.extend_from_slice(folded.encode_utf8(&mut buffer).as_bytes());
    }
}

fn is_blank_or_dot(b: u8) -> bool {
    b == b'.' || b.is_ascii_whitespace()
}

/// Whether the forgiving form of a folded name can differ from the plain one.
pub(crate) fn is_ambiguous(name: &[u8]) -> bool {
    name.last().copied().is_some_and(is_blank_or_dot)
        || name.iter().any(|b| matches!(b, b':' | b'~' | b'\\'))
}

fn forgiving_parts(name: &[u8]) -> Vec<Vec<u8>> {
    name.split(|b| *b == b'\\')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let stream = part.iter().position(|b| *b == b':').filter(|at| *at > 0);
            let whole = stream.and_then(|at| part.get(..at)).unwrap_or(part);
            let end = whole
                .iter()
                .rposition(|b| !is_blank_or_dot(*b))
                .map_or(0, |last| last + 1);
            // Nothing but dots and blanks is a name of its own (`...`).
            let trimmed = whole.get(..end).filter(|t| !t.is_empty()).unwrap_or(whole);
            spelled_out(trimmed).unwrap_or_else(|| trimmed.to_vec())
        })
        .collect()
}

/// The known name that this 8.3 short name can stand for.
fn spelled_out(name: &[u8]) -> Option<Vec<u8>> {
    let tilde = name.iter().position(|b| *b == b'~')?;
    let (stem, rest) = name.split_at(tilde);
    let number = rest.get(1..)?.split(|b| *b == b'.').next()?;
    if stem.is_empty() || number.is_empty() || !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // The hashed forms that NTFS gives when four others came first.
    let hashed: Option<&[u8]> = match stem {
        b"gi7eba" => Some(b".gitmodules"),
        b"gi7d29" => Some(b".gitattributes"),
        _ => None,
    };
    if let Some(known) = hashed {
        return Some(known.to_vec());
    }
    let known = short_forms().get(stem)?;
    Some(fold_name(known.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(path: &str) -> Vec<String> {
        let parts: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        Folded::of(&parts)
            .forms()
            .map(|form| {
                let names: Vec<_> = form.iter().map(|n| String::from_utf8_lossy(n)).collect();
                names.join("/")
            })
            .collect()
    }

    #[test]
    fn spellings_that_some_file_system_confuses_fold_to_one() {
        for (path, folded) in [
            (".git/config", ".git/config"),
            (".GIT/Config", ".git/config"),
            (".g\u{200c}it/config", ".git/config"),
            (".git\u{feff}/con\u{ad}fig", ".git/config"),
            (".\u{17f}sh", ".ssh"),
            (".\u{df}h", ".ssh"),
            ("server.\u{212a}ey", "server.key"),
            ("\u{130}D_RSA", "id_rsa"),
            (".g\u{131}t", ".git"),
            (".e\u{e0065}nv", ".env"),
            (".\u{3164}env\u{ffa0}", ".env"),
            ("\u{115f}.ss\u{1160}h", ".ssh"),
            (".git\u{2800}/config\u{fff9}", ".git/config"),
            ("\u{fb01}le", "file"),
            ("ID_rsa", "id_rsa"),
            ("\u{c4}\u{d6}", "\u{e4}\u{f6}"),
        ] {
            assert_eq!(forms(path), [folded], "{path:?}");
        }
    }

    #[test]
    fn a_name_has_a_plain_and_a_forgiving_form() {
        for (path, plain, forgiving) in [
            (".env.", ".env.", ".env"),
            (".env ", ".env ", ".env"),
            (".env. . ", ".env. . ", ".env"),
            (".env::$DATA", ".env::$data", ".env"),
            ("a:b.pem", "a:b.pem", "a"),
            ("GIT~1/config", "git~1/config", ".git/config"),
            ("x/Ssh~12/id", "x/ssh~12/id", "x/.ssh/id"),
            ("ENV~1.LOC", "env~1.loc", ".env"),
            ("GITMOD~1", "gitmod~1", ".gitmodules"),
            ("gi7eba~1", "gi7eba~1", ".gitmodules"),
            ("GITATT~1", "gitatt~1", ".gitattributes"),
            ("gi7d29~1", "gi7d29~1", ".gitattributes"),
            ("TOOLGA~1.TOM", "toolga~1.tom", ".toolgate"),
            (".git\\config", ".git\\config", ".git/config"),
            ("...", "...", "..."),
            ("~backup.txt", "~backup.txt", "~backup.txt"),
            ("a~b", "a~b", "a~b"),
            ("git~", "git~", "git~"),
            ("git~x", "git~x", "git~x"),
            ("~1", "~1", "~1"),
            (":git", ":git", ":git"),
        ] {
            assert_eq!(forms(path), [plain, forgiving], "{path:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_stay_as_they_are() {
        assert_eq!(fold_name(b"A\xff\xfeB").as_ref(), b"a\xff\xfeb");
    }
}
