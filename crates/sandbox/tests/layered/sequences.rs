//! Random sequences of file operations, as scripts for a shell and for Python.
//!
//! A layer shows the names of one file as several files once one of them is written to, and it
//! copies a directory of the root instead of renaming it. So no sequence does both, renames a name
//! of such a file, writes to two of its names, or writes to one and removes that name.

/// A sequence of numbers that a seed decides.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("small")]
    }
}

/// What a sequence may do beside writing, creating and removing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Rename files and directories, and copy them.
    Moving,
    /// Give files more names; some have several from the start.
    Linking,
    /// Take every right away from files and directories.
    Closing,
}

const NAMES: &[&str] = &["a", "b", "c", "d", "e x", "n\u{ff}", ".dot"];

/// A word that both languages read as the same name: the last letter of one is no text.
fn quoted(path: &str, python: bool) -> String {
    let plain = path.replace('\u{ff}', if python { "\\udcff" } else { "\\xff" });
    if python {
        format!("'{plain}'")
    } else {
        format!("$'{plain}'")
    }
}

/// One operation: a word for what it does, and its words.
#[derive(Clone, Debug)]
pub struct Operation {
    what: &'static str,
    one: String,
    other: String,
}

impl Operation {
    fn new(what: &'static str, one: impl Into<String>, other: impl Into<String>) -> Self {
        let (one, other) = (one.into(), other.into());
        Self { what, one, other }
    }

    pub fn shell(&self) -> String {
        let (p, q) = (quoted(&self.one, false), quoted(&self.other, false));
        let text = &self.other;
        match self.what {
            "write" => format!("echo {text} > {p}"),
            "append" => format!("echo {text} >> {p}"),
            "replace" => format!("echo {text} > .tmp && mv -T .tmp {p}"),
            "truncate" => format!("truncate -s {text} {p}"),
            "inside" => format!("printf {text} | dd of={p} bs=1 seek=2 conv=notrunc status=none"),
            "touch" => format!("touch {p}"),
            "old" => format!("touch -d @{text} {p}"),
            "mkdir" => format!("mkdir {p}"),
            "parents" => format!("mkdir -p {p}"),
            "rmdir" => format!("rmdir {p}"),
            "remove" => format!("rm {p}"),
            "remove all" => format!("rm -rf {p}"),
            "now a file" => format!("rm -rf {p} && echo {text} > {p}"),
            "now a directory" => format!("rm -rf {p} && mkdir {p} && echo {text} > {p}/in"),
            "now a link" => format!("rm -rf {p} && ln -s {text} {p}"),
            "rename" => format!("mv -T {p} {q}"),
            "copy" => format!("cp -aT {p} {q}"),
            "link" => format!("ln {p} {q}"),
            "symlink" => format!("ln -s {q} {p}"),
            "chmod" => format!("chmod {text} {p}"),
            _ => format!("mkfifo {p}"),
        }
    }

    pub fn python(&self) -> String {
        let (p, q) = (quoted(&self.one, true), quoted(&self.other, true));
        let text = &self.other;
        match self.what {
            "write" => format!("put({p}, '{text}', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)"),
            "append" => format!("put({p}, '{text}', os.O_WRONLY | os.O_CREAT | os.O_APPEND)"),
            "replace" => format!(
                "put('.tmp', '{text}', os.O_WRONLY | os.O_CREAT | os.O_TRUNC); os.rename('.tmp', {p})"
            ),
            "truncate" => format!("os.truncate({p}, {text})"),
            "inside" => format!("inside({p}, b'{text}')"),
            "touch" => format!("os.utime({p})"),
            "old" => format!("os.utime({p}, ({text}, {text}))"),
            "mkdir" => format!("os.mkdir({p})"),
            "parents" => format!("os.makedirs({p})"),
            "rmdir" => format!("os.rmdir({p})"),
            "remove" => format!("os.unlink({p})"),
            "remove all" => format!("gone({p})"),
            "now a file" => format!("gone({p}); put({p}, '{text}', os.O_WRONLY | os.O_CREAT)"),
            "now a directory" => format!(
                "gone({p}); os.mkdir({p}); put({p} + '/in', '{text}', os.O_WRONLY | os.O_CREAT)"
            ),
            "now a link" => format!("gone({p}); os.symlink('{text}', {p})"),
            "rename" => format!("move({p}, {q})"),
            "copy" => format!("shutil.copy2({p}, {q}, follow_symlinks=False)"),
            "link" => format!("os.link({p}, {q}, follow_symlinks=False)"),
            "symlink" => format!("os.symlink({q}, {p})"),
            "chmod" => format!("os.chmod({p}, 0o{text})"),
            _ => format!("os.mkfifo({p})"),
        }
    }
}

/// What Python needs; opening a pipe does not wait.
pub const PYTHON: &str = r"
import os, shutil, stat, subprocess
os.umask(0o022)
def put(p, text, flags):
    f = os.open(p, flags | os.O_NONBLOCK, 0o666)
    try: os.write(f, text.encode())
    finally: os.close(f)
def inside(p, data):
    f = os.open(p, os.O_RDWR | os.O_NONBLOCK)
    try:
        import mmap
        os.truncate(p, 10)
        with mmap.mmap(f, 10) as m: m[2:2 + len(data)] = data
    finally: os.close(f)
