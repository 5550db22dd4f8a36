//! Sockets of the machine's programs, and other ways to them, from inside the sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::ExitCode;

use toolgate_sandbox::command::{self, CommandSandbox, Deadlines, Level, Network, Omit};
use trial::{Place, Ran, Trial, line, only, run_spec, spec};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("no socket pair reaches a socket of the machine", pairs),
    (
        "landlock alone shuts abstract sockets on both levels",
        abstract_by_landlock,
    ),
    ("only internet sockets can be made", families),
    (
        "offline without namespaces no socket gets a name",
        no_names_offline,
    ),
    (
        "connected pairs of all permitted kinds work",
        socket_pairs_work,
    ),
    ("a command gets no listener of seccomp", no_listener),
    (
        "shared memory, semaphores and queues of the machine are out of reach",
        no_shared_ipc,
    ),
    (
        "a call by another architecture ends the process",
        other_architecture,
    ),
];

const LEVELS: [(Level, Network); 5] = [
    (Level::Namespaces, Network::Off),
    (Level::Namespaces, Network::Loopback),
    (Level::Namespaces, Network::On),
    (Level::Landlock, Network::Off),
    (Level::Landlock, Network::On),
];

/// Runs a Python script from the workspace.
fn python(sandbox: &CommandSandbox, place: &Place, network: Network, script: &str) -> Ran {
    place.write("ws/probe.py", script);
    let mut command = spec("python3 probe.py", &place.ws);
    command.network = Some(network);
    let deadlines = Deadlines {
        total: Some(std::time::Duration::from_secs(60)),
        idle: None,
    };
    let ran = run_spec(sandbox, command, deadlines);
    assert!(ran.succeeded(), "the probe could not run: {ran:?}");
    ran
}

/// Sockets of a program outside: one of each kind in the workspace, one beside it, and two
/// without a path.
struct Host {
    datagrams: Vec<UnixDatagram>,
    listeners: Vec<UnixListener>,
    name: String,
}

impl Host {
    fn new(place: &Place) -> Self {
        let name = format!("toolgate-{}-{}", std::process::id(), place.ws.display());
        let datagram = |path: &Path| UnixDatagram::bind(path).unwrap();
        let named = |kind: &str| SocketAddr::from_abstract_name(format!("{name}-{kind}")).unwrap();
        let host = Self {
            datagrams: vec![
                datagram(&place.ws.join("datagram")),
                datagram(&place.out.join("datagram")),
                UnixDatagram::bind_addr(&named("datagram")).unwrap(),
            ],
            listeners: vec![
                UnixListener::bind(place.ws.join("stream")).unwrap(),
                UnixListener::bind_addr(&named("stream")).unwrap(),
            ],
            name,
        };
        for socket in &host.datagrams {
            socket.set_nonblocking(true).unwrap();
        }
        for socket in &host.listeners {
            socket.set_nonblocking(true).unwrap();
        }
        host
    }

    /// Where they are, as a Python list.
    fn addresses(&self, place: &Place) -> String {
        let (ws, out, name) = (place.ws.display(), place.out.display(), &self.name);
        format!(
            "['{ws}/datagram', 'datagram', '{out}/datagram', '\\0{name}-datagram', \
             '{ws}/stream', '\\0{name}-stream']"
        )
    }

    /// Fails if anything arrived.
    fn heard_nothing(&self, when: &str) {
        let mut buffer = [0; 64];
        for socket in &self.datagrams {
            let got = socket.recv(&mut buffer);
            assert!(got.is_err(), "{when}: a datagram arrived: {got:?}");
        }
        for socket in &self.listeners {
            let got = socket.accept();
            assert!(got.is_err(), "{when}: a connection arrived: {got:?}");
        }
    }
}

/// Tries every type with every way to another socket. Whatever is done with a connected pair
/// may fail or not; only what arrives counts.
const SCRIPT: &str = r"
import socket, ctypes
libc = ctypes.CDLL(None)
made = set()
for flags in 0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK:
    for kind in range(16):
        for closed in False, True:
            for address in ADDRESSES:
                try:
                    one, other = socket.socketpair(socket.AF_UNIX, kind | flags)
                except OSError:
                    continue
                made.add(kind)
                if closed:
                    other.close()
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                for how in (
                    lambda: one.sendto(b'x', address),
                    lambda: one.sendto(b'x', socket.MSG_OOB, address),
                    lambda: one.sendmsg([b'x'], [], 0, address),
                    lambda: one.connect(address),
                    lambda: one.send(b'x'),
                    lambda: libc.connect(one.fileno(), b'\0' * 16, 16),
                    lambda: one.connect(address),
                    lambda: one.shutdown(socket.SHUT_RDWR),
                    lambda: one.connect(address),
                    lambda: one.send(b'x'),
                ):
                    try:
                        how()
                    except OSError:
                        pass
                one.close()
                other.close()
