//! Changes of a layer that become real, all or none, and that are taken back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod layered;
mod trial;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use layered::{difference, layer, left, rules, tree};
use rustix::io::Errno;
use toolgate_sandbox::command::CommandSandbox;
use toolgate_sandbox::layer::{Applied, Layer, LayerError, Staged};
use trial::{Place, own_program, sandbox};

fn main() -> ExitCode {
    toolgate_sandbox::command::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, place, at] = arguments.as_slice()
        && mode == "--killed"
    {
        killed(Path::new(place), at);
        return ExitCode::SUCCESS;
    }
    trial::run(&[
        (
            "applying_gives_what_a_direct_run_gives",
            applying_gives_what_a_direct_run_gives,
        ),
        ("undo_gives_back_everything", undo_gives_back_everything),
        (
            "an_error_at_any_step_changes_nothing",
            an_error_at_any_step_changes_nothing,
        ),
        (
            "a_kill_at_any_step_is_taken_back",
            a_kill_at_any_step_is_taken_back,
        ),
        (
            "a_kill_of_an_undo_is_completed",
            a_kill_of_an_undo_is_completed,
        ),
        (
            "what_was_kept_can_be_undone_later",
            what_was_kept_can_be_undone_later,
        ),
        (
            "a_change_in_the_root_refuses_everything",
            a_change_in_the_root_refuses_everything,
        ),
        (
            "a_change_after_staging_refuses_everything",
            a_change_after_staging_refuses_everything,
        ),
        (
            "undo_is_refused_where_something_changed_since",
            undo_is_refused_where_something_changed_since,
        ),
        (
            "names_of_one_file_stay_together",
            names_of_one_file_stay_together,
        ),
        (
            "names_changed_apart_are_refused",
            names_changed_apart_are_refused,
        ),
        (
            "what_is_protected_or_not_chosen_is_left_out",
            what_is_protected_or_not_chosen_is_left_out,
        ),
        (
            "attributes_of_an_overlay_are_not_applied",
            attributes_of_an_overlay_are_not_applied,
        ),
        ("holes_stay_holes", holes_stay_holes),
        (
            "a_layer_on_another_file_system_is_refused_when_it_is_applied",
            a_layer_on_another_file_system_is_refused_when_it_is_applied,
        ),
        ("discarding_leaves_nothing", discarding_leaves_nothing),
        (
            "a_damaged_record_is_reported_and_kept",
            a_damaged_record_is_reported_and_kept,
        ),
    ])
}

/// A tree with everything in it that a command can change.
const TREE: &str = "cd ws; mkdir -p d/sub keep e gone/x closed empty; echo 1 > d/1; echo 2 > d/2; \
    echo k > keep/k; echo m > m; echo c > c; ln -s m l; echo t > t; echo u > u; echo 1 > e/1; \
    echo z > gone/x/z; echo h > h; ln h h2; ln h keep/h3; echo in > closed/in; chmod 500 closed; \
    mkdir turned; echo 1 > turned/1; ln -s nowhere dangling; printf '\\0\\1\\377' > bin; \
    echo x > $'name\\xff\\n'; echo g > g; ln g g2; ln keep/k k0";

/// Changes of every kind.
const SCRIPT: &str = "echo more >> m; chmod 755 c; ln -sfn c l; rm t; mkdir -p t/deep; echo x > t/deep/x; \
    rm -rf e; mkdir e; echo 2 > e/2; rm -r gone; mv d/1 d/3; rm -r d/sub; echo new > keep/n; \
    mkfifo p; touch -d @5 u; ln keep/k k2; echo twice > h; rm h2; : > keep/empty; \
    chmod 700 closed; echo new > closed/new; rm closed/in; chmod 500 closed; rm -r turned; \
    echo file > turned; rm dangling; mkdir dangling; truncate -s 2 bin; mv $'name\\xff\\n' $'other\\xfe'; \
    mkdir shut; echo s > shut/s; chmod 0 shut; chmod 750 empty; chmod 600 g; ln m m2; \
    echo sock > .hidden; mkdir -p a/b/c/d; touch a/b/c/d/e; ln a/b/c/d/e a/e; chmod 0 a/e; chmod 711 .";

