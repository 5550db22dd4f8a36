//! A site with one page that a test changes.

use std::sync::{Arc, Mutex};

use crate::fixture::{PUBLIC, Site};
use crate::server::{Reply, Server};

/// A site with one page at `http://page.example/`, which a test changes.
pub(crate) struct OnePage {
    pub(crate) site: Site,
    reply: Arc<Mutex<Reply>>,
    pub(crate) server: Server,
    asked: u64,
}

impl OnePage {
    pub(crate) fn new() -> Self {
        let reply = Arc::new(Mutex::new(Reply::html("")));
        let served = Arc::clone(&reply);
        let server = Server::new(move |_| served.lock().unwrap().clone());
        let site = Site::new();
        site.network.name("page.example", &[&[PUBLIC]]);
        site.network.port(80, server.address());
        Self {
            site,
            reply,
            server,
            asked: 0,
        }
    }

    pub(crate) fn serve(&mut self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    /// A URL of the page that was not asked for yet.
    pub(crate) fn url(&mut self) -> String {
        self.asked += 1;
        format!("http://page.example/?{}", self.asked)
    }
}