def gone(p):
    if os.path.isdir(p) and not os.path.islink(p): shutil.rmtree(p)
    elif os.path.lexists(p): os.unlink(p)
def move(p, q):
    try: os.rename(p, q)
    except OSError as e:
        if e.errno != 18: raise
        subprocess.run(['mv', '-T', p, q], check=True, stderr=subprocess.DEVNULL)
def op(n, f):
    try: f(); print(n, 'yes')
    except Exception as e: print(n, 'no')
";

fn path(dice: &mut Dice) -> String {
    let depth = 1 + dice.below(3);
    let names: Vec<&str> = (0..depth).map(|_| dice.one(NAMES)).collect();
    names.join("/")
}

/// Pipes have a name of their own: opening one would wait.
fn pipe(dice: &mut Dice) -> String {
    format!("{}/pipe", dice.one(&["a", "b", "c", "."]))
}

const FILE_NAMES: &[&str] = &["a", "b", "l1", "l2", "d/l3", "d/e x", "d"];

fn linked_path(dice: &mut Dice) -> String {
    dice.one(FILE_NAMES).to_owned()
}

pub fn initial(dice: &mut Dice, flavor: Flavor) -> Vec<Operation> {
    let mut all = Vec::new();
    for _ in 0..3 + dice.below(8) {
        let p = path(dice);
        let above = p.rsplit_once('/').map(|(above, _)| above.to_owned());
        all.extend(above.map(|above| Operation::new("parents", above, "")));
        let (what, other) = match dice.below(8) {
            0 => ("parents", String::new()),
            1 => ("symlink", path(dice)),
            2 => {
                all.push(Operation::new("fifo", pipe(dice), ""));
                continue;
            }
            3 => ("truncate", "70000".to_owned()),
            _ => ("write", format!("first{}", dice.below(100))),
        };
        all.push(Operation::new(what, p, other));
    }
    if flavor == Flavor::Linking {
        all.push(Operation::new("parents", "d", ""));
        for name in ["g1", "h1", "a"] {
            all.push(Operation::new("write", name, format!("of-{name}")));
        }
        for (of, name) in [("g1", "g2"), ("g1", "d/g3"), ("h1", "h2"), ("h1", "d/h3")] {
            all.push(Operation::new("link", of, name));
        }
    }
    all
}

pub fn sequence(dice: &mut Dice, flavor: Flavor) -> Vec<Operation> {
    let length = 4 + dice.below(14);
    (0..length).map(|_| operation(dice, flavor)).collect()
}

fn operation(dice: &mut Dice, flavor: Flavor) -> Operation {
    let text = format!("t{}", dice.below(1000));
    match flavor {
        Flavor::Linking => return linking(dice, text),
        Flavor::Closing if dice.below(4) == 0 => {
            let mode = dice.one(&[
                "0", "000", "400", "500", "200", "644", "755", "4755", "1777",
            ]);
            return Operation::new("chmod", path(dice), mode);
        }
        Flavor::Moving if dice.below(3) == 0 => {
            let what = dice.one(&["rename", "rename", "rename", "copy"]);
            return Operation::new(what, path(dice), path(dice));
        }
        _ => {}
    }
    let p = path(dice);
    match dice.below(20) {
        0..3 => Operation::new("write", p, text),
        3..5 => Operation::new("append", p, text),
        5 => Operation::new("replace", p, text),
        6 => Operation::new("truncate", p, dice.one(&["0", "1", "100000"])),
        7 => Operation::new("inside", p, text),
        8 => Operation::new(dice.one(&["touch", "old"]), p, "5"),
        9 => Operation::new("mkdir", p, ""),
        10 => Operation::new("parents", p, ""),
        11 => Operation::new("rmdir", p, ""),
        12 => Operation::new("remove", p, ""),
        13 => Operation::new("remove all", p, ""),
        14 => Operation::new("now a file", p, text),
        15 => Operation::new("now a directory", p, text),
        16 => Operation::new("now a link", p, "a"),
        17 => Operation::new("symlink", p, path(dice)),
        18 => Operation::new("chmod", p, dice.one(&["755", "700", "2755", "1777"])),
        _ => Operation::new(dice.one(&["fifo", "remove"]), pipe(dice), ""),
    }
}

/// Operations on files with several names: `g1` is written to and stays, the others may go.
fn linking(dice: &mut Dice, text: String) -> Operation {
    match dice.below(12) {
        0 => Operation::new("write", "g1", text),
        1 => Operation::new("append", "g1", text),
        2 => Operation::new("inside", "g1", text),
        3 => Operation::new("chmod", "g1", dice.one(&["600", "755"])),
        4 => Operation::new("link", dice.one(&["g1", "a", "b", "l1"]), linked_path(dice)),
        5 => Operation::new("remove", dice.one(&["g2", "d/g3", "h1", "h2", "d/h3"]), ""),
        6 => Operation::new("replace", dice.one(&["g2", "d/g3", "h2", "d/h3"]), text),
        7 => Operation::new("remove", linked_path(dice), ""),
        8 => Operation::new("replace", linked_path(dice), text),
        9 => Operation::new("append", linked_path(dice), text),
        10 => Operation::new("now a directory", linked_path(dice), text),
        _ => Operation::new("write", linked_path(dice), text),
    }
}
