//! A gate whose web is a few servers on loopback.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::plan::Plan;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Call, ErrorKind, PlanRecord, ToolCall, ToolError, ToolResult};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::web::{Network, PrivateHosts, Roots, WebLimits, WebSettings};
use toolgate_tools::{ToolSettings, register_all};

/// An address that nobody forbids.
pub(crate) const PUBLIC: &str = "93.184.215.14";

/// The network of a test: names that it knows, and addresses that are really its servers.
#[derive(Debug, Default)]
pub(crate) struct TestNetwork {
    names: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    servers: Mutex<BTreeMap<u16, SocketAddr>>,
    resolved: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl TestNetwork {
    /// Answers for a name, one after the other; the last is given for ever.
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let parsed = answers.iter().map(|answer| {
            let addresses = answer.iter().map(|address| address.parse().unwrap());
            addresses.collect()
        });
        let mut names = self.names.lock().unwrap();
        names.insert(name.to_owned(), parsed.collect());
    }

    /// Where connections to a port really go.
    pub(crate) fn port(&self, port: u16, server: SocketAddr) {
        assert!(server.ip().is_loopback());
        self.servers.lock().unwrap().insert(port, server);
    }

    /// As if nothing had been known or asked.
    pub(crate) fn forget(&self) {
        self.names.lock().unwrap().clear();
        self.servers.lock().unwrap().clear();
        self.resolved.lock().unwrap().clear();
        self.connected.lock().unwrap().clear();
    }

    /// The names that were asked for.
    pub(crate) fn resolved(&self) -> Vec<String> {
        self.resolved.lock().unwrap().clone()
    }

    /// The addresses that were connected to.
    pub(crate) fn connected(&self) -> Vec<SocketAddr> {
        self.connected.lock().unwrap().clone()
    }
}

impl Network for TestNetwork {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.resolved.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let answer = names.get_mut(name).and_then(|answers| {
            let next = answers.front().cloned();
            if answers.len() > 1 {
                answers.pop_front();
            }
            next
        });
        let answer = answer.ok_or_else(|| io::Error::other("no such name"));
        std::future::ready(answer).boxed()
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.connected.lock().unwrap().push(address);
        let server = self.servers.lock().unwrap().get(&address.port()).copied();
        // A server of this test that was granted is reached at its own address.
        let server = server.or_else(|| address.ip().is_loopback().then_some(address));
        async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            TcpStream::connect(server.ok_or_else(refused)?).await
        }
        .boxed()
    }
}

/// A gate with the web's tools, and one conversation.
pub(crate) struct Site {
    _directory: TempDir,
    runtime: Runtime,
    gate: Gate,
    session: Arc<Session>,
    pub(crate) network: Arc<TestNetwork>,
}

/// How a site is made.
#[derive(Default)]
pub(crate) struct Plot {
    pub(crate) private_hosts: Vec<String>,
    pub(crate) limits: WebLimits,
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) tools: ToolSettings,
}

/// Limits for servers that take their time.
pub(crate) fn hasty() -> WebLimits {
    WebLimits {
        connect: Duration::from_millis(2_000),
        idle: Duration::from_millis(150),
        total: Duration::from_millis(600),
        ..WebLimits::default()
    }
}

impl Site {
    /// Nothing but the public internet.
    pub(crate) fn new() -> Self {
        Self::with(Plot::default())
    }

    /// A site that may reach these private hosts.
    pub(crate) fn granting(hosts: &[&str]) -> Self {
        Self::with(Plot {
            private_hosts: hosts.iter().map(ToString::to_string).collect(),
            ..Plot::default()
        })
    }

    pub(crate) fn with(plot: Plot) -> Self {
        let network = Arc::new(TestNetwork::default());
        let settings = ToolSettings {
            web: WebSettings {
                private_hosts: PrivateHosts::new(&plot.private_hosts).unwrap(),
                limits: plot.limits,
                roots: Roots::Only(plot.roots),
                network: Arc::clone(&network) as Arc<dyn Network>,
            },
            ..plot.tools
        };
        let registry = Registry::new();
        register_all(&registry, &settings).unwrap();
        let directory = TempDir::new().unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let gate = Gate::builder(
            Arc::new(registry),
            toolgate_gate::Rules::default(),
            sandbox,
            journal,
        )
        .build()
        .unwrap();
        Self {
            _directory: directory,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            gate,
            session: Arc::new(Session::new("test")),
            network,
        }
    }

    /// Makes one call.
    pub(crate) fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.call_until(&CancellationToken::new(), tool, args)
    }

    /// Makes one call that somebody may cancel.
    pub(crate) fn call_until(
        &self,
        cancel: &CancellationToken,
        tool: &str,
        args: Value,
    ) -> ToolResult {
        let passage = BatchContext {
            approver: Some(Arc::new(ApproveAll)),
            cancel: cancel.clone(),
            ..BatchContext::default()
        };
        let run = self
            .gate
            .run(&self.session, vec![whole(tool, args)], &passage);
        let mut results = self.runtime.block_on(run);
        assert_eq!(results.len(), 1, "one result per call");
        results.pop().unwrap()
    }

    /// Fetches a page that has to be there; its content.
    pub(crate) fn fetch(&self, args: Value) -> String {
        let shown = args.to_string();
        let result = self.call("web_fetch", args);
        assert_eq!(result.error, None, "{shown}");
        result.content
    }

    /// Fetches a URL that has to fail; why.
    pub(crate) fn fails(&self, args: Value) -> ToolError {
        let shown = args.to_string();
        let result = self.call("web_fetch", args);
        result.error.unwrap_or_else(|| panic!("{shown} went well"))
    }

    /// The kind of the error of a URL that has to fail.
    pub(crate) fn kind(&self, url: &str) -> ErrorKind {
        self.fails(json!({"url": url})).kind
    }

    /// Plans a call: what would be asked about, or why it ends here. Contacts nobody.
    pub(crate) fn plan(&self, tool: &str, args: Value) -> Result<PlanRecord, ToolError> {
        let plan = self.gate.plan(&self.session, vec![whole(tool, args)]);
        let planned = self.runtime.block_on(plan);
        assert_eq!(self.network.resolved(), [""; 0]);
        assert_eq!(self.network.connected(), []);
        let plan = planned.plans().next().unwrap();
        match plan {
            Plan::Settled(refusal) => Err(refusal.error.clone()),
            other => Ok(other.record().unwrap().clone()),
        }
    }
}

fn whole(tool: &str, args: Value) -> Call {
    let Value::Object(args) = args else {
        panic!("arguments are an object: {args}")
    };
    Call::Whole(ToolCall::new("c0", tool, args))
}

/// The rows of a file of sample cases.
pub(crate) fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
