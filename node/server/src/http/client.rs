//! The client of a connection, and the address for which it counts.
//!
//! An address is that of the connection: behind a proxy all clients have that of the proxy. An IPv6
//! address counts with all of its /64, which is what one customer has.

use core::net::{IpAddr, Ipv6Addr};
use core::sync::atomic::AtomicU64;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::OwnedSemaphorePermit;

use crate::request::MemoryBudget;

/// The address that counts for this one
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        address => address,
    }
}

/// A connection, as its requests see it; lasts as long as what it is upgraded to
#[derive(Debug)]
pub(super) struct Client {
    /// The address for which it counts
    network: IpAddr,
    _permit: Option<OwnedSemaphorePermit>,
    memory: MemoryBudget,
    /// The open connections of the server, of which it is one
    connections: Gauge<u64, AtomicU64>,
}

impl Client {
    pub(super) fn new(
        address: IpAddr,
        permit: Option<OwnedSemaphorePermit>,
        memory: &MemoryBudget,
        connections: &Gauge<u64, AtomicU64>,
    ) -> Self {
        connections.inc();
        let (network, memory) = (network_of(address), memory.of_connection());
        Self { network, _permit: permit, memory, connections: connections.clone() }
    }

    /// The memory of which its bodies and requests count
    pub(super) const fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// The address for which it counts
    pub(super) const fn network(&self) -> IpAddr {
        self.network
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connections.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_of_64_bits_is_one_address() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        // The same in both notations.
        assert_eq!(network("::ffff:10.0.0.1"), network("10.0.0.1"));
        assert_ne!(network("::ffff:10.0.0.2"), network("10.0.0.1"));
    }
}
