//! Laws of patches: what was made from two texts leads from one to the other.

use std::process::{Command, Stdio};

use proptest::prelude::*;
use serde_json::json;
use similar::{Algorithm, DiffTag, TextDiff, capture_diff_slices};
use tempfile::TempDir;
use toolgate_tools::patch::Patch;

use crate::file_laws::hold;
use crate::fixture::Workspace;

/// Two texts: lines, some of them changed, and whether each ends with a newline.
fn pairs(line: &'static str) -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    let lines = prop::collection::vec(line, 0..16);
    let changes = prop::collection::vec(
        (0_usize..18, 0_usize..4, prop::collection::vec(line, 0..3)),
        0..4,
    );
    (lines, changes).prop_map(|(old, changes)| {
        let mut new = old.clone();
        for (at, gone, come) in changes {
            let at = at.min(new.len());
            let end = (at + gone).min(new.len());
            new.splice(at..end, come);
        }
        (old, new)
    })
}

/// How a file stands on disk.
#[derive(Clone, Copy, Debug)]
struct Form {
    crlf: bool,
    mark: bool,
    old_final: bool,
    new_final: bool,
}

fn forms() -> impl Strategy<Value = Form> {
    any::<(bool, bool, bool, bool)>().prop_map(|(crlf, mark, old_final, new_final)| Form {
        crlf,
        mark,
        old_final,
        new_final,
    })
}

impl Form {
    /// The text of these lines. Lines that are empty at an open end cannot be told from none.
    fn text(self, lines: &[String], ended: bool) -> String {
        let end = if self.crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(end);
        if ended && !lines.is_empty() {
            text.push_str(end);
        }
        text
    }

    fn bytes(self, text: &str) -> Vec<u8> {
        let mark = if self.mark { "\u{feff}" } else { "" };
        format!("{mark}{text}").into_bytes()
    }
}

fn lead(
    ws: &Workspace,
    path: &str,
    form: Form,
    old: &str,
    new: &str,
    patch: &str,
) -> Result<(), TestCaseError> {
    ws.put(path, form.bytes(old));
    ws.read(path);
    let result = ws.call("apply_patch", json!({"patch": patch}));
    prop_assert_eq!(result.error, None, "{}", patch);
    prop_assert_eq!(ws.get(path), form.bytes(new), "{}", patch);
    Ok(())
}

/// A line patch that exchanges what differs, the last first, each place by its number.
fn line_patch(path: &str, old: &[String], new: &[String], ended: bool) -> String {
    let block = |lines: &[String]| -> String {
        let stuffed = lines.iter().map(|line| {
            let dot = if line.starts_with('.') { "." } else { "" };
            format!("{dot}{line}\n")
        });
        stuffed.collect::<String>() + ".\n"
    };
    let mut text = format!("LP1\n# made from two texts\nF {path}\n");
    for op in capture_diff_slices(Algorithm::Myers, old, new)
        .into_iter()
        .rev()
    {
        let (gone, come) = (op.old_range(), op.new_range());
        if op.tag() == DiffTag::Equal {
            continue;
        }
        if gone.is_empty() {
            text += &if gone.start == 0 {
                format!("B\n{}", block(&new[come]))
            } else if gone.start == old.len() {
                format!("T\n{}", block(&new[come]))
            } else {
                format!("P {}\n.\n{}", gone.start + 1, block(&new[come]))
            };
            continue;
        }
        let wanted = &old[gone.clone()];
        let places = (0..=gone.start)
            .filter(|at| old[*at..].starts_with(wanted))
            .count();
        text += &if come.is_empty() {
            format!("E {places}\n{}", block(wanted))
        } else {
            format!("R {places}\n{}{}", block(wanted), block(&new[come]))
        };
    }
    if !new.is_empty() {
        text += if ended { "N +\n" } else { "N -\n" };
    }
    text + "END\n"
}

