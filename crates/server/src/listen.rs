//! Connections: how many, how long they may say nothing, and how they end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::state::State;

/// The most bytes of a request's head.
const MAX_HEAD: usize = 32 * 1024;

/// How long to wait after an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

const TURNED_AWAY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n";

/// Takes connections until the server stops, and returns what works on them.
pub(crate) async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    state: Arc<State>,
) -> TaskTracker {
    let tasks = TaskTracker::new();
    let places = Arc::new(Semaphore::new(state.options.limits.connections));
    loop {
        let accepted = tokio::select! {
            () = state.stopping.cancelled() => return tasks,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            state.counters.turned_away();
            // Nobody waits for it: a client that does not read is none the wiser.
            let _ = stream.try_write(TURNED_AWAY);
            continue;
        };
        let (tls, router, state) = (tls.clone(), router.clone(), Arc::clone(&state));
        tasks.spawn(async move {
            let _place = place;
            let _open = state.counters.connection();
            connection(stream, tls, router, &state).await;
        });
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    state: &Arc<State>,
) {
    let _ = stream.set_nodelay(true);
    let head = state.options.limits.head;
    match tls {
        None => serve(stream, router, state).await,
        Some(acceptor) => {
            // A failed handshake is the client's to notice.
            if let Ok(Ok(stream)) = tokio::time::timeout(head, acceptor.accept(stream)).await {
                serve(stream, router, state).await;
            }
        }
    }
}

async fn serve<S>(stream: S, router: Router, state: &Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.options.limits.head)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    tokio::pin!(served);
    tokio::select! {
        // Errors of a connection are the client's to notice.
        _ = served.as_mut() => return,
        () = state.closing.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(state.options.limits.shutdown, served).await;
}