fn staged(layer: &Layer) -> Staged {
    let changes = layer.changes().expect("changes");
    layer.stage(&changes, |_| true).expect("staged")
}

fn prepared() -> (Place, CommandSandbox) {
    let place = Place::new();
    place.setup(TREE);
    let sandbox = sandbox(&rules(&place));
    (place, sandbox)
}

/// The same tree after the same script, without any sandbox.
fn direct(script: &str) -> std::collections::BTreeMap<std::ffi::OsString, String> {
    let place = Place::new();
    place.setup(&format!("umask 022; {TREE}"));
    place.setup(&format!("umask 022; cd ws; {script}"));
    tree(&place.ws)
}

fn applying_gives_what_a_direct_run_gives() {
    let (place, sandbox) = prepared();
    let layer = layer(&sandbox, &place, &format!("umask 022; {SCRIPT}"));
    let applied = staged(&layer).apply().expect("applied");
    assert!(applied.appeared.is_empty(), "{applied:?}");
    let after = tree(&place.ws);
    assert_eq!(difference(&direct(SCRIPT), &after), [] as [String; 0]);
    assert_eq!(left(&place).len(), 1);
    applied.forget().expect("forgotten");
    assert_eq!(left(&place), [] as [String; 0]);
}

fn undo_gives_back_everything() {
    let (place, sandbox) = prepared();
    let before = tree(&place.ws);
    let layer = layer(&sandbox, &place, SCRIPT);
    let applied = staged(&layer).apply().expect("applied");
    assert_ne!(tree(&place.ws), before);
    applied.undo().expect("undone");
    assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
    assert_eq!(left(&place), [] as [String; 0]);
}

fn an_error_at_any_step_changes_nothing() {
    let (place, sandbox) = prepared();
    let before = tree(&place.ws);
    let mut at = 0;
    loop {
        let layer = layer(&sandbox, &place, SCRIPT);
        let staged = staged(&layer);
        let steps = staged.steps();
        let error = staged.apply_with(&mut |step| match step == at {
            true => Err(Errno::NOSPC),
            false => Ok(()),
        });
        match error {
            Err(LayerError::System {
                errno: Errno::NOSPC,
                ..
            }) => {}
            other => panic!("step {at}: {other:?}"),
        }
        let differs = difference(&before, &tree(&place.ws));
        assert_eq!(differs, [] as [String; 0], "step {at}");
        assert_eq!(left(&place), [] as [String; 0], "step {at}");
        if at == steps {
            break;
        }
        at += 1;
    }
    assert!(at > 30, "{at} steps");
}

/// Runs the script in a layer and kills itself at a step of applying it or of undoing it.
fn killed(directory: &Path, at: &str) {
    let ws = directory.join("ws");
    let paths = toolgate_sandbox::PathSandbox::open(&toolgate_sandbox::PathRules::new(&ws));
    let mut rules = toolgate_sandbox::command::SandboxRules::new(paths.expect("paths"));
    rules.layers = vec![directory.join("layers")];
    let sandbox = CommandSandbox::start(&rules).expect("sandbox");
    let mut spec = trial::spec(SCRIPT, &ws);
    spec.layering = toolgate_sandbox::layer::Layering::Required;
    let mut ran = trial::run_spec(&sandbox, spec, Default::default());
    let layer = ran.finished.layer.take().expect("a layer");
    let (phase, at) = at.split_once(':').expect("phase");
    let at: usize = at.parse().expect("step");
    let mut kill = |step: usize| -> Result<(), Errno> {
        if step == at {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL)?;
        }
        Ok(())
    };
    match phase {
        "apply" => drop(staged(&layer).apply_with(&mut kill).expect("applied")),
        _ => {
            let applied = staged(&layer).apply().expect("applied");
            applied.undo_with(&mut kill).expect("undone");
        }
    }
}

