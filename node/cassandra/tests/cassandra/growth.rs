//! An archive in one node, with 50,000 transactions and with 1,000,000, for `cargo xtask
//! verify cluster-growth`.
//!
//! A small version runs in `node.rs`, which has its node already.

use milepost_cassandra::{Address, CassandraArchive};
use milepost_testing::cluster::{Cluster, DATA_CENTER, Security};

pub(crate) mod reads;

/// Transactions of each archive
const SIZES: [u64; 2] = [50_000, 1_000_000];
const READS: u64 = 20_000;
const WRITERS: usize = 4;

#[test]
#[ignore = "starts nodes, as `cargo xtask verify cluster-growth` does"]
fn reads_of_a_large_archive() {
    let cluster = Cluster::start(1, Security::None).unwrap();
    reads::head();
    for size in SIZES {
        let keyspace = format!("growth{size}?dc={DATA_CENTER}&replication=1");
        let address: Address =
            format!("cassandra://{}/{keyspace}", cluster.hosts()).parse().unwrap();
        CassandraArchive::create(&address).unwrap();
        // Each has 64 rows on their way, and the node takes 32 of them in each 5 ms.
        let writers = [(); WRITERS].map(|()| CassandraArchive::open(&address).unwrap());
        reads::measure(&writers, size, READS);
    }
    println!("one node, one copy of each row; a read is one row, one at a time");
}
