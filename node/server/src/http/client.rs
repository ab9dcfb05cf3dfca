//! The client of a connection, and how much one address may have at a time.
//!
//! An address is that of the connection: behind a proxy all clients have that of the proxy, which
//! has to limit them itself. An IPv6 address counts with all of its /64, which is what one customer
//! has. Only addresses that have something are remembered, so the table is no larger than the
//! number of connections.

use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::num::NonZero;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;

use super::memory_budget::MemoryBudget;
use crate::chain::Chain;

/// What one address may have at a time of something
#[derive(Debug)]
pub(super) struct AddressLimit {
    /// What it is, in the plural
    what: &'static str,
    /// `None` for no limit, which costs nothing
    limit: Option<NonZero<usize>>,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// An address is at its limit
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct AddressLimitError {
    what: &'static str,
    limit: usize,
}

impl fmt::Display for AddressLimitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an address may have {} {} at a time", self.limit, self.what)
    }
}

impl AddressLimit {
    pub(super) fn new(what: &'static str, limit: Option<NonZero<usize>>) -> Arc<Self> {
        Arc::new(Self { what, limit, counts: Mutex::default() })
    }

    /// Counts this many for an address, until the result is dropped
    pub(super) fn acquire(
        self: &Arc<Self>,
        address: IpAddr,
        count: usize,
    ) -> Result<AddressPermit, AddressLimitError> {
        let Some(limit) = self.limit.map(NonZero::get) else { return Ok(AddressPermit(None)) };
        let address = network_of(address);
        let mut counts = self.lock();
        let taken = counts.get(&address).copied().unwrap_or_default();
        if count > limit - taken.min(limit) {
            return Err(AddressLimitError { what: self.what, limit });
        }
        if count > 0 {
            counts.insert(address, taken + count);
        }
        Ok(AddressPermit(Some((Arc::clone(self), address, count))))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // No code that can panic runs under this lock.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is counted for an address, until this is dropped; nothing without a limit
#[derive(Debug, Default)]
pub(super) struct AddressPermit(Option<(Arc<AddressLimit>, IpAddr, usize)>);

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let Some((limit, address, count)) = &self.0 else { return };
        let mut counts = limit.lock();
        if let Some(taken) = counts.get_mut(address) {
            *taken -= count;
            if *taken == 0 {
                counts.remove(address);
            }
        }
    }
}

/// The address that counts for this one
pub(super) fn network_of(address: IpAddr) -> IpAddr {
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
    address: IpAddr,
    requests: Arc<AddressLimit>,
    _permit: Option<OwnedSemaphorePermit>,
    _connection: AddressPermit,
    memory: MemoryBudget,
    _counted: Option<CountedConnection>,
}

impl Client {
    pub(super) fn new(
        address: IpAddr,
        requests: &Arc<AddressLimit>,
        permit: Option<OwnedSemaphorePermit>,
        connection: AddressPermit,
        memory: &MemoryBudget,
        counted: Option<CountedConnection>,
    ) -> Self {
        Self {
            address,
            requests: Arc::clone(requests),
            _permit: permit,
            _connection: connection,
            memory: memory.of_connection(),
            _counted: counted,
        }
    }

    /// One of no address and without limits
    #[cfg(test)]
    pub(super) fn without_limits() -> Self {
        let requests = AddressLimit::new("requests", None);
        Self::new(
            Ipv6Addr::LOCALHOST.into(),
            &requests,
            None,
            AddressPermit::default(),
            &MemoryBudget::new(0),
            None,
        )
    }

    /// The memory of which its bodies and requests count
    pub(super) const fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    /// The address for which it counts
    pub(super) fn network(&self) -> IpAddr {
        network_of(self.address)
    }

    /// Counts requests, and transactions that are watched, for the address
    pub(super) fn begin(&self, count: usize) -> Result<AddressPermit, AddressLimitError> {
        self.requests.acquire(self.address, count)
    }
}

/// Counts a connection in the metrics until it is dropped
pub(super) struct CountedConnection(Arc<Chain>);

impl CountedConnection {
    pub(super) fn new(chain: Arc<Chain>) -> Self {
        chain.metrics.connections.inc();
        Self(chain)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.metrics.connections.dec();
    }
}

impl fmt::Debug for CountedConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CountedConnection").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_no_more_than_the_limit_at_a_time() {
        let limit = AddressLimit::new("requests", NonZero::new(3));
        let one = address("10.0.0.1");
        let taken = limit.acquire(one, 2).unwrap();
        let refused = limit.acquire(one, 2).unwrap_err();
        assert_eq!(refused.to_string(), "an address may have 3 requests at a time");
        let third = limit.acquire(one, 1).unwrap();
        assert!(limit.acquire(one, 1).is_err() && limit.acquire(one, usize::MAX).is_err());
        let other = limit.acquire(address("10.0.0.2"), 3).unwrap();
        drop(taken);
        let taken = limit.acquire(one, 2).unwrap();
        drop((taken, third, other));
        assert!(limit.lock().is_empty());
        assert!(limit.acquire(one, 4).is_err() && limit.acquire(one, 0).is_ok());
        assert!(limit.lock().is_empty());
    }

    #[test]
    fn an_ipv6_network_of_64_bits_is_one_address() {
        let limit = AddressLimit::new("connections", NonZero::new(1));
        let taken = limit.acquire(address("2001:db8:1:2::1"), 1).unwrap();
        assert!(limit.acquire(address("2001:db8:1:2:ffff::9"), 1).is_err());
        assert!(limit.acquire(address("2001:db8:1:3::1"), 1).is_ok());
        // The same in both notations.
        let mapped = limit.acquire(address("::ffff:10.0.0.1"), 1).unwrap();
        assert!(limit.acquire(address("10.0.0.1"), 1).is_err());
        assert!(limit.acquire(address("::ffff:10.0.0.2"), 1).is_ok());
        drop((taken, mapped));
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let limit = AddressLimit::new("requests", None);
        let taken = limit.acquire(address("10.0.0.1"), usize::MAX).unwrap();
        assert!(limit.lock().is_empty() && taken.0.is_none());
    }
}