/// Runs a process that is killed at a step; says whether it was.
fn run_killed(place: &Place, at: &str) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let directory = place.directory.path().to_str().expect("text");
    let status = own_program(&["--killed", directory, at])
        .status()
        .expect("run");
    assert!(
        status.success() || status.signal() == Some(9),
        "{at}: {status:?}"
    );
    !status.success()
}

fn a_kill_at_any_step_is_taken_back() {
    let place = Place::new();
    place.setup(TREE);
    let before = tree(&place.ws);
    let mut at = 0;
    while run_killed(&place, &format!("apply:{at}")) {
        assert_eq!(left(&place).len(), 1, "step {at}");
        let sandbox = sandbox(&rules(&place));
        let found = sandbox.interrupted();
        assert!(
            matches!(found, [one] if one.error.is_none()),
            "step {at}: {found:?}"
        );
        let differs = difference(&before, &tree(&place.ws));
        assert_eq!(differs, [] as [String; 0], "step {at}");
        assert_eq!(left(&place), [] as [String; 0], "step {at}");
        drop(sandbox);
        let layers = std::fs::read_dir(place.directory.path().join("layers")).expect("layers");
        assert_eq!(layers.count(), 0, "step {at}");
        at += 1;
    }
    assert!(at > 30, "{at} steps");
    // Not killed: all of it is there, and stays.
    let sandbox = sandbox(&rules(&place));
    assert_eq!(sandbox.interrupted(), []);
    assert_ne!(tree(&place.ws), before);
    assert_eq!(left(&place).len(), 1);
}

fn a_kill_of_an_undo_is_completed() {
    let place = Place::new();
    place.setup(TREE);
    let before = tree(&place.ws);
    let mut at = 0;
    while run_killed(&place, &format!("undo:{at}")) {
        let sandbox = sandbox(&rules(&place));
        let found = sandbox.interrupted();
        assert!(
            matches!(found, [one] if one.error.is_none()),
            "step {at}: {found:?}"
        );
        let differs = difference(&before, &tree(&place.ws));
        assert_eq!(differs, [] as [String; 0], "step {at}");
        assert_eq!(left(&place), [] as [String; 0], "step {at}");
        at += 1;
    }
    assert!(at > 30, "{at} steps");
    assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
}

fn what_was_kept_can_be_undone_later() {
    let (place, sandbox) = prepared();
    let before = tree(&place.ws);
    let one = layer(&sandbox, &place, SCRIPT);
    let applied = staged(&one).apply().expect("applied");
    let name = applied.name().expect("a name").to_path_buf();
    // While one works on it, nobody else does.
    let again = Applied::open(&name);
    assert!(
        matches!(again, Err(LayerError::NotKept { .. })),
        "{again:?}"
    );
    drop((applied, one, sandbox));
    let sandbox = trial::sandbox(&rules(&place));
    assert_eq!(sandbox.interrupted(), []);
    Applied::open(&name).expect("kept").undo().expect("undone");
    assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
    let gone = Applied::open(&name);
    assert!(matches!(gone, Err(LayerError::NotKept { .. })), "{gone:?}");
    let strange = Applied::open(&place.ws.join("kept-none"));
    assert!(
        matches!(strange, Err(LayerError::NotKept { .. })),
        "{strange:?}"
    );
}

