//! Connections that are accepted and not yet served, in turns by address.
//!
//! The kernel has them in one queue, in which a client would come after all that an attacker
//! opened before it. Here each address, and each /64 of IPv6, has a queue of its own, and one
//! connection of each is served after the other. Their number is limited with that of all
//! connections.

use alloc::collections::VecDeque;
use core::net::IpAddr;
use std::collections::HashMap;

use super::client::network_of;

/// The queues
#[derive(Debug)]
pub(super) struct NewConnections<T> {
    /// Those of each address in the order in which they came; no queue is empty
    queues: HashMap<IpAddr, VecDeque<T>>,
    /// The addresses of the queues, in the order of their turns
    turns: VecDeque<IpAddr>,
}

impl<T> NewConnections<T> {
    pub(super) fn new() -> Self {
        Self { queues: HashMap::new(), turns: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Adds a connection, as the last of its address
    pub(super) fn push(&mut self, address: IpAddr, connection: T) {
        let network = network_of(address);
        let queue = self.queues.entry(network).or_default();
        if queue.is_empty() {
            self.turns.push_back(network);
        }
        queue.push_back(connection);
    }

    /// The first connection of the address whose turn it is
    pub(super) fn pop(&mut self) -> Option<T> {
        let network = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&network)?;
        let connection = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&network);
        } else {
            self.turns.push_back(network);
        }
        connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_turns_and_connections_of_one_stay_in_order() {
        let mut new = NewConnections::new();
        let [many, few, network] = ["10.0.0.1", "10.0.0.2", "2001:db8::1"];
        for number in 0..100 {
            new.push(many.parse().unwrap(), (many, number));
        }
        new.push(few.parse().unwrap(), (few, 0));
        new.push(network.parse().unwrap(), (network, 0));
        new.push("2001:db8::2".parse().unwrap(), (network, 1));
        let served: Vec<_> = core::iter::from_fn(|| new.pop()).collect();
        let first = [(many, 0), (few, 0), (network, 0), (many, 1), (network, 1), (many, 2)];
        assert_eq!(served[..6], first);
        assert!(served[6..].iter().copied().eq((3..100).map(|number| (many, number))));
        assert!(new.is_empty() && new.queues.is_empty());
        // An address that was served has its next turn after those that wait.
        new.push(few.parse().unwrap(), (few, 1));
        assert_eq!(new.pop(), Some((few, 1)));
    }
}
