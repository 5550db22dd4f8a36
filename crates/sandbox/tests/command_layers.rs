//! Each layer of the sandbox with the others and without them, and the limits of each level.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use toolgate_model::Access;
use toolgate_sandbox::command::{
    self, CommandSandbox, CommandSpec, Deadlines, Level, Limits, Omit, Outcome, Program,
    SandboxError, Step, probe,
};
use trial::{ALL, Place, Trial, line, names, only, own_program, refused, run_spec, sandbox, spec};

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--without-init") {
        return without_init();
    }
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("mounts alone keep a command inside", mounts_alone),
    ("landlock alone keeps a command inside", landlock_alone),
    ("seccomp alone refuses the listed calls", seccomp_alone),
    (
        "a program without init is refused with the hint",
        refuses_without_init,
    ),
    (
        "a program that is no warden is refused",
        refuses_a_foreign_helper,
    ),
    (
        "the warden outlives the thread that asked for it",
        outlives_thread,
    ),
    ("the warden and init have no environment", no_environment),
    ("ids map to themselves", identity_maps),
    (
        "a signal to itself ends the shell and is reported as such",
        own_signal,
    ),
    (
        "a missing program is reported as a failed step",
        missing_program,
    ),
    (
        "a working directory outside is reported as a failed step",
        cwd_outside,
    ),
    (
        "a root in /var/tmp is shown, and the rest of it is new",
        var_tmp,
    ),
    ("an exit code comes back", exit_code),
    ("calls that seccomp refuses are counted", counted),
    ("the reported reach is the actual one", reach),
    ("the doctor names every layer", doctor),
    ("an order that is too large is refused", too_large),
    ("standard input is the command's own", standard_input),
];

fn mounts_alone() {
    let place = Place::new();
    place.write("out/canary", "x");
    place.write("ws/.env", "K=1");
    let sandbox = only(&place, Level::Namespaces, ALL);
    let out = place.out.display();
    refused(
        &sandbox,
        &place,
        &[
            &format!("cat {out}/canary"),
            &format!("touch {out}/new"),
            "cat .env",
            "echo x > .bashrc",
            "touch /usr/x",
            "touch /etc/x",
            "cat /etc/shadow",
            "exec 3>>/proc/sysrq-trigger",
            "exec 3>>/proc/sys/kernel/core_pattern",
            "exec 3<>/dev/tcp/127.0.0.1/1 2>/dev/null",
            "mount -t tmpfs x /tmp",
            "kill -0 $(( $(cat /proc/sys/kernel/pid_max) - 1 ))",
        ],
    );
}

fn landlock_alone() {
    let place = Place::new();
    place.write("out/canary", "x");
    let omit = Omit {
        seccomp: true,
        landlock: false,
    };
    let sandbox = only(&place, Level::Landlock, omit);
    let out = place.out.display();
    let mut other = Command::new("sleep")
        .arg("30")
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("sleep");
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("listener");
    refused(
        &sandbox,
        &place,
        &[
            &format!("cat {out}/canary"),
            &format!("touch {out}/new"),
            &format!("kill -0 {}", other.id()),
            &format!("cat /proc/{}/environ", std::process::id()),
            &format!(
                "exec 3<>/dev/tcp/127.0.0.1/{}",
                port.local_addr().unwrap().port()
            ),
            "touch /usr/x",
            "ls /root",
            "exec 3>>/proc/sysrq-trigger",
            "exec 3>>/proc/sys/kernel/core_pattern",
            "touch /tmp/toolgate-outside",
        ],
    );
    other.kill().expect("kill");
    other.wait().expect("wait");
}

fn seccomp_alone() {
    let place = Place::new();
    let omit = Omit {
        landlock: true,
        seccomp: false,
    };
    let sandbox = only(&place, Level::Landlock, omit);
    let call = |nr: i32| {
        format!(
            "python3 -c 'import ctypes;l=ctypes.CDLL(None,use_errno=True);r=l.syscall({nr},0,0,0,0,0);exit(0 if r>=0 or ctypes.get_errno() not in (1,38) else 1)'"
        )
    };
    let mut lines: Vec<String> = if cfg!(target_arch = "x86_64") {
        [101, 310, 321, 323, 250, 272, 308, 165, 425, 298, 246, 435]
            .map(call)
            .to_vec()
    } else {
        Vec::new()
    };
    for family in ["AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_INET", "AF_INET6"] {
        lines.push(format!(
            "python3 -c 'import socket;socket.socket(socket.{family})'"
        ));
    }
    lines.push("unshare -U true".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    refused(&sandbox, &place, &lines);
}

fn without_init() -> ExitCode {
    let place = Place::new();
    match CommandSandbox::start(&place.rules()) {
        Err(error @ SandboxError::NotInitialised) if error.to_string().contains("init()") => {
            ExitCode::SUCCESS
        }
        other => panic!("{other:?}"),
    }
}

fn refuses_without_init() {
    assert!(own_program(&["--without-init"]).status().unwrap().success());
}

fn refuses_a_foreign_helper() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.warden = Some("/bin/true".into());
    let refused = CommandSandbox::start(&rules);
    assert!(
        matches!(refused, Err(SandboxError::Warden(_))),
        "{refused:?}"
    );
    rules.warden = Some(std::env::current_exe().unwrap());
    assert!(line(&sandbox(&rules), &place, "true").succeeded());
}