/// What the command does, what happens in the root meanwhile, and where that is a conflict.
const CONFLICTS: &[(&str, &str, &str)] = &[
    ("echo x >> m", "echo y >> m", "m"),
    ("echo x >> m", "touch m", "m"),
    ("echo x >> m", "rm m", "m"),
    ("echo x >> m", "echo other > new; mv new m", "m"),
    ("rm m", "echo y >> m", "m"),
    ("echo x > made", "echo y > made", "made"),
    ("chmod 600 c", "chmod 640 c", "c"),
    ("chmod 700 d", "chmod 750 d", "d"),
    ("rm -r gone", "echo y > gone/x/new", "gone"),
    ("rm -r gone", "echo y >> gone/x/z", "gone"),
    ("rm -r e; mkdir e", "rm e/1", "e"),
    ("ln -sfn c l", "ln -sfn u l", "l"),
    ("echo x > d/new", "mv d elsewhere; ln -s elsewhere d", "d"),
    ("echo x > keep/new", "rm -r keep", "keep"),
    ("ln c c2", "echo y >> c", "c"),
];

fn a_change_in_the_root_refuses_everything() {
    for (script, meanwhile, at) in CONFLICTS {
        let place = Place::new();
        place.setup(TREE);
        let sandbox = sandbox(&rules(&place));
        let layer = layer(&sandbox, &place, &format!("echo other > first; {script}"));
        place.setup(&format!("cd ws; {meanwhile}"));
        let before = tree(&place.ws);
        let changes = layer.changes().expect("changes");
        match layer.stage(&changes, |_| true) {
            Err(LayerError::Conflict { paths, more: 0 }) => {
                assert!(
                    paths.contains(&place.ws.join(at)),
                    "{script} / {meanwhile}: {paths:?}"
                );
            }
            other => panic!("{script} / {meanwhile}: {other:?}"),
        }
        assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
        assert_eq!(left(&place), [] as [String; 0]);
    }
}

fn a_change_after_staging_refuses_everything() {
    for (script, meanwhile) in [
        ("echo x >> m", "echo y >> m"),
        ("echo x >> m", "rm m"),
        ("echo x >> m", "echo other > new; mv new m"),
        ("rm m", "echo y >> m"),
        ("rm m", "rm m"),
        ("echo x > made", "echo y > made"),
        ("mkdir -p a/b; echo x > a/b/c", "mkdir a"),
        ("chmod 600 c", "chmod 640 c"),
        ("echo x > d/new", "mv d elsewhere; ln -s elsewhere d"),
        ("echo x > h", "echo y > h"),
        ("rm -r e; mkdir e; echo x > e/x", "mv e e0; mkdir e"),
    ] {
        let (place, sandbox) = prepared();
        // One step before it and one after.
        let script = format!("echo z > 0; {script}; echo z > z");
        let layer = layer(&sandbox, &place, &script);
        let staged = staged(&layer);
        place.setup(&format!("cd ws; {meanwhile}"));
        let before = tree(&place.ws);
        let error = staged.apply();
        assert!(
            matches!(error, Err(LayerError::Conflict { .. })),
            "{script}: {error:?}"
        );
        let differs = difference(&before, &tree(&place.ws));
        assert_eq!(differs, [] as [String; 0], "{script}");
        assert_eq!(left(&place), [] as [String; 0], "{script}");
    }
}

fn undo_is_refused_where_something_changed_since() {
    for meanwhile in [
        "echo y >> m",
        "chmod 600 c",
        "echo y > gone",
        "rm keep/n",
        "echo y > t/deep/mine",
        "echo y > dangling/mine",
        "echo y >> h",
        "ln -sfn u l",
        "rm turned; mkdir turned",
        "chmod 700 empty",
    ] {
        let (place, sandbox) = prepared();
        let layer = layer(&sandbox, &place, SCRIPT);
        let applied = staged(&layer).apply().expect("applied");
        place.setup(&format!("cd ws; {meanwhile}"));
        let before = tree(&place.ws);
        let error = applied.undo();
        assert!(
            matches!(error, Err(LayerError::ChangedSince { .. })),
            "{meanwhile}: {error:?}"
        );
        let differs = difference(&before, &tree(&place.ws));
        assert_eq!(differs, [] as [String; 0], "{meanwhile}");
        // It stays, for when that is mended.
        assert_eq!(left(&place).len(), 1);
    }
}