print(sorted(made))
";

fn pairs() {
    for (level, network) in LEVELS {
        let place = Place::new();
        let host = Host::new(&place);
        let sandbox = only(&place, level, Omit::default());
        let script = SCRIPT.replace("ADDRESSES", &host.addresses(&place));
        let ran = python(&sandbox, &place, network, &script);
        // Streams and packets in sequence.
        assert_eq!(ran.stdout, "[1, 5]\n", "{level:?} {network:?}");
        host.heard_nothing(&format!("{level:?} {network:?}"));
    }
}

fn abstract_by_landlock() {
    let place = Place::new();
    let host = Host::new(&place);
    let name = &host.name;
    let script = format!(
        r"
import socket
for kind, name in (socket.SOCK_DGRAM, 'datagram'), (socket.SOCK_STREAM, 'stream'):
    one = socket.socket(socket.AF_UNIX, kind)
    for how in one.connect, lambda address: one.sendto(b'x', address):
        try:
            how('\0{name}-' + name)
            print('reached', name)
        except OSError:
            pass
"
    );
    let omit = Omit {
        seccomp: true,
        landlock: false,
    };
    for level in [Level::Namespaces, Level::Landlock] {
        let ran = python(&only(&place, level, omit), &place, Network::On, &script);
        assert_eq!(ran.stdout, "", "{level:?}");
        host.heard_nothing(&format!("{level:?}"));
    }
    // The probe is worth something: without Landlock it gets through.
    let sandbox = only(&place, Level::Namespaces, trial::ALL);
    let ran = python(&sandbox, &place, Network::On, &script);
    assert!(ran.stdout.contains("reached stream"), "{ran:?}");
}

fn families() {
    let script = r"
import socket
made = set()
for family in range(64):
    for kind in range(16):
        for protocol in 0, 6, 17, 58, 256:
            try:
                made.add(int(socket.socket(family, kind, protocol).family))
            except OSError:
                pass
            try:
                made.add(int(socket.socketpair(family, kind, protocol)[0].family))
            except OSError:
                pass
        try:
            socket.socket(2, kind | 1 << 20)
            print('a type with more bits')
        except OSError:
            pass
print(sorted(made))
";
    for (level, network) in LEVELS {
        let place = Place::new();
        let sandbox = only(&place, level, Omit::default());
        let ran = python(&sandbox, &place, network, script);
        // Pairs of Unix sockets, and the internet's.
        let made = match (level, network) {
            (Level::Landlock, Network::Off) => "[1]\n",
            _ => "[1, 2, 10]\n",
        };
        assert_eq!(ran.stdout, made, "{level:?} {network:?}");
    }
}

fn no_names_offline() {
    let place = Place::new();
    let script = r"
import socket
one, other = socket.socketpair()
for how in one.bind, one.connect:
    for address in 'name', '\0toolgate-name', '':
        try:
            how(address)
            print('named')
        except PermissionError:
            pass
";
    let sandbox = only(&place, Level::Landlock, Omit::default());
    let ran = python(&sandbox, &place, Network::Off, script);
    assert_eq!(ran.stdout, "");
    let told = ran.finished.refused.iter();
    let told: Vec<(&str, u32)> = told.map(|call| (call.name(), call.times)).collect();
    assert_eq!(told, [("connect", 3), ("bind", 3)]);
}

fn socket_pairs_work() {
    let script = r"
import array, asyncio, multiprocessing, os, socket
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
    one, other = socket.socketpair(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
    one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])
    assert other.recvmsg(9, 99)[1]
one, other = multiprocessing.Pipe()
if os.fork() == 0:
    other.send(['from a child'])
    os._exit(0)
assert one.recv() == ['from a child']
async def child():
    made = await asyncio.create_subprocess_exec('echo', 'hello', stdout=-1)
    return (await made.communicate())[0]
assert asyncio.run(child()) == b'hello\n'
print('done')
";
    for (level, network) in LEVELS {
        let place = Place::new();
        let sandbox = only(&place, level, Omit::default());
        let ran = python(&sandbox, &place, network, script);
        assert_eq!(ran.stdout, "done\n", "{level:?} {network:?} {ran:?}");
        assert_eq!(ran.finished.refused, [], "{level:?} {network:?}");
        if Path::new("/usr/bin/node").exists() {
            place.write("ws/child.js", "process.send(7)");
            let fork = "const c = require('child_process').fork('child.js');";
            place.write(
                "ws/parent.js",
                &format!("{fork} c.on('message', m => console.log(m))"),
            );
            let ran = line(&sandbox, &place, "/usr/bin/node parent.js");
            assert_eq!(ran.stdout, "7\n", "{ran:?}");
        }
    }
}

