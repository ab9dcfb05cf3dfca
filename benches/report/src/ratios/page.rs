//! The page of ratios: what was compared, how, on which machine, and which targets were reached.
//!
//! Figures are paired by their names: a way of ours stands beside the same way of the peer, or
//! beside its plain one. A figure without a peer is shown by itself.

use core::fmt::Write as _;

use super::figures::{Figure, Figures};
use crate::machine::Machine;

/// The group that there is only where RocksDB was built
const BESIDE_ROCKSDB: &str = "answer on redb beside RocksDB";
const NO_ROCKSDB: &str =
    "\nRocksDB was not measured; `cargo xtask evidence bench --rocksdb` does, where it builds.\n";

/// What each group is, in the order of the page
const GROUPS: [(&str, &str); 11] = [
    (
        "answer in memory",
        "The answer about a final transaction with so many receipts, from rows in memory: without \
         reading the request, with it, by way of a question that could be suspended, and lent from the \
         row in pieces. The first two answer in memory that is used again, the exchange in new memory, as \
         a node does.",
    ),
    ("answer not final", "The same while the last block is not final yet."),
    (
        "answer on redb",
        "The same from rows in a file, which fits into the memory of the store; the peer's rows stay \
         in a `HashMap`.",
    ),
    (
        BESIDE_ROCKSDB,
        "The same, and the peer's rows in RocksDB, in columns as a node has them, with filters and a \
         cache that holds everything, without compression.",
    ),
    (
        "walk and milestone",
        "Finding out how far a transaction is. The peer makes views of everything on its way, as a \
         node does. The engine reads what decides: of a final transaction one row, of another all that \
         belong to it.",
    ),
    (
        "cold render",
        "From the block messages of a transaction to the texts that answers are joined from, divided by \
         its receipts. The peer is the node's answer about it, divided likewise.",
    ),
    ("request", "From the bytes of a request to a checked, typed request."),
    (
        "protocol configuration",
        "The configuration in force at the final block: without reading the request, with it, by way of \
         a question that could be suspended, and lent from its row in pieces. The first two write into a \
         buffer that is used again.",
    ),
    (
        "ingest",
        "A block message until it is committed in memory, and until it is read, checked and rendered. The \
         peer reads the same bytes into the types of `near-indexer-primitives`, where an indexer \
         begins.",
    ),
    (
        "block beside a node",
        "A block of 2,000 facts that concerns 100 of so many open requests: whoever it concerns is \
         found and woken; and then asked, until each is answered or asleep again. The peer builds the \
         status of every open request, as a node does on each block to find out whom it can answer; it \
         writes no answer.",
    ),
    ("codec", "Codecs of the engine beside the crates that a node uses."),
];

/// How many times less than the peer's a median is to be: group, side, size (all if empty), factor
const TARGETS: [(&str, &str, &str, f64); 14] = [
    ("answer in memory", "ours", "1", 500.0),
    ("answer in memory", "ours", "10", 300.0),
    ("answer in memory", "ours", "100", 300.0),
    ("answer in memory", "ours", "300", 140.0),
    ("answer in memory", "ours", "1000", 120.0),
    ("answer in memory", "ours", "1 MiB deployment", 500.0),
    ("answer on redb", "ours", "10", 100.0),
    ("cold render", "ours", "", 15.0),
    ("request", "ours", "form B", 4.5),
    ("request", "ours", "form A, 200 B of arguments", 3.0),
    ("request", "ours", "form A, 1 MiB of code", 2.4),
    ("protocol configuration", "ours", "final", 500.0),
    ("ingest", "ours", "", 3.0),
    ("block beside a node", "ours", "10000", 1_000.0),
];

/// What cannot be left out, measured by itself: group, what it is
const FLOORS: [(&str, &str); 4] = [
    (
        "answer in memory",
        "the bytes of the answer, copied from one buffer into the one that is used again; lent answers \
         leave it out",
    ),
    (
        "answer on redb",
        "the same copy; the file adds finding the page and comparing the checksum of the row",
    ),
    (
        "request",
        "base64 and SHA-256 of the same bytes, by the same crates with the vector and the SHA \
         instructions of the processor; both sides need them",
    ),
    (
        "protocol configuration",
        "the bytes of the answer, copied from one buffer into the one that is used again; lent answers \
         leave it out",
    ),
];