fn names_of_one_file_stay_together() {
    let (place, sandbox) = prepared();
    let inode = |path: &str| place.ws.join(path).metadata().expect(path).ino();
    let (h, g) = (inode("h"), inode("g"));
    let script =
        "echo new > h; chmod 600 g; ln keep/k k9; rm h2; echo a > a; ln a b; ln c c2; echo x >> c2";
    let layer = layer(&sandbox, &place, script);
    let applied = staged(&layer).apply().expect("applied");
    assert_eq!((inode("h"), inode("keep/h3")), (h, h));
    assert_eq!(place.read("ws/keep/h3"), "new\n");
    assert_eq!((inode("g"), inode("g2")), (g, g));
    assert_eq!(inode("k9"), inode("k0"));
    assert_eq!(inode("a"), inode("b"));
    assert_eq!(inode("c"), inode("c2"));
    assert_eq!(place.read("ws/c"), "c\nx\n");
    applied.undo().expect("undone");
    assert_eq!((place.read("ws/h2"), inode("h2")), ("h\n".to_owned(), h));
}

fn names_changed_apart_are_refused() {
    for script in ["echo 1 >> h; echo 2 >> h2", "echo 1 >> h; chmod 600 h2"] {
        let (place, sandbox) = prepared();
        let before = tree(&place.ws);
        let layer = layer(&sandbox, &place, script);
        let changes = layer.changes().expect("changes");
        let refused = layer.stage(&changes, |_| true);
        assert!(
            matches!(refused, Err(LayerError::SplitLinks { .. })),
            "{refused:?}"
        );
        assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
    }
}

fn what_is_protected_or_not_chosen_is_left_out() {
    let (place, sandbox) = prepared();
    let script = "mkdir -p in/.git/hooks in/.vscode; echo x > in/.git/hooks/post-commit; \
                  echo x > in/.env; echo x > in/free; echo x > in/.vscode/tasks.json; \
                  mkdir -p not/this; echo x > not/this/file; echo x > not2; rm m";
    let layer = layer(&sandbox, &place, script);
    let changes = layer.changes().expect("changes");
    let choose = |change: &toolgate_sandbox::layer::Change| {
        change.withheld.is_none() && change.path != Path::new("not")
    };
    let staged = layer.stage(&changes, choose).expect("staged");
    let left_out: Vec<&[u8]> = staged
        .left_out()
        .iter()
        .map(|at| changes[*at].path.as_os_str().as_bytes())
        .collect();
    let applied = staged.apply().expect("applied");
    assert!(
        left_out.contains(&b"not/this/file".as_slice()),
        "{left_out:?}"
    );
    assert!(
        left_out.contains(&b"in/.git/hooks/post-commit".as_slice()),
        "{left_out:?}"
    );
    assert_eq!(place.read("ws/in/free"), "x\n");
    assert_eq!(place.read("ws/not2"), "x\n");
    for gone in [
        "ws/m",
        "ws/not",
        "ws/in/.env",
        "ws/in/.vscode/tasks.json",
        "ws/in/.git/hooks",
    ] {
        assert!(!place.exists(gone), "{gone}");
    }
    drop(applied);
    // What is barred stays out also where a caller insists; a denied name does not.
    let (place, sandbox) = prepared();
    let layer = layered::layer(&sandbox, &place, script);
    let changes = layer.changes().expect("changes");
    let staged = layer.stage(&changes, |_| true).expect("staged");
    staged.apply().expect("applied");
    assert!(!place.exists("ws/in/.vscode/tasks.json") && !place.exists("ws/in/.git/hooks"));
    assert!(place.exists("ws/in/.env"));
}