#[test]
fn a_line_patch_made_from_two_texts_leads_from_one_to_the_other() {
    let strategy = (pairs("[ab.# ]{0,2}"), forms());
    hold(strategy, |ws, directory, ((old, new), form)| {
        // An open end after an empty line is a final newline.
        let open =
            |lines: &[String], ended: bool| ended || lines.last().is_some_and(String::is_empty);
        let (old_ended, new_ended) = (open(&old, form.old_final), open(&new, form.new_final));
        let path = format!("{directory}/f.txt");
        let patch = line_patch(&path, &old, &new, new_ended);
        // Nothing to find out about line endings from: such a file counts as LF.
        let crlf = form.crlf && form.text(&old, old_ended).contains('\n');
        let form = Form { crlf, ..form };
        lead(
            ws,
            &path,
            form,
            &form.text(&old, old_ended),
            &form.text(&new, new_ended),
            &patch,
        )
    });
}

#[test]
fn an_envelope_made_from_two_texts_leads_from_one_to_the_other() {
    let strategy = (pairs("[ab ]{0,2}"), forms());
    hold(strategy, |ws, directory, ((old, new), form)| {
        // The envelope says nothing about the last newline: it stays.
        let ended = form.old_final
            || [&old, &new]
                .iter()
                .any(|lines| lines.last().is_none_or(String::is_empty));
        if old == new || old.is_empty() && !ended {
            return Ok(());
        }
        let crlf = form.crlf && form.text(&old, ended).contains('\n');
        let form = Form { crlf, ..form };
        let path = format!("{directory}/f.txt");
        let mut patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n");
        for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
            let sign = |sign: char, lines: &[String]| -> String {
                lines.iter().map(|line| format!("{sign}{line}\n")).collect()
            };
            patch += &match op.tag() {
                DiffTag::Equal => sign(' ', &old[op.old_range()]),
                _ => sign('-', &old[op.old_range()]) + &sign('+', &new[op.new_range()]),
            };
        }
        patch += "*** End Patch\n";
        lead(
            ws,
            &path,
            form,
            &form.text(&old, ended),
            &form.text(&new, ended),
            &patch,
        )
    });
}

#[test]
fn an_envelope_with_little_context_finds_its_places() {
    let strategy = (
        prop::collection::btree_set("[a-z]{3}", 1..20),
        prop::collection::btree_set(0_usize..20, 1..4),
    );
    hold(strategy, |ws, directory, (lines, changed)| {
        let lines: Vec<String> = lines.into_iter().collect();
        let path = format!("{directory}/f.txt");
        let mut new = lines.clone();
        let mut patch = format!("*** Begin Patch\n*** Update File: {path}\n");
        for at in changed.into_iter().filter(|at| *at < lines.len()) {
            new[at] = format!("new {at}");
            patch += &format!("@@\n-{}\n+new {at}\n", lines[at]);
        }
        if new == lines {
            return Ok(());
        }
        patch += "*** End Patch\n";
        let form = Form {
            crlf: false,
            mark: false,
            old_final: true,
            new_final: true,
        };
        lead(
            ws,
            &path,
            form,
            &form.text(&lines, true),
            &form.text(&new, true),
            &patch,
        )
    });
}

/// Texts of any line endings, mixed ones too.
fn mixed() -> impl Strategy<Value = (String, String)> {
    pairs("[ab ]{0,2}(\r)?").prop_flat_map(|(old, new)| {
        (any::<(bool, bool)>(), Just((old, new))).prop_map(|((left, right), (old, new))| {
            let text = |lines: &[String], ended: bool| {
                let mut text = lines.join("\n");
                if ended && !lines.is_empty() {
                    text.push('\n');
                }
                text
            };
            (text(&old, left), text(&new, right))
        })
    })
}