/// Readers of the same JSON who keep nothing of it: side, what they do
const READERS: [(&str, &str); 3] = [
    (
        "floor of serde_json",
        "the quickest reader of JSON here, the peer's own, told to ignore whatever it reads: it checks no \
         shape, puts nothing in order, renders nothing and keeps nothing",
    ),
    (
        "floor of simd-json",
        "a reader by the vector instructions of the processor, up to its list of values, which nobody \
         looks at",
    ),
    ("floor of copying", "the bytes, copied into a buffer that is used again, and not looked at"),
];

/// Where the time of ours goes, by profiles that were taken by hand: group, size (all if empty),
/// where
const PROFILES: [(&str, &str, &str); 4] = [
    (
        "cold render",
        "",
        "the facts come as JSON, where the peer begins with rows of borsh, so reading all of the bytes is the floor. \
         Ours looks at each about twice, to write it in canonical form and to recognise the values of every fact: \
         two thirds of the instructions, with the check for UTF-8. The rest goes into hashes from base58, rows and \
         their keys.",
    ),
    (
        "request",
        "form A, 200 B of arguments",
        "SHA-256 is two fifths of the time and base64 a tenth; the scan of the one long string and the check for UTF-8 \
         are a twentieth each. What is left is spread over the members of the request and of the transaction.",
    ),
    (
        "request",
        "form A, 1 MiB of code",
        "SHA-256 is three quarters and base64 an eighth. The rest is memory: the text is looked at for UTF-8 and for \
         the end of its string.",
    ),
    (
        "protocol configuration",
        "final",
        "the copy has most of the instructions, and the looks for three rows a tenth: the head, the list of heights \
         that have a configuration, and the one in force.",
    ),
];

const ABOUT_FLOORS: &str = "\
## Floors

What a figure cannot do without, measured by itself in the same run. *Peer / floor* is the ratio that would be left
if all else cost nothing, so a target above it is out of reach of this way.