fn attributes_of_an_overlay_are_not_applied() {
    let (place, sandbox) = prepared();
    let script = "python3 -c 'import os\nos.mkdir(\"n\"); open(\"n/f\", \"w\")\nfor p in (\"n\", \"n/f\"):\n \
                  [os.setxattr(p, \"user.\" + n, b\"y\") for n in (\"overlay.opaque\", \"mine\")]'";
    let layer = layer(&sandbox, &place, script);
    staged(&layer).apply().expect("applied");
    for path in ["n", "n/f"] {
        let mut names = [0; 1024];
        let length = rustix::fs::listxattr(place.ws.join(path), &mut names).expect("attributes");
        assert_eq!(&names[..length], b"user.mine\0", "{path}");
    }
    // So the next command can have a layer as well.
    layered::layer(&sandbox, &place, "true");
}

fn holes_stay_holes() {
    let place = Place::new();
    place.setup("cd ws; truncate -s 1G big; ln big other; echo x > small");
    let sandbox = sandbox(&rules(&place));
    let script = "echo end >> big; truncate -s 2G new; echo end >> new";
    let layer = layer(&sandbox, &place, script);
    let applied = staged(&layer).apply().expect("applied");
    for (path, size) in [("big", 1 << 30), ("other", 1 << 30), ("new", 2 << 30)] {
        let stat = place.ws.join(path).metadata().expect(path);
        assert_eq!(stat.size(), size + 4, "{path}");
        assert!(stat.blocks() < 2048, "{path}: {} blocks", stat.blocks());
    }
    applied.undo().expect("undone");
    let stat = place.ws.join("other").metadata().expect("other");
    assert!(stat.size() == 1 << 30 && stat.blocks() < 2048, "{stat:?}");
}

fn a_layer_on_another_file_system_is_refused_when_it_is_applied() {
    let place = Place::new();
    place.setup(TREE);
    let memory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let mut rules = rules(&place);
    rules.layers = vec![memory.path().to_path_buf()];
    let sandbox = sandbox(&rules);
    let before = tree(&place.ws);
    let layer = layer(&sandbox, &place, "echo x > m");
    let changes = layer.changes().expect("changes");
    assert_eq!(changes.len(), 1);
    match layer.stage(&changes, |_| true) {
        Err(LayerError::Apart { root }) => assert_eq!(root, place.ws),
        other => panic!("{other:?}"),
    }
    assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
}

fn discarding_leaves_nothing() {
    let (place, sandbox) = prepared();
    let before = tree(&place.ws);
    for how in 0..3 {
        let layer = layer(&sandbox, &place, SCRIPT);
        match how {
            0 => layer.discard().expect("discarded"),
            1 => staged(&layer).discard().expect("discarded"),
            _ => drop(staged(&layer)),
        }
        assert_eq!(difference(&before, &tree(&place.ws)), [] as [String; 0]);
        assert_eq!(left(&place), [] as [String; 0]);
    }
    drop(sandbox);
    let layers = std::fs::read_dir(place.directory.path().join("layers")).expect("layers");
    assert_eq!(layers.count(), 0);
}

fn a_damaged_record_is_reported_and_kept() {
    let place = Place::new();
    place.setup(TREE);
    assert!(run_killed(&place, "apply:20"));
    let kept: PathBuf = place.directory.path().join("layers").join(&left(&place)[0]);
    let record = std::fs::read(kept.join("record")).expect("record");
    std::fs::write(kept.join("record"), &record[..record.len() / 2]).expect("cut");
    let half = tree(&place.ws);
    let one = sandbox(&rules(&place));
    assert!(matches!(one.interrupted(), [found] if found.error.is_some()));
    assert_eq!(difference(&half, &tree(&place.ws)), [] as [String; 0]);
    drop(one);
    // Mended, it is taken back.
    std::fs::write(kept.join("record"), &record).expect("mend");
    let two = sandbox(&rules(&place));
    assert!(matches!(two.interrupted(), [found] if found.error.is_none()));
    assert_eq!(left(&place), [] as [String; 0]);
}
