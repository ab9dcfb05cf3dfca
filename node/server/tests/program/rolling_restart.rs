//! Two servers behind a balancer, each of which is replaced by a new one: no request fails.
//!
//! The balancer sends each connection to a server whose `/ready` is 200, by turns. A server begins
//! to stop by a second signal, when the balancer has noticed the first, so that nothing depends on
//! time.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Scope};

use crate::support::{Client, Server};

/// Time between two looks at `/ready`
const INTERVAL: Duration = Duration::from_millis(10);
/// Clients that send requests all the time, each on a new connection
const CLIENTS: usize = 4;
/// Requests that each of them has answered in each state of the servers: the first may have begun
/// before
const REQUESTS: usize = 5;

/// A server of the balancer
struct Backend {
    address: SocketAddr,
    is_ready: bool,
}

/// A balancer of connections
struct Balancer {
    listener: TcpListener,
    backends: Mutex<Vec<Backend>>,
    turn: AtomicUsize,
    is_over: AtomicBool,
}

impl Balancer {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let (backends, turn) = (Mutex::default(), AtomicUsize::new(0));
        Self { listener, backends, turn, is_over: AtomicBool::new(false) }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("it listens")
    }

    fn backends(&self) -> MutexGuard<'_, Vec<Backend>> {
        self.backends.lock().expect("nothing panics with the lock")
    }

    /// Adds a server, and waits until it gets connections
    fn add(&self, server: &Server) {
        self.backends().push(Backend { address: server.address, is_ready: false });
        server.until("in the balancer", || self.has(server));
    }

    fn has(&self, server: &Server) -> bool {
        let is_it = |backend: &Backend| backend.address == server.address && backend.is_ready;
        self.backends().iter().any(is_it)
    }

    /// Asks each server whether it is ready, again and again
    fn check(&self) {
        while !self.is_over.load(SeqCst) {
            let addresses: Vec<_> = self.backends().iter().map(|it| it.address).collect();
            for address in addresses {
                let is_ready = is_ready(address);
                let mut backends = self.backends();
                let found = backends.iter_mut().find(|it| it.address == address);
                found.expect("none is removed").is_ready = is_ready;
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Passes connections on until the end
    fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        for client in self.listener.incoming() {
            if self.is_over.load(SeqCst) {
                break;
            }
            let client = client.expect("a connection");
            let turn = self.turn.fetch_add(1, SeqCst);
            let address = {
                let backends = self.backends();
                let ready: Vec<_> = backends.iter().filter(|it| it.is_ready).collect();
                ready[turn % ready.len()].address
            };
            // A client whose server does not accept sees the end of its connection.
            let Ok(server) = TcpStream::connect(address) else { continue };
            for (mut from, mut to) in [
                (client.try_clone().expect("a handle"), server.try_clone().expect("a handle")),
                (server, client),
            ] {
                scope.spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    }

    fn end(&self) {
        self.is_over.store(true, SeqCst);
        // Wakes what accepts.
        let _ = TcpStream::connect(self.address());
    }
}

/// Ends the balancer, also after a panic, for which the scope would wait for ever
struct EndOnDrop<'balancer>(&'balancer Balancer);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request("/ready").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    };
    ask().is_ok_and(|text| text.starts_with("HTTP/1.1 200 "))
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
}

#[test]
fn no_request_fails_while_servers_behind_a_balancer_are_replaced() {
    let start = || Server::with_blocks(&["--drain", "1h"]);
    let balancer = Balancer::new();
    let answered: [AtomicUsize; CLIENTS] = Default::default();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = EndOnDrop(&balancer);
        scope.spawn(|| balancer.check());
        let mut servers = vec![start(), start()];
        servers.iter().for_each(|server| balancer.add(server));
        scope.spawn(|| balancer.accept(scope));
        let ask = |count: &AtomicUsize| {
            while !is_done.load(SeqCst) {
                let mut client = Client::connect(balancer.address());
                client.send(&request("/status"));
                assert_eq!(client.response().status, 200);
                count.fetch_add(1, SeqCst);
            }
        };
        let clients: Vec<_> =
            answered.iter().map(|count| scope.spawn(move || ask(count))).collect();
        let go_on = |server: &Server| {
            for count in &answered {
                let enough = count.load(SeqCst) + REQUESTS;
                server.until("further answers", || count.load(SeqCst) >= enough);
            }
        };
        for _ in 0..2 {
            let old = servers.remove(0);
            go_on(&old);
            old.signal("TERM");
            old.until("out of the balancer", || !balancer.has(&old));
            go_on(&old);
            old.signal("TERM");
            assert_eq!(old.ended().code(), Some(0));
            let new = start();
            balancer.add(&new);
            go_on(&new);
            servers.push(new);
        }
        is_done.store(true, SeqCst);
        for client in clients {
            client.join().expect("no request failed");
        }
    });
}
