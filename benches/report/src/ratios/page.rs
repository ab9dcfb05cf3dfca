//! The page of ratios: what was compared, how, on which machine, and which targets were reached.
//!
//! Figures are paired by their names: a variant of ours with the same variant of the peer, or else
//! with the peer's only one. Figures without a peer have a table of their own.

use core::fmt::Write as _;

use super::figures::{Figure, Figures};
use crate::machine::Machine;

/// The group that exists only with the feature `rocksdb`
const PEER_ON_ROCKSDB: &str = "response on redb, peer on RocksDB";
const NO_ROCKSDB: &str =
    "\nWithout RocksDB, which `cargo xtask bench --rocksdb` builds and measures.\n";

/// The descriptions of the groups, in the order of the page
const GROUPS: [(&str, &str); 11] = [
    (
        "response in memory",
        "The response about a final transaction with the given number of receipts, from rows in memory: \
         from a parsed request, from a request body, as a query that can be suspended, and as chunks \
         borrowed from the row. The first two reuse their buffers, the query allocates, as a node does.",
    ),
    ("response not final", "The same while the last block is not final yet."),
    (
        "response on redb",
        "The same from rows in a file, which fits into the cache of the store; the peer's rows are in a \
         `HashMap`.",
    ),
    (
        PEER_ON_ROCKSDB,
        "The same, with the peer's rows in RocksDB, in column families as a node has them, with filters and \
         a cache that holds all rows, without compression.",
    ),
    (
        "walk and milestone",
        "Determining the milestone of a transaction. The peer converts all outcomes and receipts to views, as \
         a node does. The engine reads one row of a final transaction, and all rows of another one.",
    ),
    (
        "import per receipt",
        "From the block messages of a transaction to the canonical texts of which responses consist, divided \
         by its number of receipts. The peer is the node's response about it, divided likewise.",
    ),
    ("request", "From the bytes of a request to a checked, typed request."),
    (
        "protocol configuration",
        "The configuration in force at the final block: from a parsed request, from a request body, as a \
         query that can be suspended, and as chunks borrowed from its row. The first two reuse their \
         buffers.",
    ),
    (
        "import",
        "From a block message to its commit in memory, and without the commit: reading, checking and \
         writing canonical texts. The peer reads the same bytes into the types of \
         `near-indexer-primitives`, with which an indexer begins.",
    ),
    (
        "wake-ups of a block",
        "A block of 2,000 changes that affects 100 of the given number of open requests: the 100 are found \
         and woken; and evaluated until each is answered or waits again. The peer builds the status of \
         every open request, as a node does on each block to find the requests that it can answer; it \
         writes no response.",
    ),
    ("codec", "Codecs of the engine, compared with the crates that a node uses."),
];

/// The minimum ratio of the peer's median to ours: group, side, size (all if empty), factor
const TARGETS: [(&str, &str, &str, f64); 14] = [
    ("response in memory", "ours", "1", 500.0),
    ("response in memory", "ours", "10", 300.0),
    ("response in memory", "ours", "100", 300.0),
    ("response in memory", "ours", "300", 140.0),
    ("response in memory", "ours", "1000", 120.0),
    ("response in memory", "ours", "1 MiB deployment", 500.0),
    ("response on redb", "ours", "10", 100.0),
    ("import per receipt", "ours", "", 15.0),
    ("request", "ours", "form B", 4.5),
    ("request", "ours", "form A, 200 B of arguments", 3.0),
    ("request", "ours", "form A, 1 MiB of code", 2.4),
    ("protocol configuration", "ours", "final", 500.0),
    ("import", "ours", "", 3.0),
    ("wake-ups of a block", "ours", "10000", 1_000.0),
];

/// The lower bounds: group, what is measured
const LOWER_BOUNDS: [(&str, &str); 4] = [
    (
        "response in memory",
        "copying the response into a reused buffer; borrowed chunks are not copied",
    ),
    (
        "response on redb",
        "the same copy; the file adds finding the page and checking the checksum of the row",
    ),
    (
        "request",
        "base64 and SHA-256 of the same bytes, by the same crates with the vector and SHA instructions of \
         the processor; both sides need them",
    ),
    (
        "protocol configuration",
        "copying the response into a reused buffer; borrowed chunks are not copied",
    ),
];

