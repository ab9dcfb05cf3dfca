//! What clients and servers of a run share: the model, the way to the server, and the counts.
//!
//! Clients connect by a connector, of which there is none while no server runs. Nothing is locked
//! while a task waits.

use alloc::collections::BTreeMap;
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
    /// The way to the server that runs
    pub(super) connector: watch::Sender<Option<Connector>>,
    model: Mutex<Model>,
    figures: Mutex<Figures>,
    /// When a process of the server began to stop
    stops: Mutex<BTreeMap<usize, Instant>>,
    /// What went wrong in tasks that return nothing
    failure: Mutex<Option<String>>,
}

/// The way to a server
#[derive(Clone)]
pub(super) struct Connector {
    /// The number of the process
    pub(super) process: usize,
    pub(super) connections: mpsc::UnboundedSender<DuplexStream>,
    pub(super) killed: watch::Receiver<bool>,
}

impl World {
    pub(super) fn new(chain: Chain, model: Model, is_printed: bool) -> Self {
        Self {
            chain,
            is_printed,
            start: Instant::now(),
            connector: watch::Sender::new(None),
            model: Mutex::new(model),
            figures: Mutex::default(),
            stops: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    pub(super) fn model<T>(&self, call: impl FnOnce(&mut Model) -> T) -> T {
        call(&mut self.model.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn count(&self, call: impl FnOnce(&mut Figures)) {
        call(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn figures(&self) -> Figures {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a process of the server begins to stop
    pub(super) fn stop(&self, process: usize) {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.insert(process, Instant::now());
    }

    /// When a process of the server began to stop, if it has
    pub(super) fn stopped(&self, process: usize) -> Option<Instant> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).get(&process).copied()
    }

    pub(super) fn fail(&self, error: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
    }

    pub(super) fn failure(&self) -> Result<(), String> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), Err)
    }

    /// The connector of the server that runs, once there is one
    pub(super) async fn running_server(&self) -> Connector {
        let mut connectors = self.connector.subscribe();
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