| | | floor | ours | ours / floor | peer / floor | the floor is |
|---|---|---:|---:|---:|---:|---|
";

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask evidence bench`, which measures all of it anew; not by hand. Each line compares two medians of one run,
in one process, over the same facts. What counts is the ratio: times are of the machine below, and other machines have
others.

**The peer** is the path of a reference node (2.14), rebuilt from its public crates (`near-primitives` and its family,
0.38.0): generic JSON value, typed request, borsh rows, recursive walk, views, generic JSON value, bytes. It is faster
than a node, because its rows lie in a `HashMap` instead of RocksDB, and because it sends no message between actors,
looks up no epoch and keeps no metrics. Where both sides answer, the answers are compared byte by byte before they are
timed.

**The workload** is a transaction whose receipts form a tree of three children each; every outcome has a proof of 12
steps, every receipt a call with 200 bytes of arguments, 2 logs of 120 bytes and a gas profile of 20 rows. Its rows are
in the caches of the processor, on both sides.

**The clock** is the processor time of the measuring thread. Both sides allocate with jemalloc. Inputs are made ready
before the clock starts, and what is given is freed before it stops; only where it is said so, our side writes into a
buffer that is used again. Recorded blocks of the network are measured where they are at hand.
";

/// Said of a machine that does more than one thing
const BUSY: &str = ", busy";

const DISK: &str = "\
## Bytes on disk

What a settled transaction takes in the file of the durable storage, divided by their number: 1,200 blocks of a
practice chain, nothing removed, committed one by one and several at a time. *Answers* are the bytes that a client is
sent. *Rows* are those of all tables with their keys: the text of the answer, where its outcomes stand, blocks. *Pages*
are what redb takes for them, 4 KiB or that times a power of two for a longer row, and half empty where rows became
short. The file grows in steps.

";

/// The page about these figures, with the table of what is on disk
pub(super) fn page(figures: &Figures, disk: &str, machine: &Machine) -> String {
    let missed = compared(figures).filter(|line| line.reached() == Some(false)).count();
    let targets = compared(figures).filter(|line| line.target.is_some()).count();
    let is_beside = figures.group(BESIDE_ROCKSDB).next().is_some();
    let rocksdb = if is_beside { "" } else { NO_ROCKSDB };
    let mut page = format!("{HEAD}{rocksdb}\n{}\n", table(machine));
    let _ = writeln!(
        page,
        "Of {targets} targets, {} are reached and {missed} missed.\n",
        targets - missed
    );
    page.push_str("![Cost of an answer by its receipts](cost-by-receipts.svg)\n\n");
    page.push_str(&tables(figures));
    let _ = write!(page, "\n{DISK}{disk}");
    page
}

/// The tables of all groups, and of the figures that stand alone
pub(super) fn tables(figures: &Figures) -> String {
    let mut text = String::new();
    for (group, about) in GROUPS {
        if figures.group(group).next().is_none() {
            continue;
        }
        let _ = writeln!(text, "## {}\n\n{about}\n", sentence(group));
        text.push_str("| | ours | peer | ratio | target | |\n|---|---:|---:|---:|---:|---|\n");
        for line in compared(figures).filter(|line| line.ours.group == group) {
            let _ = writeln!(text, "{}", line.row());
        }
        text.push('\n');
    }
    text.push_str(&floors(figures));
    let alone = |figure: &&Figure| GROUPS.iter().all(|(group, _)| figure.group != *group);
    let mut alone = figures.0.iter().filter(alone).peekable();
    if alone.peek().is_some() {
        text.push_str(
            "## Open requests\n\nNo peer stands beside these: what they show is how little depends on the number \
             of open requests, with short outcomes. See the documentation of `milepost-benches`.\n\n\
             | | open | time |\n|---|---:|---:|\n",
        );
        for Figure { side, size, median, .. } in alone {
            let _ = writeln!(text, "| {side} | {size} | {} |", time(*median));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The table of what cannot be left out; nothing if nothing of it was measured
fn floors(figures: &Figures) -> String {
    let mut text = String::new();
    let mut row = |floor: &Figure, what: &str| {
        let ours = figures.median(&floor.group, "ours", &floor.size);
        let peer = figures.median(&floor.group, "peer", &floor.size);
        let beside = |median: Option<f64>| median.map(|median| factor(median / floor.median));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {what} |",
            sentence(&floor.group),
            floor.size,
            time(floor.median),
            ours.map(time).unwrap_or_default(),
            beside(ours).unwrap_or_default(),
            beside(peer).unwrap_or_default(),
        );
    };
    for (group, what) in FLOORS {
        let floors = figures.group(group).filter(|figure| figure.side == "floor");
        floors.for_each(|floor| row(floor, what));
    }
    for (side, _) in READERS {
        let floors = figures.0.iter().filter(|figure| figure.side == side);
        floors.for_each(|floor| row(floor, &floor.side));
    }
    if text.is_empty() {
        return text;
    }
    if figures.0.iter().any(|figure| figure.side == READERS[0].0) {
        text.push('\n');
        for (side, what) in READERS {
            let _ = writeln!(text, "- **{}**: {what}", sentence(side));
        }
    }
    let missed = |group: &str, size: &str| {
        let of = |ours: &Figure| ours.group == group && (size.is_empty() || ours.size == size);
        compared(figures).any(|line| of(line.ours) && line.reached() == Some(false))
    };
    let profiles = PROFILES.iter().filter(|(group, size, _)| missed(group, size));
    for (index, (group, size, why)) in profiles.enumerate() {
        let before = if index == 0 { "\nWhere the time of a missed figure goes:\n\n" } else { "" };
        let size = if size.is_empty() { String::new() } else { format!(", {size}") };
        let _ = writeln!(text, "{before}- **{}{size}**: {why}", sentence(group));
    }
    format!("{ABOUT_FLOORS}{text}\n")
}

/// Two figures beside each other
struct Compared<'figures> {
    ours: &'figures Figure,
    peer: f64,
    target: Option<f64>,
}

/// All pairs, in the order of the figures
fn compared(figures: &Figures) -> impl Iterator<Item = Compared<'_>> {
    figures.0.iter().filter_map(|ours| {
        let way = ours.side.strip_prefix("ours")?;
        let Figure { group, side, size, .. } = ours;
        // Whatever was measured on one side only stands beside the plain way of the other.
        let peer = figures.median(group, &format!("peer{way}"), size);
        let peer = peer.or_else(|| figures.median(group, "peer", size))?;
        let target = TARGETS
            .iter()
            .find(|(of, by, at, _)| (*of, *by) == (group, side) && (at.is_empty() || at == size));
        Some(Compared { ours, peer, target: target.map(|(.., factor)| *factor) })
    })
}

impl Compared<'_> {
    fn ratio(&self) -> f64 {
        self.peer / self.ours.median
    }

    /// Whether the target is reached, if there is one
    fn reached(&self) -> Option<bool> {
        self.target.map(|target| self.ratio() >= target)
    }

    fn row(&self) -> String {
        let Figure { side, size, median, .. } = self.ours;
        let way = side.strip_prefix("ours").unwrap_or_default();
        let (target, verdict) = match (self.target, self.reached()) {
            (Some(target), Some(true)) => (factor(target), "reached"),
            (Some(target), _) => (factor(target), "**missed**"),
            (None, _) => (String::new(), ""),
        };
        let (ours, peer, ratio) = (time(*median), time(self.peer), factor(self.ratio()));
        format!("| {size}{way} | {ours} | {peer} | {ratio} | {target} | {verdict} |")
    }
}

fn sentence(words: &str) -> String {
    let (first, rest) = words.split_at(words.len().min(1));
    first.to_uppercase() + rest
}

/// A ratio with as many digits as it is worth
fn factor(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.1}x"),
        ..10_000.0 => format!("{ratio:.0}x"),
        _ => format!("{:.0},000x", ratio / 1_000.0),
    }
}

/// A time with three digits
fn time(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        ..1e6 => (nanoseconds / 1e3, "us"),
        ..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    match number {
        ..10.0 => format!("{number:.2} {unit}"),
        ..100.0 => format!("{number:.1} {unit}"),
        _ => format!("{number:.0} {unit}"),
    }
}

/// The machine and how busy it was, as a table
fn table(machine: &Machine) -> String {
    let Machine { processor, cores, cache, memory_gib, compiler, load: [_, load], .. } = machine;
    // The benches themselves are one.
    let is_busy = load.parse().is_ok_and(|load: f64| load > 1.5);
    let busy = if is_busy { BUSY } else { "" };
    format!(
        "| machine | |\n|---|---|\n| processor | {processor}, {cores} cores, cache {cache} |\n\
         | memory | {memory_gib} GiB |\n| system | {} {} |\n\
         | load over the last five minutes | {load}{busy} |\n\
         | compiler | {compiler}, release, thin LTO, no `target-cpu` |\n",
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(group: &str, side: &str, size: &str, median: f64) -> Figure {
        Figure { group: group.into(), side: side.into(), size: size.into(), median }
    }

    #[test]
    fn figures_stand_beside_their_peers_and_their_targets() {
        let figures = Figures(vec![
            figure("answer in memory", "ours", "10", 1_000.0),
            figure("answer in memory", "ours with the request", "10", 2_000.0),
            figure("answer in memory", "peer", "10", 400_000.0),
            figure("answer in memory", "peer with the request", "10", 420_000.0),
            figure("answer in memory", "floor", "10", 500.0),
            figure("ingest", "floor of serde_json", "a block", 800_000.0),
            figure("request", "ours", "form A, 200 B of arguments", 900.0),
            figure("request", "peer", "form A, 200 B of arguments", 2_000.0),
            figure("ingest", "ours", "a block", 2_000_000.0),
            figure("ingest", "ours without commit", "a block", 1_000_000.0),
            figure("ingest", "peer", "a block", 5_000_000.0),
            figure("waiters", "admit 100", "1000", 10.0),
        ]);
        let tables = tables(&figures);
        for line in [
            "| 10 | 1.00 us | 400 us | 400x | 300x | reached |",
            "| 10 with the request | 2.00 us | 420 us | 210x |  |  |",
            "| a block | 2.00 ms | 5.00 ms | 2.5x | 3.0x | **missed** |",
            "| a block without commit | 1.00 ms | 5.00 ms | 5.0x |  |  |",
            "| Answer in memory | 10 | 500 ns | 1.00 us | 2.0x | 800x | the bytes of the answer",
            "- **Request, form A, 200 B of arguments**: SHA-256 is",
            "| Ingest | a block | 800 us | 2.00 ms | 2.5x | 6.2x | floor of serde_json |",
            "- **Floor of simd-json**: a reader by the vector",
            "| admit 100 | 1000 | 10.0 ns |",
        ] {
            assert!(tables.contains(line), "{line} is not in\n{tables}");
        }
        assert!(
            page(&figures, "", &Machine::now())
                .contains("Of 3 targets, 1 are reached and 2 missed.")
        );
    }

    #[test]
    fn every_target_is_one_of_a_group_on_the_page() {
        for (of, ..) in TARGETS {
            assert!(GROUPS.iter().any(|(group, _)| *group == of), "{of}");
        }
        for (of, ..) in FLOORS {
            assert!(GROUPS.iter().any(|(group, _)| *group == of), "{of}");
        }
    }
}
