//! Stands between a worker and the database, and cuts the connection where a test wants it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::server::Server;

const PASS: u8 = 0;
/// What holds an entry is not passed on.
const BEFORE: u8 = 1;
/// It is passed on, and the answer is not.
const AFTER: u8 = 2;
/// Everything was cut; new connections are passed on again.
const CUT: u8 = 3;
/// Nothing is passed on.
const DEAD: u8 = 4;

/// Names the table that only a batch writes to.
const BATCH: &[u8] = b"INSERT INTO toolgate_entries";

pub(crate) struct Proxy {
    port: u16,
    mode: Arc<AtomicU8>,
}

impl Proxy {
    pub(crate) fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mode = Arc::new(AtomicU8::new(PASS));
        let socket = server.socket.join(".s.PGSQL.5432");
        let shared = Arc::clone(&mode);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                pass(client.unwrap(), socket.clone(), Arc::clone(&shared));
            }
        });
        Self { port, mode }
    }

    pub(crate) fn address(&self) -> String {
        let port = self.port;
        format!("host=127.0.0.1 port={port} user=toolgate dbname=toolgate sslmode=disable")
    }

    /// Passes nothing on, until it is told to.
    pub(crate) fn is_dead(&self, dead: bool) {
        self.mode
            .store(if dead { DEAD } else { PASS }, Ordering::SeqCst);
    }

    /// Cuts the next batch, before or after it is written.
    pub(crate) fn cut_next_commit(&self, written: bool) {
        let mode = if written { AFTER } else { BEFORE };
        self.mode.store(mode, Ordering::SeqCst);
    }
}

fn pass(mut client: TcpStream, socket: PathBuf, mode: Arc<AtomicU8>) {
    let mut server = UnixStream::connect(socket).unwrap();
    let mut from_server = server.try_clone().unwrap();
    let mut to_client = client.try_clone().unwrap();
    let silent = Arc::new(AtomicU8::new(0));
    let also = Arc::clone(&silent);
    std::thread::spawn(move || {
        let mut bytes = vec![0; 65536];
        loop {
            let read = from_server.read(&mut bytes).unwrap_or(0);
            if also.load(Ordering::SeqCst) > 0 {
                // The answer to the commit: it is done, and nobody is told.
                if read == 0 || bytes[..read].windows(7).any(|part| part == b"COMMIT\0") {
                    let _ = to_client.shutdown(Shutdown::Both);
                    return;
                }
                continue;
            }
            if read == 0 || to_client.write_all(&bytes[..read]).is_err() {
                let _ = to_client.shutdown(Shutdown::Both);
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        loop {
            let read = client.read(&mut bytes).unwrap_or(0);
            if read == 0 {
                let _ = server.shutdown(Shutdown::Both);
                return;
            }
            let is_batch = bytes[..read].windows(BATCH.len()).any(|part| part == BATCH);
            match mode.load(Ordering::SeqCst) {
                BEFORE if is_batch => {
                    mode.store(CUT, Ordering::SeqCst);
                    let _ = server.shutdown(Shutdown::Both);
                    let _ = client.shutdown(Shutdown::Both);
                    return;
                }
                DEAD => {
                    let _ = server.shutdown(Shutdown::Both);
                    let _ = client.shutdown(Shutdown::Both);
                    return;
                }
                AFTER if is_batch => {
                    mode.store(CUT, Ordering::SeqCst);
                    silent.store(1, Ordering::SeqCst);
                }
                _ => {}
            }
            if server.write_all(&bytes[..read]).is_err() {
                return;
            }
        }
    });
}