fn outlives_thread() {
    let place = Place::new();
    let rules = place.rules();
    let sandbox = std::thread::spawn(move || sandbox(&rules)).join().unwrap();
    for _ in 0..3 {
        assert!(line(&sandbox, &place, "true").succeeded());
    }
}

fn no_environment() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    assert!(!line(&sandbox, &place, "cat /proc/1/environ").succeeded());
    let mut looked = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if name.starts_with(b"toolgate-warden\0")
            && let Ok(environ) = std::fs::read(entry.path().join("environ"))
        {
            looked += 1;
            assert!(environ.is_empty(), "{}", String::from_utf8_lossy(&environ));
        }
    }
    assert!(looked > 0, "no warden was found to look at");
}

fn identity_maps() {
    let place = Place::new();
    let own = rustix::process::geteuid().as_raw();
    let ran = line(
        &sandbox(&place.rules()),
        &place,
        "id -u; touch f; stat -c %u f",
    );
    assert_eq!(ran.stdout, format!("{own}\n{own}\n"));
}

fn own_signal() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "kill -TERM $$; sleep 60");
    assert_eq!(ran.finished.outcome, Outcome::Signaled(15));
    let ran = line(&sandbox, &place, "kill -KILL $$; sleep 60");
    assert_eq!(ran.finished.outcome, Outcome::Signaled(9));
}

fn missing_program() {
    let place = Place::new();
    for level in [Level::Namespaces, Level::Landlock] {
        let sandbox = only(&place, level, Omit::default());
        let mut command = CommandSpec::line("", &place.ws);
        command.program = Program::Exact(vec!["/usr/bin/no-such-program".into()]);
        let ran = run_spec(&sandbox, command, Deadlines::default());
        let Outcome::Setup(failure) = &ran.finished.outcome else {
            panic!("{ran:?}");
        };
        assert_eq!((failure.step, failure.errno), (Step::Exec, 2));
        assert!(failure.to_string().contains("no-such-program"), "{failure}");
    }
}

fn cwd_outside() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = run_spec(&sandbox, spec("true", &place.out), Deadlines::default());
    let Outcome::Setup(failure) = &ran.finished.outcome else {
        panic!("{ran:?}");
    };
    assert_eq!(failure.step, Step::Cwd);
}

fn var_tmp() {
    let place = Place::in_directory("/var/tmp");
    place.write("ws/kept", "kept");
    place.write("ws/.env", "K=1");
    place.write("out/canary", "x");
    let sandbox = sandbox(&place.rules());
    let (ws, out) = (place.ws.display(), place.out.display());
    // Twice: the second one gets a sandbox that was made for it.
    for nth in ["1", "2"] {
        let look = format!(
            "pwd && cat kept && echo {nth} > made && ls /var/tmp {out} 2>&1; \
             echo x > /var/tmp/own && ls /var/tmp/own /tmp/own 2>&1; cat .env 2>&1"
        );
        let said = line(&sandbox, &place, &look).text();
        let directory = place
            .directory
            .path()
            .file_name()
            .unwrap()
            .to_string_lossy();
        let expected = format!(
            "{ws}\nkeptls: cannot access '{out}': No such file or directory\n/var/tmp:\n{directory}\n\
             ls: cannot access '/tmp/own': No such file or directory\n/var/tmp/own\n\
             cat: .env: Permission denied\n"
        );
        assert_eq!(said, expected);
        assert_eq!(place.read("ws/made").trim(), nth);
    }
    assert!(!Path::new("/var/tmp/own").exists());
}

fn exit_code() {
    let place = Place::new();
    let ran = line(
        &sandbox(&place.rules()),
        &place,
        "echo out; echo err >&2; exit 42",
    );
    assert_eq!(ran.finished.outcome, Outcome::Exited(42));
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("out\n", "err\n")
    );
}