/// Parsers of the same JSON that keep nothing of it: side, what they do
const PARSERS: [(&str, &str); 3] = [
    (
        "lower bound by serde_json",
        "the peer's own parser, the fastest of the compared ones, ignoring all values: it checks no schema, \
         sorts nothing, writes nothing and keeps nothing",
    ),
    (
        "lower bound by simd-json",
        "a parser with vector instructions, up to its list of values, which is not read",
    ),
    ("lower bound by copying", "the bytes, copied into a reused buffer and not parsed"),
];

/// The distribution of our time, from profiles taken by hand: group, size (all if empty),
/// distribution
const PROFILES: [(&str, &str, &str); 4] = [
    (
        "import per receipt",
        "",
        "the input is JSON, while the peer starts with rows in Borsh, so reading all of the bytes is the lower \
         bound. Ours reads each byte about twice, to write canonical texts and to validate the values: two \
         thirds of the instructions, with the UTF-8 check. The rest is hashes from base58, rows and their \
         keys.",
    ),
    (
        "request",
        "form A, 200 B of arguments",
        "SHA-256 is two fifths of the time and base64 a tenth; scanning the one long string and the UTF-8 \
         check are a twentieth each. The rest is spread over the members of the request and the transaction.",
    ),
    (
        "request",
        "form A, 1 MiB of code",
        "SHA-256 is three quarters and base64 an eighth. The rest is memory access: the text is scanned for \
         UTF-8 and for the end of its string.",
    ),
    (
        "protocol configuration",
        "final",
        "the copy is most of the instructions, and reading three rows a tenth: the head, the list of heights \
         that have a configuration, and the one in force.",
    ),
];

const ABOUT_LOWER_BOUNDS: &str = "\
## Lower bounds

The necessary part of the work, measured by itself in the same run. *Peer / bound* is the ratio if all other work
cost nothing, so a target above it cannot be reached in this way.

