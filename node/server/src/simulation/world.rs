//! What clients and servers of a run share: the models, the ways to the servers, and the counts.
//!
//! Clients connect by a connector, of which a server has none while it does not run. Nothing but
//! the clock is locked while a task waits.

use alloc::collections::BTreeMap;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use tokio::io::{DuplexStream, duplex};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::chain::Chain;
use super::figures::Figures;
use super::model::Model;

/// What a run has
pub(super) struct World {
    pub(super) chain: Chain,
    /// Whether events are printed as they happen
    pub(super) is_printed: bool,
    pub(super) start: Instant,
    /// The maximum time that a request or a stream may choose to wait
    pub(super) max_wait: Duration,
    pub(super) servers: Vec<ServerWorld>,
    /// Held while the clock jumps, and while a stop is timed
    pub(super) clock: tokio::sync::Mutex<()>,
    /// Whether all clients are done
    pub(super) is_done: watch::Sender<bool>,
    figures: Mutex<Figures>,
    /// When a process of a server began to stop
    stops: Mutex<BTreeMap<(usize, usize), Instant>>,
    /// What went wrong in tasks that return nothing
    failure: Mutex<Option<String>>,
}

/// What one server shares with the clients, in all its processes
pub(super) struct ServerWorld {
    /// The way to the process that runs
    pub(super) connector: watch::Sender<Option<Connector>>,
    model: Mutex<Model>,
}

impl ServerWorld {
    pub(super) fn new(model: Model) -> Self {
        Self { connector: watch::Sender::new(None), model: Mutex::new(model) }
    }
}

/// The way to a server
#[derive(Clone)]
pub(super) struct Connector {
    /// The index of the server
    pub(super) server: usize,
    /// The number of the process, among those of its server
    pub(super) process: usize,
    pub(super) connections: mpsc::UnboundedSender<DuplexStream>,
    pub(super) killed: watch::Receiver<bool>,
}

impl World {
    pub(super) fn new(
        chain: Chain,
        servers: Vec<ServerWorld>,
        max_wait: Duration,
        is_printed: bool,
    ) -> Self {
        Self {
            chain,
            is_printed,
            start: Instant::now(),
            max_wait,
            servers,
            clock: tokio::sync::Mutex::default(),
            is_done: watch::Sender::new(false),
            figures: Mutex::default(),
            stops: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Calls with the model of a server
    pub(super) fn model<T>(&self, server: usize, call: impl FnOnce(&mut Model) -> T) -> T {
        call(&mut self.servers[server].model.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn count(&self, call: impl FnOnce(&mut Figures)) {
        call(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a process of the server begins to stop
    pub(super) fn stop(&self, server: usize, process: usize) {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.insert((server, process), Instant::now());
    }

    /// When the process of a connector began to stop, if it has
    pub(super) fn stopped(&self, connector: &Connector) -> Option<Instant> {
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.get(&(connector.server, connector.process)).copied()
    }

    pub(super) fn fail(&self, error: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
    }

    pub(super) fn failure(&self) -> Result<(), String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), Err)
    }

    /// The connector of a server, once it runs
    pub(super) async fn running_server(&self, server: usize) -> Connector {
        let mut connectors = self.servers[server].connector.subscribe();
        // The sender lives as long as `self`.
        let connector = connectors.wait_for(Option::is_some).await;
        connector.ok().and_then(|connector| connector.clone()).expect("a connector")
    }

    /// Milliseconds since the start
    pub(super) fn millis(&self) -> u128 {
        self.start.elapsed().as_millis()
    }
}

impl Connector {
    /// A connection with room for this many bytes on the way; `None` if no server listens
    pub(super) fn connect(&self, bytes: usize) -> Option<DuplexStream> {
        let (ours, theirs) = duplex(bytes);
        self.connections.send(theirs).ok().map(|()| ours)
    }

    /// Returns once the server is killed
    pub(super) async fn killed(&self) {
        let mut killed = self.killed.clone();
        // A server whose end of this is gone has stopped, and is not killed any more.
        if killed.wait_for(|killed| *killed).await.is_err() {
            core::future::pending::<()>().await;
        }
    }
}
