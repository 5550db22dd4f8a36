//! A small web server on a thread of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// No connection is served for longer.
const LONGEST: Duration = Duration::from_secs(20);

/// What a client asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) path: String,
    /// All lines of the head after the first, in lower case.
    pub(crate) headers: Vec<String>,
}

impl Asked {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self
            .headers
            .iter()
            .find(|line| line.starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }
}

/// What a server does with a question.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes, then the others again and again until somebody stops it, waiting in between.
    Endless(Vec<u8>, Vec<u8>, Duration),
    /// Sends these bytes and then nothing.
    Silent(Vec<u8>),
}

impl Reply {
    /// A whole answer.
    pub(crate) fn new(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Self::Bytes([head.as_bytes(), body].concat())
    }

    /// A page.
    pub(crate) fn html(body: impl AsRef<[u8]>) -> Self {
        let html = [("Content-Type", "text/html; charset=utf-8")];
        Self::new("200 OK", &html, body)
    }

    /// A redirect.
    pub(crate) fn to(status: &str, location: &str) -> Self {
        Self::new(status, &[("Location", location)], "")
    }
}

type Answers = dyn Fn(&Asked) -> Reply + Send + Sync;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Asked>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new(answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Arc::new(answers), None)
    }

    /// A server that proves who it is with this certificate.
    pub(crate) fn encrypted(
        identity: &Identity,
        answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(Arc::new(answers), Some(Arc::clone(&identity.config)))
    }

    fn start(answers: Arc<Answers>, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (halt, log) = (Arc::clone(&stop), Arc::clone(&asked));
        let thread = std::thread::spawn(move || {
            let mut served = Vec::new();
            for stream in listener.incoming() {
                if halt.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let (answers, tls) = (Arc::clone(&answers), tls.clone());
                let (halt, log) = (Arc::clone(&halt), Arc::clone(&log));
                served.push(std::thread::spawn(move || {
                    // A client that hangs up is no concern of the server's.
                    let _ = serve(stream, tls, &*answers, &halt, &log);
                }));
                served.retain(|thread| !thread.is_finished());
            }
            for thread in served {
                thread.join().unwrap();
            }
        });
        Self {
            address,
            stop,
            asked,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The listener wakes up for a last visitor.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

fn serve(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    answers: &Answers,
    stop: &AtomicBool,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LONGEST))?;
    stream.set_write_timeout(Some(LONGEST))?;
    match tls {
        None => talk(stream, answers, stop, log),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
            talk(StreamOwned::new(connection, stream), answers, stop, log)
        }
    }
}

fn talk(
    stream: impl Read + Write,
    answers: &Answers,
    stop: &AtomicBool,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first)?;
    let mut asked = Asked {
        path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers: Vec::new(),
    };
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        asked.headers.push(line.trim().to_ascii_lowercase());
    }
    log.lock().unwrap().push(asked.clone());
    let stream = stream.get_mut();
    match answers(&asked) {
        Reply::Bytes(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()
        }
        Reply::Endless(head, more, pause) => {
            stream.write_all(&head)?;
            while !stop.load(Ordering::SeqCst) {
                stream.write_all(&more)?;
                stream.flush()?;
                std::thread::park_timeout(pause);
            }
            Ok(())
        }
        Reply::Silent(head) => {
            stream.write_all(&head)?;
            stream.flush()?;
            // Until the client hangs up.
            let mut byte = [0];
            while !stop.load(Ordering::SeqCst) && stream.read(&mut byte)? > 0 {}
            Ok(())
        }
    }
}

/// Somebody whose certificates clients of this test believe, or not.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: Vec<u8>,
}

/// A certificate of a server with its key.
pub(crate) struct Identity {
    config: Arc<ServerConfig>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().to_vec();
        Self {
            issuer: Issuer::new(params, key),
            root,
        }
    }

    /// Its own certificate.
    pub(crate) fn root(&self) -> Vec<u8> {
        self.root.clone()
    }

    /// A certificate for these names.
    pub(crate) fn identity(&self, names: &[&str]) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).unwrap();
        self.signed(params)
    }

    /// A certificate that is no longer good.
    pub(crate) fn expired(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        self.signed(params)
    }

    fn signed(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Identity {
            config: Arc::new(config),
        }
    }
}