| | | bound | ours | ours / bound | peer / bound | the bound is |
|---|---|---:|---:|---:|---:|---|
";

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask verify bench`, which measures all of it again; not by hand. Each line compares two medians of one run,
in one process, over the same data. Compare ratios, not times: times depend on the machine below.

**The peer** is the path of a reference node (2.14), rebuilt from its public crates (`near-primitives` and its family,
0.38.0): generic JSON value, typed request, Borsh rows, recursive walk, views, generic JSON value, bytes. It is faster
than a node, because its rows are in a `HashMap` instead of RocksDB, and because it sends no messages between actors,
looks up no epoch and has no metrics. Where both sides respond, the responses are compared byte by byte before they are
timed.

**The workload** is a transaction whose receipts form a tree of three children each; every outcome has a proof of 12
steps, every receipt a call with 200 bytes of arguments, 2 logs of 120 bytes and a gas profile of 20 rows. Its rows are
in the processor's caches, on both sides.

**The clock** is the processor time of the measuring thread. Both sides allocate with jemalloc. Inputs are made
before the clock starts, and outputs are dropped before it stops; our side reuses a buffer only where the description
says so. Recorded blocks of the network are measured where they are available.
";

/// Marks a load above that of the benches
const BUSY: &str = ", busy";

const DISK: &str = "\
## Bytes on disk

1,200 blocks of one practice chain in each storage. All sizes are divided by the number of finalized transactions, and in the
last column by the bytes that clients receive about them; each storage of ours gives these same bytes.

- **redb with all blocks** is a store without pruning. *Rows* are all tables with their keys: the texts of responses, the
  positions of outcomes in them, blocks. *Used pages* are those that redb allocates: 4 KiB, or that times a power of two
  for a longer row, and half empty where rows became short. The file grows in steps, and keeps what is free in it.
- **The hot store** forgets blocks that the archive has, as a server does at the head of its chain (`--retention`). Its size
  depends on the blocks that it keeps, and not on the length of the chain.
- **The archive** is what finalized transactions are moved to; together with the hot store it answers all requests. Its files
  have the index of receipts, and the proofs of blocks. *As written* is with the dictionary that comes with the program,
  which is of practice data too; then `milepost archive train --recompress` was run. [Evidence](EVIDENCE.md#archive) has
  the figures of real transactions. The journals beside the files, of at most 128 MiB, are left out.
- **RocksDB**, which `--rocksdb` builds, has the rows of which a node makes these answers: signed transactions, receipts and
  outcomes in Borsh, in blocks of 16 KiB that zstd compresses with a dictionary of 32 KiB, as in a node, after
  compaction. A node also stores blocks, chunks with these transactions and receipts once more, and state; none of it is
  counted.

";

/// The page about these figures, with the table of what is on disk
pub(super) fn page(figures: &Figures, disk: &str, machine: &Machine) -> String {
    let missed = compared(figures).filter(|line| line.reached() == Some(false)).count();
    let targets = compared(figures).filter(|line| line.target.is_some()).count();
    let has_rocksdb = figures.group(PEER_ON_ROCKSDB).next().is_some();
    let rocksdb = if has_rocksdb { "" } else { NO_ROCKSDB };
    let mut page = format!("{HEAD}{rocksdb}\n{}\n", table(machine));
    let _ = writeln!(
        page,
        "Of {targets} targets, {} are reached and {missed} missed.\n",
        targets - missed
    );
    page.push_str(&tables(figures));
    let _ = write!(page, "\n{DISK}{disk}");
    page
}

/// The tables of all groups, and of the figures without a peer
pub(super) fn tables(figures: &Figures) -> String {
    let mut text = String::new();
    for (group, about) in GROUPS {
        if figures.group(group).next().is_none() {
            continue;
        }
        let _ = writeln!(text, "## {}\n\n{about}\n", capitalized(group));
        text.push_str("| | ours | peer | ratio | target | |\n|---|---:|---:|---:|---:|---|\n");
        for line in compared(figures).filter(|line| line.ours.group == group) {
            let _ = writeln!(text, "{}", line.row());
        }
        text.push('\n');
    }
    text.push_str(&lower_bounds(figures));
    let has_no_peer = |figure: &&Figure| GROUPS.iter().all(|(group, _)| figure.group != *group);
    let mut unpaired = figures.0.iter().filter(has_no_peer).peekable();
    if unpaired.peek().is_some() {
        text.push_str(
            "## Without a peer\n\nOperations with the given number of open requests, with short outcomes, and \
             signatures. The documentation of `milepost-benches` describes them.\n\n\
             | | open | time |\n|---|---:|---:|\n",
        );
        for Figure { side, size, median, .. } in unpaired {
            let _ = writeln!(text, "| {side} | {size} | {} |", time(*median));
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The table of lower bounds; empty if none was measured
fn lower_bounds(figures: &Figures) -> String {
    let mut text = String::new();
    let mut row = |bound: &Figure, description: &str| {
        let ours = figures.median(&bound.group, "ours", &bound.size);
        let peer = figures.median(&bound.group, "peer", &bound.size);
        let relative = |median: Option<f64>| median.map(|median| factor(median / bound.median));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {description} |",
            capitalized(&bound.group),
            bound.size,
            time(bound.median),
            ours.map(time).unwrap_or_default(),
            relative(ours).unwrap_or_default(),
            relative(peer).unwrap_or_default(),
        );
    };
    for (group, description) in LOWER_BOUNDS {
        let bounds = figures.group(group).filter(|figure| figure.side == "lower bound");
        bounds.for_each(|bound| row(bound, description));
    }
    for (side, _) in PARSERS {
        let bounds = figures.0.iter().filter(|figure| figure.side == side);
        bounds.for_each(|bound| row(bound, &bound.side));
    }
    if text.is_empty() {
        return text;
    }
    if figures.0.iter().any(|figure| figure.side == PARSERS[0].0) {
        text.push('\n');
        for (side, description) in PARSERS {
            let _ = writeln!(text, "- **{}**: {description}", capitalized(side));
        }
    }
    let missed = |group: &str, size: &str| {
        let of = |ours: &Figure| ours.group == group && (size.is_empty() || ours.size == size);
        compared(figures).any(|line| of(line.ours) && line.reached() == Some(false))
    };
    let profiles = PROFILES.iter().filter(|(group, size, _)| missed(group, size));
    for (index, (group, size, distribution)) in profiles.enumerate() {
        let before =
            if index == 0 { "\nThe distribution of the time of missed figures:\n\n" } else { "" };
        let size = if size.is_empty() { String::new() } else { format!(", {size}") };
        let _ = writeln!(text, "{before}- **{}{size}**: {distribution}", capitalized(group));
    }
    format!("{ABOUT_LOWER_BOUNDS}{text}\n")
}

/// A figure of ours and its peer's
struct Comparison<'figures> {
    ours: &'figures Figure,
    peer: f64,
    target: Option<f64>,
}

/// All pairs, in the order of the figures
fn compared(figures: &Figures) -> impl Iterator<Item = Comparison<'_>> {
    figures.0.iter().filter_map(|ours| {
        let variant = ours.side.strip_prefix("ours")?;
        let Figure { group, side, size, .. } = ours;
        // A variant of one side only is compared with the plain variant of the other.
        let peer = figures.median(group, &format!("peer{variant}"), size);
        let peer = peer.or_else(|| figures.median(group, "peer", size))?;
        let target = TARGETS
            .iter()
            .find(|(of, by, at, _)| (*of, *by) == (group, side) && (at.is_empty() || at == size));
        Some(Comparison { ours, peer, target: target.map(|(.., factor)| *factor) })
    })
}

impl Comparison<'_> {
    fn ratio(&self) -> f64 {
        self.peer / self.ours.median
    }

    /// Whether the target is reached, if there is one
    fn reached(&self) -> Option<bool> {
        self.target.map(|target| self.ratio() >= target)
    }

    fn row(&self) -> String {
        let Figure { side, size, median, .. } = self.ours;
        let variant = side.strip_prefix("ours").unwrap_or_default();
        let (target, result) = match (self.target, self.reached()) {
            (Some(target), Some(true)) => (factor(target), "reached"),
            (Some(target), _) => (factor(target), "**missed**"),
            (None, _) => (String::new(), ""),
        };
        let (ours, peer, ratio) = (time(*median), time(self.peer), factor(self.ratio()));
        format!("| {size}{variant} | {ours} | {peer} | {ratio} | {target} | {result} |")
    }
}

fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    first.to_uppercase() + rest
}

/// A ratio with its significant digits
fn factor(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.1}x"),
        ..10_000.0 => format!("{ratio:.0}x"),
        _ => format!("{:.0},000x", ratio / 1_000.0),
    }
}

/// A time with three significant digits
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

/// The machine and its load, as a table
fn table(machine: &Machine) -> String {
    let Machine { processor, cores, cache, memory_gib, compiler, load: [_, load], .. } = machine;
    // The benches themselves cause a load of 1.
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
    fn figures_are_compared_with_their_peers_and_targets() {
        let figures = Figures(vec![
            figure("response in memory", "ours", "10", 1_000.0),
            figure("response in memory", "ours with the request", "10", 2_000.0),
            figure("response in memory", "peer", "10", 400_000.0),
            figure("response in memory", "peer with the request", "10", 420_000.0),
            figure("response in memory", "lower bound", "10", 500.0),
            figure("import", "lower bound by serde_json", "a block", 800_000.0),
            figure("request", "ours", "form A, 200 B of arguments", 900.0),
            figure("request", "peer", "form A, 200 B of arguments", 2_000.0),
            figure("import", "ours", "a block", 2_000_000.0),
            figure("import", "ours without commit", "a block", 1_000_000.0),
            figure("import", "peer", "a block", 5_000_000.0),
            figure("waiters", "suspend 100", "1000", 10.0),
        ]);
        let tables = tables(&figures);
        for line in [
            "| 10 | 1.00 us | 400 us | 400x | 300x | reached |",
            "| 10 with the request | 2.00 us | 420 us | 210x |  |  |",
            "| a block | 2.00 ms | 5.00 ms | 2.5x | 3.0x | **missed** |",
            "| a block without commit | 1.00 ms | 5.00 ms | 5.0x |  |  |",
            "| Response in memory | 10 | 500 ns | 1.00 us | 2.0x | 800x | copying the response",
            "- **Request, form A, 200 B of arguments**: SHA-256 is",
            "| Import | a block | 800 us | 2.00 ms | 2.5x | 6.2x | lower bound by serde_json |",
            "- **Lower bound by simd-json**: a parser with vector",
            "| suspend 100 | 1000 | 10.0 ns |",
        ] {
            assert!(tables.contains(line), "{line} is not in\n{tables}");
        }
        assert!(
            page(&figures, "", &Machine::now())
                .contains("Of 3 targets, 1 are reached and 2 missed.")
        );
    }

    #[test]
    fn every_target_and_lower_bound_is_of_a_group_on_the_page() {
        for (of, ..) in TARGETS {
            assert!(GROUPS.iter().any(|(group, _)| *group == of), "{of}");
        }
        for (of, ..) in LOWER_BOUNDS {
            assert!(GROUPS.iter().any(|(group, _)| *group == of), "{of}");
        }
    }
}
