//! The way out: names to addresses, addresses to connections.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::{TcpStream, lookup_host};

/// How the network is reached. What is asked here has been checked, and is not asked twice.
pub trait Network: fmt::Debug + Send + Sync {
    /// Every address that a name leads to.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    /// A connection to this very address.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// The network of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Internet;

impl Network for Internet {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            let found = lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        }
        .boxed()
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        TcpStream::connect(address).boxed()
    }
}
