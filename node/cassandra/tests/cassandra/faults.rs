//! An archive in three nodes while they are killed, paused and slowed down under load.
//!
//! Whatever happens to the nodes, no row that was acknowledged is lost and none is read that was
//! not put; a call either answers or fails, and works again by itself. How many calls fail is a
//! figure and no verdict, since it depends on the machine. `cargo xtask verify cluster-faults` runs
//! this.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use milepost::ErrorKind;
use milepost::archive::{Archive, Envelope, Origin, WriterId};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost_cassandra::{Address, CassandraArchive};
use milepost_testing::cluster::{Calls, Cluster, DATA_CENTER, Node, Security};

const WRITERS: u64 = 4;
const READERS: u64 = 4;
/// Rows of one put
const ROWS: u64 = 10;
const ROW_BYTES: usize = 2000;
/// How long each state of the cluster is under load
const PHASE: Duration = Duration::from_secs(10);
/// By how much a slow disk takes longer to write
const SLOW_SYNC: Duration = Duration::from_millis(300);
/// Longer than it takes on a machine with other work
const RECOVERY: Duration = Duration::from_secs(300);

#[test]
#[ignore = "starts nodes, as `cargo xtask verify cluster-faults` does"]
fn nothing_acknowledged_is_lost() {
    let mut cluster = Cluster::start(3, Security::None).unwrap();
    let address: Address =
        format!("cassandra://{}/faults?dc={DATA_CENTER}", cluster.hosts()).parse().unwrap();
    CassandraArchive::create(&address).unwrap();
    // Two processes have handles of their own.
    let archives = [(); 2].map(|()| CassandraArchive::open(&address).unwrap());
    let load = Load::default();
    thread::scope(|scope| {
        let _stop = StopOnDrop(&load.is_over);
        for number in 0..WRITERS {
            let (load, archive) = (&load, &archives[number as usize % 2]);
            scope.spawn(move || load.write(number, archive));
        }
        for number in 0..READERS {
            let (load, archive) = (&load, &archives[number as usize % 2]);
            scope.spawn(move || load.read(number, archive));
        }
        load.phase("all nodes up");
        for number in 0..3 {
            let node = &mut cluster.nodes()[number];
            node.kill().unwrap();
            load.phase(&format!("node {} killed", number + 1));
            restart(node);
            load.recover(&format!("node {} back", number + 1));
        }
        cluster.nodes()[1].pause().unwrap();
        load.phase("node 2 paused");
        cluster.nodes()[1].resume().unwrap();
        load.recover("node 2 resumed");
        for number in 0..2 {
            let slow_disk = cluster.nodes()[number].slow_disk(SLOW_SYNC).unwrap();
            load.phase(&format!("the disk of node {} is slow", number + 1));
            drop(slow_disk);
            load.recover(&format!("the disk of node {} is as before", number + 1));
        }
        for number in [0, 2] {
            cluster.nodes()[number].kill().unwrap();
        }
        load.phase("nodes 1 and 3 killed");
        // The node that is left knows by now.
        load.phase("ten seconds later");
        load.phase("twenty seconds later");
        for number in [0, 2] {
            cluster.nodes()[number].start().unwrap();
        }
        for number in [0, 2] {
            cluster.nodes()[number].wait().unwrap();
        }
        load.recover("all nodes back");
        load.phase("all nodes up again");
    });
    let acknowledged = load.acknowledged();
    for (writer, count) in (0..).zip(&acknowledged) {
        for first in (0..*count).step_by(100) {
            let numbers: Vec<u64> = (first..(*count).min(first + 100)).collect();
            let keys: Vec<Key> = numbers.iter().map(|number| key(writer, *number)).collect();
            let mut rows = Vec::new();
            archives[0].get_many(&keys, &mut rows).unwrap();
            for (number, found) in numbers.iter().zip(&rows) {
                let wanted = Some(row(writer, *number));
                assert!(*found == wanted, "row {number} of writer {writer}: {found:?}");
            }
        }
    }
    let total: u64 = acknowledged.iter().sum();
    println!("{total} acknowledged rows read back, 0 lost, 0 wrong");
    assert_eq!(*load.wrong.lock().unwrap(), Vec::<String>::new());
}

fn restart(node: &mut Node) {
    node.start().unwrap();
    node.wait().unwrap();
}