fn counted() {
    let place = Place::new();
    for level in [Level::Namespaces, Level::Landlock] {
        let sandbox = only(&place, level, Omit::default());
        let told = |text: &str| -> Vec<(&str, u32)> {
            let refused = line(&sandbox, &place, text).finished.refused;
            refused
                .iter()
                .map(|call| (call.name(), call.times))
                .collect()
        };
        assert_eq!(told("true; exit 3"), []);
        let twice = "python3 -c 'import socket\nfor _ in 1, 2:\n try: socket.socket(socket.AF_UNIX)\n except PermissionError: pass'";
        assert_eq!(told(twice), [("socket", 2)]);
        // In another session too, and after the shell has become something else.
        let apart = "unshare -U true; setsid -w unshare -n true; exec unshare -m true";
        assert!(told(apart).contains(&("unshare", 3)), "{:?}", told(apart));
        let many = "python3 -c 'import ctypes\nl=ctypes.CDLL(None)\nfor _ in range(5000): l.syscall(250,0,0,0)'";
        if cfg!(target_arch = "x86_64") {
            assert_eq!(told(many), [("keyctl", 5000)]);
        }
    }
}

fn reach() {
    let place = Place::new();
    for file in [
        "ws/f",
        "ws/.env",
        "ws/.bashrc",
        "ws/.git/HEAD",
        "ws/.git/hooks/x",
        "out/f",
    ] {
        place.write(file, "x");
    }
    std::os::unix::fs::symlink(place.out.join("f"), place.ws.join("link")).unwrap();
    let inside = ["f", ".env", ".bashrc", ".git/HEAD", ".git/hooks/x", "link"];
    let mut files: Vec<String> = inside
        .map(|name| format!("{}/{name}", place.ws.display()))
        .to_vec();
    files.extend(["/etc/passwd", "/usr/bin/env", "/proc/version", "/dev/null"].map(str::to_owned));
    files.push(format!("{}/f", place.out.display()));
    for level in [Level::Namespaces, Level::Landlock] {
        let sandbox = only(&place, level, Omit::default());
        for file in &files {
            for (access, line) in [
                (Access::Read, format!("cat {file}")),
                (Access::Write, format!("exec 3<>{file}")),
            ] {
                let said = sandbox.reach(&[]).explains(file.as_ref(), access);
                let ran = trial::line(&sandbox, &place, &line);
                assert_eq!(
                    said.is_none(),
                    ran.succeeded(),
                    "{level:?} {line}: {said:?} {ran:?}"
                );
            }
        }
    }
}

fn doctor() {
    let place = Place::new();
    let report = probe(&place.rules());
    assert_eq!(report.level, Some(Level::Namespaces));
    for name in [
        "namespaces",
        "masks",
        "landlock",
        "seccomp",
        "process limit",
    ] {
        let sandbox = report
            .protections
            .iter()
            .find(|sandbox| sandbox.name == name)
            .unwrap();
        assert!(sandbox.in_force, "{sandbox:?}");
    }
    let mut rules = place.rules();
    rules.highest = Level::Landlock;
    let report = probe(&rules);
    assert_eq!(report.level, Some(Level::Landlock));
    assert!(
        report
            .protections
            .iter()
            .any(|sandbox| sandbox.name == "masks" && !sandbox.in_force)
    );
}

fn too_large() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let text = "x".repeat(5 << 20);
    assert!(matches!(
        sandbox.run(spec(&text, &place.ws)),
        Err(SandboxError::Order(_))
    ));
    assert!(names(&place).is_empty(), "placeholders stayed");
    // An order that fits the message but not the kernel is a failed step.
    let ran = run_spec(
        &sandbox,
        spec(&"x".repeat(200_000), &place.ws),
        Deadlines::default(),
    );
    assert!(
        matches!(&ran.finished.outcome, Outcome::Setup(f) if f.step == Step::Exec),
        "{:?}",
        ran.finished
    );
}

fn standard_input() {
    let place = Place::new();
    place.write("in", "hello");
    let sandbox = sandbox(&place.rules());
    assert_eq!(line(&sandbox, &place, "cat; echo end").stdout, "end\n");
    let mut command = spec("cat", &place.ws);
    command.stdin = Some(
        std::fs::File::open(place.directory.path().join("in"))
            .unwrap()
            .into(),
    );
    command.limits = Some(Limits {
        open_files: 64,
        ..Limits::default()
    });
    let deadlines = Deadlines {
        total: Some(Duration::from_secs(30)),
        idle: None,
    };
    assert_eq!(run_spec(&sandbox, command, deadlines).stdout, "hello");
}