#[test]
fn a_unified_diff_made_from_two_texts_leads_from_one_to_the_other() {
    let strategy = (mixed(), 1_usize..5, any::<bool>());
    hold(strategy, |ws, directory, ((old, new), context, mark)| {
        // The program that makes the diff takes a last carriage return for a newline.
        if old == new || old.ends_with('\r') || new.ends_with('\r') {
            return Ok(());
        }
        let path = format!("{directory}/f.txt");
        let diff = TextDiff::from_lines(&old, &new);
        let mut unified = diff.unified_diff();
        let patch = unified
            .context_radius(context)
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_string();
        let form = Form {
            crlf: false,
            mark,
            old_final: true,
            new_final: true,
        };
        lead(ws, &path, form, &old, &new, &patch)
    });
}

/// Two directories with a program that compares and applies.
struct Git {
    directory: TempDir,
}

impl Git {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        for name in ["a", "b", "apply"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    fn run(&self, directory: &str, args: &[&str], input: &str) -> (bool, Vec<u8>) {
        use std::io::Write;
        let mut child = Command::new("git")
            .args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"])
            .args(args)
            .current_dir(self.directory.path().join(directory))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CEILING_DIRECTORIES", self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("git is needed for this test");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.success(), output.stdout)
    }

    /// The diff of two texts.
    fn diff(&self, old: &str, new: &str, context: usize) -> String {
        std::fs::write(self.directory.path().join("a/f.txt"), old).unwrap();
        std::fs::write(self.directory.path().join("b/f.txt"), new).unwrap();
        let context = format!("-U{context}");
        let args = [
            "diff",
            "--no-index",
            "--no-prefix",
            "--text",
            &context,
            "a/f.txt",
            "b/f.txt",
        ];
        String::from_utf8(self.run(".", &args, "").1).unwrap()
    }

    /// What git makes of a text with a patch, if it takes it.
    fn apply(&self, text: &str, patch: &str) -> Option<Vec<u8>> {
        let file = self.directory.path().join("apply/f.txt");
        std::fs::write(&file, text).unwrap();
        let (taken, _) = self.run("apply", &["apply", "--whitespace=nowarn", "-"], patch);
        taken.then(|| std::fs::read(file).unwrap())
    }
}

#[test]
fn unified_diffs_do_what_git_does_with_them() {
    let git = Git::new();
    // Lines that are all different, so that there is one place for everything.
    let distinct = (
        prop::collection::btree_set("[a-z]{3}", 2..14),
        prop::collection::vec(
            (
                0_usize..14,
                0_usize..3,
                prop::collection::vec("[0-9]{4}", 0..3),
            ),
            1..4,
        ),
        any::<(bool, bool)>(),
    )
        .prop_map(|(lines, changes, (left, right))| {
            let old: Vec<String> = lines.into_iter().collect();
            let mut new = old.clone();
            for (at, gone, come) in changes {
                let at = at.min(new.len());
                let end = (at + gone).min(new.len());
                new.splice(at..end, come);
            }
            let form = Form {
                crlf: false,
                mark: false,
                old_final: left,
                new_final: right,
            };
            (form.text(&old, left), form.text(&new, right))
        });
    let strategy = (
        prop_oneof![mixed(), distinct.clone()],
        distinct,
        1_usize..4,
        prop::collection::vec("[A-Z]{4}", 1..6),
    );
    let compared = std::cell::Cell::new((0, 0));
    hold(
        strategy,
        |ws, directory, ((old, new), (apart, other), context, above)| {
            let path = format!("{directory}/f.txt");
            let ours = |text: &str, patch: &str| {
                ws.put(&path, text);
                ws.read(&path);
                let patch = patch.replace("f.txt", &path);
                let result = ws.call("apply_patch", json!({"patch": patch}));
                result.error.is_none().then(|| ws.get(&path))
            };
            let (mut exact, mut moved) = compared.get();
            if old != new {
                let patch = git.diff(&old, &new, context);
                let theirs = git.apply(&old, &patch);
                prop_assert_eq!(theirs.as_deref(), Some(new.as_bytes()), "{}", patch);
                prop_assert_eq!(ours(&old, &patch), theirs, "{}", patch);
                exact += 1;
            }
            // The same change where the lines have moved meanwhile.
            if apart != other {
                let patch = git.diff(&apart, &other, context);
                let shifted = format!("{}\n{apart}", above.join("\n"));
                if let Some(theirs) = git.apply(&shifted, &patch) {
                    prop_assert_eq!(ours(&shifted, &patch), Some(theirs), "{}", patch);
                    moved += 1;
                }
            }
            compared.set((exact, moved));
            Ok(())
        },
    );
    let (exact, moved) = compared.get();
    assert!(exact > 150 && moved > 60, "{exact} {moved}");
}

/// Anything that looks like a patch: pieces of the right kind, with something wrong here and there.
fn patches() -> impl Strategy<Value = String> {
    let formats: [(&str, &str, &[&str]); 3] = [
        (
            "LP1\n",
            "END\n",
            &[
                "F f.txt",
                "F \"a \\\"b\"",
                " F\tg ",
                "R\na\n.\nb\n.",
                "I 2\n\n.\n..x\n. ",
                "P\n..\n.\n.",
                "E 1\nx \n.",
                "T\n...\nEND\n.",
                "B\n#x\n.",
                "N +",
                "N -",
                "# c",
                "",
            ],
        ),
        (
            "*** Begin Patch\n",
            "*** End Patch\n",
            &[
                "*** Add File: n\n+x\n+\n++",
                "*** Add File: e",
                "*** Delete File: d e",
                "*** Update File: f\n@@\n-a\n+b",
                "*** Update File: f\n c\n+b\n@@ x\n@@ y\n-z\n*** End of File",
                "*** Update File: f\n*** Move to: m",
                "*** Update File: f\n*** Move to: m\n@@ \n \n-\n+",
                "",
                "@@\n-x\n+y",
            ],
        ),
        (
            "",
            "",
            &[
                "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b",
                "--- f\t2024-01-01\n+++ f\n@@ -1,2 +1,2 @@ fn\n c\n-a\n\\ No newline\n+b\n\\ No",
                "@@ -7,0 +8,2 @@\n+x\n+y",
                "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\r",
                "--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x",
                "diff --git a/f b/g\nrename from f\nrename to g",
                "diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nold mode 100644\nnew mode 100755",
                "diff --git a/x y b/x y\nnew file mode 100755",
                "diff --git a/f b/c\nsimilarity index 9%\ncopy from f\ncopy to c\n--- a/f\n+++ b/c\n@@ -1 +1,2 @@\n x\n+y",
                "diff --git a/d b/d\ndeleted file mode 100644",
                "words",
                "",
            ],
        ),
    ];
    let one = prop::sample::select(formats.to_vec()).prop_flat_map(|(start, end, pieces)| {
        let piece = prop_oneof![
            12 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
            1 => "[ -~\r]{0,6}",
            1 => "[ +@-]{1,3}[a\r]{0,3}",
        ];
        let pieces = prop::collection::vec(piece, 0..6);
        pieces.prop_map(move |pieces| format!("{start}{}\n{end}", pieces.join("\n")))
    });
    (one, any::<bool>()).prop_map(|(text, crlf)| {
        if crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    })
}

#[test]
fn a_patch_that_is_printed_reads_as_the_same_patch() {
    let config = ProptestConfig {
        failure_persistence: None,
        ..toolgate_testkit::laws(4096)
    };
    let read = std::cell::Cell::new(0);
    proptest!(config, |(text in patches())| {
        let Ok(patch) = Patch::parse(&text) else { return Ok(()) };
        read.set(read.get() + 1);
        let printed = patch.to_string();
        let again = Patch::parse(&printed);
        let again = again.map_err(|error| TestCaseError::fail(format!("{error}: {printed}")))?;
        prop_assert_eq!(again.to_string(), printed);
        prop_assert_eq!(again.touched(), patch.touched());
        prop_assert_eq!(again.format(), patch.format());
    });
    assert!(read.get() > 800, "{}", read.get());
}