fn key(writer: u64, number: u64) -> Key {
    let name = format!("{writer} {number}");
    Key::hash(Table::ArchivedTransactions, CryptoHash::digest(name.as_bytes()))
}

/// The only row that is put at this key
fn row(writer: u64, number: u64) -> Row {
    let hash = CryptoHash::digest(&[writer.to_be_bytes(), number.to_be_bytes()].concat());
    let content: Vec<u8> = hash.as_bytes().iter().copied().cycle().take(ROW_BYTES).collect();
    Envelope::plain(Origin::of(WriterId(writer)), &content).encode().into()
}

/// Ends the load also when a check fails, so that its threads can be joined
struct StopOnDrop<'load>(&'load AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Writers, readers, and what became of their calls
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    /// Rows of each writer that were acknowledged, which have the numbers below
    acknowledged: [AtomicU64; WRITERS as usize],
    puts: Calls,
    reads: Calls,
    /// Why calls failed, and how many
    reasons: Mutex<BTreeMap<String, usize>>,
    /// What must not be
    wrong: Mutex<Vec<String>>,
}

impl Load {
    fn write(&self, writer: u64, archive: &impl Archive) {
        let acknowledged = &self.acknowledged[writer as usize];
        while !self.is_over.load(Ordering::Acquire) {
            // The same rows again after a failure: any part of them may be there.
            let first = acknowledged.load(Ordering::Acquire);
            let numbers = first..first + ROWS;
            let rows: Vec<_> =
                numbers.map(|number| (key(writer, number), row(writer, number))).collect();
            let begin = Instant::now();
            let put = archive.put_many(&rows);
            self.puts.add(begin, put.is_ok());
            match put {
                Ok(()) => acknowledged.store(first + ROWS, Ordering::Release),
                Err(error) => self.expect_storage("put", &error),
            }
        }
    }

    fn read(&self, reader: u64, archive: &impl Archive) {
        let mut random = reader;
        while !self.is_over.load(Ordering::Acquire) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let writer = (random >> 60) % WRITERS;
            let count = self.acknowledged[writer as usize].load(Ordering::Acquire);
            if count == 0 {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let number = (random >> 20) % count;
            let (begin, mut rows) = (Instant::now(), Vec::new());
            let read = archive.get_many(&[key(writer, number)], &mut rows);
            self.reads.add(begin, read.is_ok());
            match read {
                Ok(()) if rows == [Some(row(writer, number))] => {}
                Ok(()) => self.wrong(format!("row {number} of writer {writer} is {rows:?}")),
                Err(error) => self.expect_storage("read", &error),
            }
        }
    }

    fn expect_storage(&self, call: &str, error: &milepost::Error) {
        if error.kind() != ErrorKind::Storage {
            self.wrong(format!("{call}: {error}"));
        }
        // Without the key, which is another one each time
        let reason = error.detail().split_once(" cannot be ").map_or(error.detail(), |(_, it)| it);
        let mut reasons = self.reasons.lock().unwrap();
        *reasons.entry(format!("{call} {reason}")).or_default() += 1;
    }

    fn wrong(&self, what: String) {
        let mut wrong = self.wrong.lock().unwrap();
        if wrong.len() < 20 {
            wrong.push(what);
        }
    }

    fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect()
    }

    /// Lets the load run and prints what became of it
    fn phase(&self, name: &str) {
        self.puts.report();
        self.reads.report();
        self.reasons.lock().unwrap().clear();
        thread::sleep(PHASE);
        println!("{name}:\n    put  {}\n    read {}", self.puts.report(), self.reads.report());
        for (reason, count) in core::mem::take(&mut *self.reasons.lock().unwrap()) {
            println!("    {count} failed: {}", reason.chars().take(160).collect::<String>());
        }
    }

    /// Waits until each writer and some reader have had an answer
    fn recover(&self, name: &str) {
        let (begin, before) = (Instant::now(), self.acknowledged());
        self.reads.report();
        loop {
            let goes_on = self.acknowledged().iter().zip(&before).all(|(now, then)| now > then);
            if goes_on && self.reads.answered() > 0 {
                break;
            }
            assert!(begin.elapsed() < RECOVERY, "{name}: the load does not continue");
            thread::sleep(Duration::from_millis(20));
        }
        println!("{name}: all continue after {:.1} s", begin.elapsed().as_secs_f64());
    }
}
