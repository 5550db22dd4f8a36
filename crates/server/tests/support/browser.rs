//! A real browser in front of a server: a script in JavaScript drives headless Chromium, and asks
//! over its standard streams for what only the harness can do.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use toolgate_server::auth::Role;

use crate::support::{Place, Served};

/// Nothing in a browser takes longer, also on a machine that does other things.
const LONG: Duration = Duration::from_secs(240);

/// Where the packages of the scripts are, which `cargo xtask test` installs.
pub(crate) fn modules() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let modules = root.join("target/page").canonicalize().unwrap_or_default();
    assert!(
        modules.join("node_modules/playwright-core").exists(),
        "the packages of the page's tests are missing; `cargo xtask needs` installs them"
    );
    modules
}

/// Passes connections on to a server, until it is cut.
struct Relay {
    address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
    /// Present while connections pass.
    open: Arc<Mutex<Option<CancellationToken>>>,
}

impl Relay {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let relay = Self {
            address,
            to: Arc::new(Mutex::new(address)),
            open: Arc::new(Mutex::new(Some(CancellationToken::new()))),
        };
        let (to, open) = (Arc::clone(&relay.to), Arc::clone(&relay.open));
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (to, open) = (*to.lock().unwrap(), open.lock().unwrap().clone());
                let Some(cut) = open else { continue };
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(to).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        () = cut.cancelled() => {}
                    }
                });
            }
        });
        relay
    }

    fn cut(&self) {
        if let Some(open) = self.open.lock().unwrap().take() {
            open.cancel();
        }
    }

    fn mend(&self) {
        *self.open.lock().unwrap() = Some(CancellationToken::new());
    }
}

/// Runs a script of `tests/page` against a server of this place. It has to end well.
pub(crate) async fn run(script: &str, place: &Place) {
    let relay = Relay::start().await;
    let mut served = Some(serve(place, &relay).await);
    let token = place.token("tester", Role::Owner);
    let operator = served.as_ref().unwrap().token.clone();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page");
    let mut child = Command::new("node")
        .arg(scripts.join(script))
        .env("PAGE_MODULES", modules())
        .env("PAGE_URL", format!("http://{}", relay.address))
        .env("PAGE_TOKEN", token)
        .env("PAGE_OPERATOR", operator)
        .env("PAGE_WORKSPACE", place.workspace.path())
        .env("PAGE_PICTURES", scripts.join("../../../../docs/pictures"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("node: {error}; `cargo xtask needs` installs it"));
    let mut answers = child.stdin.take().unwrap();
    let mut asked = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut errors = child.stderr.take().unwrap();
    let errors = tokio::spawn(async move {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text).await;
        text
    });
    let talk = async {
        while let Ok(Some(line)) = asked.next_line().await {
            match line.as_str() {
                "cut" => relay.cut(),
                "mend" => relay.mend(),
                "stop" => served.take().unwrap().stop().await,
                "start" => served = Some(serve(place, &relay).await),
                other => panic!("the script asks for {other:?}"),
            }
            answers.write_all(b"ok\n").await.unwrap();
        }
        child.wait().await.unwrap()
    };
    let ended = tokio::time::timeout(LONG, talk).await;
    let status = match ended {
        Ok(status) => status,
        Err(_) => {
            let _ = child.kill().await;
            panic!("{script} took too long:\n{}", errors.await.unwrap());
        }
    };
    assert!(
        status.success(),
        "{script}: {status}\n{}",
        errors.await.unwrap()
    );
    if let Some(served) = served {
        served.stop().await;
    }
}

async fn serve(place: &Place, relay: &Relay) -> Served {
    let host = relay.address.to_string();
    let served = place.serve_with(|options| {
        options.allowed_origins.push(format!("http://{host}"));
        options.allowed_hosts.push(host);
    });
    let served = served.await;
    *relay.to.lock().unwrap() = served.address;
    served
}