/// A filter that hands everything on: of two that do, the newer one's listener is asked, and
/// may say that a call goes on.
fn no_listener() {
    let script = r"
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
steps = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 1, ctypes.addressof(steps)))
for flags in 8, 9, 8 | 16, 8 | 1 << 32:
    ctypes.set_errno(0)
    libc.syscall(NUMBER, ctypes.c_long(1), ctypes.c_long(flags), program)
    print(ctypes.get_errno())
# A filter of its own is fine: it can only be stricter.
print(libc.syscall(NUMBER, 1, 0, program))
";
    let number = if cfg!(target_arch = "x86_64") {
        "317"
    } else {
        "277"
    };
    let script = script.replace("NUMBER", number);
    for level in [Level::Namespaces, Level::Landlock] {
        let place = Place::new();
        let sandbox = only(&place, level, Omit::default());
        let ran = python(&sandbox, &place, Network::Off, &script);
        assert_eq!(ran.stdout, "1\n1\n1\n1\n0\n", "{level:?}: {ran:?}");
    }
}

fn no_shared_ipc() {
    let script = r"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
try:
    rt = ctypes.CDLL('librt.so.1', use_errno=True)
    rt.mq_open
except (OSError, AttributeError):
    rt = libc
key = KEY
for name, call in (
    ('shm', lambda: libc.shmget(key, 0, 0)),
    ('sem', lambda: libc.semget(key, 0, 0)),
    ('msg', lambda: libc.msgget(key, 0)),
    ('queue', lambda: rt.mq_open(b'/NAME', 0)),
):
    print(name, call() >= 0, ctypes.get_errno())
";
    let place = Place::new();
    let key = std::process::id() | 0x5400_0000;
    let name = format!("toolgate-{key:x}");
    let held = Held::new(key, &name, &place);
    let script = script
        .replace("KEY", &key.to_string())
        .replace("NAME", &name);
    for (level, network) in LEVELS {
        let sandbox = only(&place, level, Omit::default());
        let ran = python(&sandbox, &place, network, &script);
        let errors = match level {
            // None of them exists in there.
            Level::Namespaces => "shm False 2\nsem False 2\nmsg False 2\nqueue False 2\n",
            Level::Landlock => "shm False 1\nsem False 1\nmsg False 1\nqueue False 1\n",
        };
        assert_eq!(ran.stdout, errors, "{level:?} {network:?}");
    }
    // The probe finds them outside.
    let out = std::process::Command::new("python3")
        .arg(place.ws.join("probe.py"))
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.matches("True").count(), 4, "{out}");
    drop(held);
}

/// One object of each kind, held by a Python process until this is dropped.
struct Held {
    child: std::process::Child,
}

impl Held {
    fn new(key: u32, name: &str, place: &Place) -> Self {
        use std::io::Read;
        place.write(
            "held.py",
            &format!(
                r"
import ctypes, os, sys
libc = ctypes.CDLL(None)
try:
    rt = ctypes.CDLL('librt.so.1'); rt.mq_open
except (OSError, AttributeError):
    rt = libc
ids = libc.shmget({key}, 4096, 0o1600), libc.semget({key}, 1, 0o1600), libc.msgget({key}, 0o1600)
queue = rt.mq_open(b'/{name}', os.O_CREAT | os.O_RDWR, 0o600, None)
assert min(ids) >= 0 and queue >= 0, (ids, queue)
os.write(1, b'x')
sys.stdin.read()
libc.shmctl(ids[0], 0, None); libc.semctl(ids[1], 0, 0); libc.msgctl(ids[2], 0, None)
rt.mq_unlink(b'/{name}')
"
            ),
        );
        let mut child = std::process::Command::new("python3")
            .arg(place.directory.path().join("held.py"))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut one = [0];
        child.stdout.take().unwrap().read_exact(&mut one).unwrap();
        Self { child }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn other_architecture() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    // getpid as a 32-bit call, from machine code: mov eax, 20; int 0x80; ret.
    let script = r"
import ctypes, mmap, os, signal
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
child = os.fork()
if child == 0:
    os._exit(0 if call() == os.getpid() else 1)
print(signal.Signals(os.WTERMSIG(os.waitpid(child, 0)[1])).name)
";
    for level in [Level::Namespaces, Level::Landlock] {
        let place = Place::new();
        let sandbox = only(&place, level, Omit::default());
        let ran = python(&sandbox, &place, Network::Off, script);
        assert!(
            ["SIGSYS\n", "SIGSEGV\n"].contains(&ran.stdout.as_str()),
            "{ran:?}"
        );
    }
}
