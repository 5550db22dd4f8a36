//! A web server on this very machine that answers as a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nobody waits longer than this for a client that has stopped reading or writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that came.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Method and path, as in `POST /v1/messages`.
    pub line: String,
    /// Its headers; the names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// When its first byte was there.
    pub began: Instant,
}

impl Heard {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// How a body is sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// In these pieces, and it ends as it should.
    Pieces(Vec<Vec<u8>>),
    /// This much, and then the connection is gone.
    Cut(Vec<u8>),
    /// This again and again until so many bytes are sent or the client has gone.
    Repeated(Vec<u8>, u64),
    /// This much, and then nothing, until the client has gone.
    Hangs(Vec<u8>),
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub sent: Sent,
}

impl Told {
    /// A whole answer of this type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            sent: Sent::Pieces(vec![body.into()]),
        }
    }

    /// The same with another way of sending its body.
    #[must_use]
    pub fn sent(mut self, sent: Sent) -> Self {
        self.sent = sent;
        self
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

type Answerer = dyn FnMut(&Heard) -> Told + Send;

/// The server. It ends with this value.
pub struct Loopback {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    answered: Arc<Mutex<Vec<Instant>>>,
    over: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Starts a server that answers every request with what the function says.
    pub fn start(answer: impl FnMut(&Heard) -> Told + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let over = Arc::new(AtomicBool::new(false));
        let answer: Arc<Mutex<Box<Answerer>>> = Arc::new(Mutex::new(Box::new(answer)));
        let answered: Arc<Mutex<Vec<Instant>>> = Arc::default();
        let times = Arc::clone(&answered);
        let connections = Arc::new(AtomicUsize::new(0));
        let (list, ended, count) = (
            Arc::clone(&heard),
            Arc::clone(&over),
            Arc::clone(&connections),
        );
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                let (list, answer) = (Arc::clone(&list), Arc::clone(&answer));
                let times = Arc::clone(&times);
                // A connection ends when its client does, or loses patience.
                std::thread::spawn(move || drop(serve(stream, &list, &times, &answer)));
            }
        });
        Self {
            address,
            heard,
            answered,
            over,
            connections,
            thread: Some(thread),
        }
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How long each client took from the last byte of an answer to the first byte of its
    /// next request, for one client that asks one thing after the other.
    pub fn gaps(&self) -> Vec<Duration> {
        let heard = self.heard.lock().unwrap();
        let answered = self.answered.lock().unwrap();
        let next = heard.iter().skip(1).map(|heard| heard.began);
        let pairs = answered.iter().zip(next);
        pairs
            .map(|(told, next)| next.saturating_duration_since(*told))
            .collect()
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(
    stream: TcpStream,
    list: &Mutex<Vec<Heard>>,
    times: &Mutex<Vec<Instant>>,
    answer: &Mutex<Box<Answerer>>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(heard) = request(&mut reader)? {
        let told = answer.lock().unwrap()(&heard);
        list.lock().unwrap().push(heard);
        let again = respond(&mut writer, &mut reader, told);
        times.lock().unwrap().push(Instant::now());
        if !again? {
            break;
        }
    }
    Ok(())
}

fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Heard>> {
    if reader.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let began = Instant::now();
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Heard {
        line,
        headers,
        body,
        began,
    }))
}

/// Sends an answer, and says whether the connection can be used again.
fn respond(
    writer: &mut TcpStream,
    reader: &mut BufReader<TcpStream>,
    told: Told,
) -> std::io::Result<bool> {
    let mut head = format!(
        "HTTP/1.1 {} Told\r\ntransfer-encoding: chunked\r\n",
        told.status
    );
    for (name, value) in &told.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let chunk = |bytes: &[u8]| {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        chunk
    };
    let mut out = head.into_bytes();
    match told.sent {
        Sent::Pieces(pieces) => {
            let pieces: Vec<Vec<u8>> = pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .collect();
            let last = pieces.len().saturating_sub(1);
            for (index, piece) in pieces.iter().enumerate() {
                out.extend(chunk(piece));
                if index < last {
                    writer.write_all(&out)?;
                    out.clear();
                }
            }
            out.extend_from_slice(b"0\r\n\r\n");
            writer.write_all(&out)?;
            Ok(true)
        }
        Sent::Cut(bytes) => {
            out.extend(chunk(&bytes));
            writer.write_all(&out)?;
            Ok(false)
        }
        Sent::Repeated(bytes, most) => {
            let (one, mut left) = (chunk(&bytes), most);
            writer.write_all(&out)?;
            while left > 0 {
                writer.write_all(&one)?;
                left = left.saturating_sub(u64::try_from(bytes.len()).unwrap_or(left).max(1));
            }
            Ok(false)
        }
        Sent::Hangs(bytes) => {
            if !bytes.is_empty() {
                out.extend(chunk(&bytes));
            }
            writer.write_all(&out)?;
            // Until the client closes.
            drop(reader.fill_buf());
            Ok(false)
        }
    }
}
