//! The page of evidence: the last figures of every long run, one section each.
//!
//! A run replaces its own section and keeps the others, so each section has its own date, version
//! and machine. The order of sections is fixed.

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::fs;

use crate::machine::{Machine, today};
use crate::plot::{Axes, Curve, Labels, plot};
use crate::{root, write};

const PAGE: &str = "docs/EVIDENCE.md";
const HEAD: &str = "\
# Evidence

Runs that take too long for `cargo xtask test`, with the figures of the last run of each. Written by
`cargo xtask evidence`, not by hand; a failed run writes nothing.
";

/// All sections in their order: name and description
const SECTIONS: &[(&str, &str)] = &[
    (
        "simulation",
        "Chains, forks, requests and storage failures are generated from a seed. The engine's responses and wake-ups are\n\
         compared with a naive oracle, which evaluates every open request again at each block. A difference fails the run;\n\
         the counts are of the events that occurred.",
    ),
    (
        "server-simulation",
        "The whole server runs on one thread by a clock that jumps: follower, import, store, waiting, watches and HTTP, over a\n\
         feed with faults and connections in memory. It is stopped and killed, and starts again over what its store keeps.\n\
         Each answer and event is compared with what a node would say at that time, and has to come when it is due.",
    ),
    (
        "open-requests",
        "Ten thousand HTTP requests are open at once on a release build. All are answered when their milestone is reached;\n\
         cancelled requests free their capacity; a shutdown answers all of them and resets no connection. One block wakes\n\
         as many at an endpoint that threads share: its lock is held to wake them, and not while a response is written.",
    ),
    (
        "watchers",
        "100,000 watchers of 20,000 transactions are at one server, by each transport that files of one process allow; a\n\
         client has one transaction. Blocks come in each 0.6 s. The same is done with 2,000 clients that poll each second.\n\
         Each has the newest state in the end. Times are from the commit to the bytes at the client, which shares both\n\
         processors with the server; processor time is without that of the same blocks without clients.",
    ),
    (
        "hostile-http",
        "A server of two processors is attacked over 10,000 connections, or over twenty that send as fast as they can, five\n\
         seconds each, by a program on the same machine. Another client, of another address, asks for a\n\
         transaction each 20 ms, each fifth time on a new connection; all its answers have to be right, and 99 of 100 within\n\
         100 ms of when they were due, also if it could not ask earlier. Memory is what is resident.",
    ),
    (
        "soak",
        "A server of the practice chain, with a block each 0.6 s, a store that keeps 300 blocks and its archive beside it:\n\
         four clients ask every 20 ms, a hundred wait, a hundred watch, and each ten seconds one of the attacks above runs\n\
         with a hundred connections. It is killed and stopped in the first minutes, and goes on with what it left. Answers\n\
         about final transactions stay the same bytes, whether they are in the store or in the archive. The times are those\n\
         of requests that do not wait; client and server share both processors.",
    ),
    (
        "fuzz",
        "Each fuzz target runs with AddressSanitizer on one processor, from the shared vectors, the committed corpus and\n\
         what its runs before have found. A finding fails the run, so there is none here. Edges are those of the program\n\
         that were reached, and inputs those that reach them. Each line is of the last run of its target.",
    ),
    (
        "follow",
        "A day of a practice chain is followed by a clock that jumps, from a feed with faults of all kinds, into a host\n\
         that keeps 1000 blocks; its rows are compared with those of a quiet feed. A server that follows a feed is killed\n\
         again and again, and continues each time on the store that it left.",
    ),
    (
        "catch-up",
        "Blocks far behind the head are imported into memory and into a file, read on one thread while those before are\n\
         committed on another, several in one commit; and with a commit for each block. Wall-clock time.",
    ),
    (
        "archive",
        "Answers are made of the transactions, receipts and outcomes of blocks, with hashes and signatures of their own. A\n\
         dictionary is trained on one half of the answers and measured on the other; both halves are made of the same\n\
         blocks, so the content of another day is somewhat larger. Level 9 is after recompression; files are compacted.",
    ),
    (
        "archive-growth",
        "Archives of small transactions in a directory are filled and read at random, in a control group whose memory,\n\
         page cache included, is smaller than the largest archive: its reads go to the disk, those of the small ones do not.\n\
         So each is read a second time from the disk, with its pages dropped from the page cache. In both, the store's own\n\
         cache of 32 MiB begins with the same part of the rows at each size, and as much of the index as fits. A row is in\n\
         one block of 4 KiB, which lies on two pages; the least that is read from a disk is the page in the last line.",
    ),
    (
        "power-loss",
        "A process fills a store and its archive; its system calls are recorded with their data. From them disks are made\n\
         as a power failure at each call can leave them: what was written and not synced is there, lost or torn, also names\n\
         of files. Each disk opens, has every block that was acknowledged, and answers about all transactions as a store\n\
         that has exactly its blocks; one in 50 goes on to the end of the chain. Half of the stores are verified page by page\n\
         when they are opened, the others not, as large ones are. Then calls are made to fail with EIO or ENOSPC, once or\n\
         from some call on, and what is left is checked in the same way. At last reads fail while processes ask about all\n\
         transactions: each answer is the right one or an error, and nothing is missing afterwards.",
    ),
    (
        "upgrade",
        "Servers of this release and of another one go on in turns with one store, each a stop after the other. A request\n\
         that waits is answered at each stop with how to go on, and a transaction is watched up to its last event; an event\n\
         that is lost or sent twice fails the run. Before the first tagged release the other one is an earlier revision.",
    ),
    (
        "cluster",
        "An archive in three nodes of Cassandra with three copies of each row is written by 4 threads, 10 rows of 2 kB in a\n\
         call, and read by 4, one row in a call, while nodes are killed by SIGKILL, paused, and have a slow disk. A row that\n\
         was acknowledged and is missing or different fails the run. Then one server follows a feed and archives into three\n\
         nodes, and three servers that have nothing else are asked over HTTP, one client each; an answer that is neither\n\
         right nor an error with `Retry-After` fails the run, and so does a transaction that is not archived at the end.\n\
         Nodes, servers and clients share one machine and one disk; the servers are built for debugging.",
    ),
    (
        "cluster-growth",
        "Archives of small transactions in one node of Cassandra, with one copy of each row, are filled by 4 writers and\n\
         read at random, one row at a time. Node and client share one machine and one disk. Times are of the wall clock.",
    ),
    (
        "platforms",
        "The tests of the engine, the shared vectors and the conformance of the file, for 32 bits, and under QEMU for others;\n\
         the server for one of them, and as a static program with which its own tests run; and the crates without std\n\
         for microcontrollers. Those without compare-and-swap (thumbv6m) are not supported: `alloc` has no `Arc` there.\n\
         Miri runs the tests of the code that relies on what C promises.",
    ),
    ("bench", "Processor time compared with the node's path: [BENCHMARKS.md](BENCHMARKS.md)."),
    (
        "bench-http",
        "Processor time and requests per second over HTTP, compared with the node's path:\n\
         [BENCHMARKS-HTTP.md](BENCHMARKS-HTTP.md).",
    ),
];

/// Writes the output of a run into its section
pub(crate) fn write_output(name: &str, arguments: &[&str], output: &str) -> Result<(), String> {
    let mut figures = figures(output);
    if figures.is_empty() {
        return Err(format!("the output of {name} has no figures"));
    }
    if name == "fuzz" {
        let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
        figures =
            with_older_targets(section_of(&page, name).unwrap_or_default(), &figures, &today());
    }
    let mut body = format!("\n```text\n{figures}```\n");
    if let Some(picture) = PICTURES.iter().find(|picture| picture.section == name) {
        let Labels { title, .. } = picture.labels;
        write(&format!("docs/{name}.svg"), &picture.draw(&figures)?)?;
        let _ = write!(body, "\n![{title}]({name}.svg)\n");
    }
    write_section(name, arguments, &body)
}

/// The table of a run of some fuzz targets with the lines of the other targets, each with its date
///
/// A campaign of all targets takes hours, so a new target is run by itself.
fn with_older_targets(section: &str, table: &str, date: &str) -> String {
    let target = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default();
    let new: BTreeMap<String, String> =
        lines.map(|line| (target(line), format!("{line}  {date}"))).collect();
    let (_, old) = section.split_once("```text\n").unwrap_or_default();
    let old = old.lines().skip(1).take_while(|line| *line != "```");
    let mut all: BTreeMap<_, _> = old.map(|line| (target(line), line.to_owned())).collect();
    all.extend(new);
    let mut text = format!("{head}  date\n");
    for line in all.values() {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A picture of the table that a run prints
struct Picture {
    section: &'static str,
    labels: Labels,
    /// The number of columns of the table; the first one is drawn across
    columns: usize,
    /// What the table's numbers are multiplied by
    unit: f64,
    /// Column, label and colour of each curve
    curves: &'static [(usize, &'static str, &'static str)],
}

const PICTURES: [Picture; 3] = [
    Picture {
        section: "archive-growth",
        labels: Labels {
            title: "Cost of a read by the size of the archive",
            across: "transactions",
            up: "time of a read",
            axes: Axes::NumberAndTime,
        },
        columns: 16,
        // Microseconds.
        unit: 1e3,
        curves: &[
            (13, "99th percentile, disk", "#c2410c"),
            (7, "99th percentile", "#b45309"),
            (12, "median, disk", "#7c3aed"),
            (6, "median", "#0369a1"),
        ],
    },
    Picture {
        section: "cluster-growth",
        labels: Labels {
            title: "Time of a read by the size of an archive in a cluster",
            across: "transactions",
            up: "time of a read",
            axes: Axes::NumberAndTime,
        },
        columns: 4,
        unit: 1e3,
        curves: &[(3, "99th percentile", "#c2410c"), (2, "median", "#0369a1")],
    },
    Picture {
        section: "soak",
        labels: Labels {
            title: "A server under load",
            across: "minutes",
            up: "megabytes, files and milliseconds",
            axes: Axes::MinutesAndNumber,
        },
        columns: 7,
        unit: 1.0,
        curves: &[
            (5, "memory, MB", "#7c3aed"),
            (6, "open files", "#15803d"),
            (3, "99th percentile, ms", "#c2410c"),
            (2, "median, ms", "#0369a1"),
        ],
    },
];

impl Picture {
    fn draw(&self, figures: &str) -> Result<String, String> {
        let numbers = |line: &str| -> Vec<f64> {
            line.split_whitespace().map_while(|word| word.parse().ok()).collect()
        };
        let rows: Vec<Vec<f64>> =
            figures.lines().map(numbers).filter(|row| row.len() == self.columns).collect();
        let curve = |(column, label, colour): &(usize, &'static str, &'static str)| {
            let point = |row: &Vec<f64>| Some((*row.first()?, row.get(*column)? * self.unit));
            // A part of a run in which nothing was measured has no times.
            let points = rows.iter().filter_map(point).filter(|point| point.1 > 0.0);
            Curve { label, colour, points: points.collect() }
        };
        plot(self.labels, &self.curves.iter().map(curve).collect::<Vec<_>>())
    }
}

/// Writes the section of a run whose figures are on another page
pub(crate) fn write_link(name: &str) -> Result<(), String> {
    write_section(name, &[], "")
}

fn write_section(name: &str, arguments: &[&str], body: &str) -> Result<(), String> {
    let Machine { processor, cores, .. } = Machine::now();
    let command = [&["cargo xtask evidence", name], arguments].concat().join(" ");
    let (date, version) = (today(), env!("CARGO_PKG_VERSION"));
    let run = format!("`{command}`, {date}, version {version}, {processor}, {cores} cores.");
    let old = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    write(PAGE, &replaced(&old, name, &run, body)?)
}

/// The page with a new section in place of the old one
fn replaced(page: &str, name: &str, run: &str, body: &str) -> Result<String, String> {
    if SECTIONS.iter().all(|(known, _)| *known != name) {
        return Err(format!("the page of evidence has no section `{name}`"));
    }
    let mut text = HEAD.to_owned();
    for (section, about) in SECTIONS {
        if *section == name {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n## {section}\n\n{about}\n\n{run}\n{body}");
        } else if let Some(old) = section_of(page, section) {
            let _ = write!(text, "\n## {section}\n{old}\n");
        }
    }
    Ok(text)
}

/// The text from the heading of a section to the next heading
fn section_of<'page>(page: &'page str, name: &str) -> Option<&'page str> {
    let (_, rest) = page.split_once(&format!("\n## {name}\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim_end())
}

/// The lines of an output that are figures: without progress and lines of the test harness
fn figures(output: &str) -> String {
    let mut figures = String::new();
    for line in output.lines() {
        // The harness prints the name of a test before the test's first line.
        let line = match line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) {
            // It may also print it after the last one.
            Some((_, "ok")) => continue,
            Some((name, first)) => {
                let _ = writeln!(figures, "{}:", name.replace('_', " "));
                first
            }
            None => line,
        };
        let is_progress = line.contains(" seeds, ") && line.ends_with(" a second");
        let is_harness =
            ["running ", "test result: "].iter().any(|prefix| line.starts_with(prefix))
                || line.ends_with(" has been running for over 60 seconds");
        if !is_progress && !is_harness && !line.trim().is_empty() && line != "ok" {
            let _ = writeln!(figures, "{line}");
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_growth_of_archives_is_drawn_from_the_table() {
        let figures = "memory: 512 MiB\ntransactions  MB\n\
             1000 48 21 25017 5.0 1.0 1.0 5.0 1.0 0.0 9.0 20.0 70.0 200.0 1.0 8.2\n\
             100000 4804 2106 22933 8.0 9.0 10.0 50.0 1.2 8.0 9.0 22.0 70.0 200.0 1.2 9.2\n\
             a page by itself 1.0 20.0 60.0 100.0 1.0 4.1\n";
        let svg = PICTURES[0].draw(figures).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
        assert!(svg.contains(">1000</text>") && svg.contains(">10 us</text>"), "{svg}");
        assert!(PICTURES[0].draw("no table").is_err());
    }

    #[test]
    fn the_growth_in_a_cluster_is_drawn_from_the_table() {
        let figures = "transactions put/s us median us p99\n 50000 9000 600 2000\n\
             1000000 9000 700 3000\none node\n";
        let svg = PICTURES[1].draw(figures).unwrap();
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
    }

    #[test]
    fn a_soak_is_drawn_from_its_table() {
        let figures = "minute  requests  median ms  99 % ms  all ms  memory MB  open files\n\
             2.0 85 1.9 9.3 9.3 55.3 57\n 4.0 0 0.0 0.0 0.0 45.6 17\nbatches: 7\n";
        let svg = PICTURES[2].draw(figures).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 4, "{svg}");
        // A part without requests has no times.
        assert_eq!(svg.matches("<circle").count(), 6, "{svg}");
    }

    #[test]
    fn fuzz_targets_that_did_not_run_keep_their_lines() {
        let section = "\nabout\n\n```text\ntarget  edges  date\nrows  7  2026-01-01\n\
             base64  5  2026-01-01\n```";
        let table = with_older_targets(section, "target  edges\nproof  9\nrows  8\n", "2026-02-02");
        let expected = "target  edges  date\nbase64  5  2026-01-01\nproof  9  2026-02-02\n\
             rows  8  2026-02-02\n";
        assert_eq!(table, expected);
        let first = with_older_targets("", "target  edges\nrows  8\n", "2026-02-02");
        assert_eq!(first, "target  edges  date\nrows  8  2026-02-02\n");
    }

    #[test]
    fn a_section_is_replaced_and_the_others_are_kept() {
        let page = replaced("", "simulation", "by 1", "\n```text\nfirst: 7\n```\n").unwrap();
        let page = replaced(&page, "bench", "by 2", "").unwrap();
        let with = replaced(&page, "open-requests", "by 3", "\n```text\nopen: 7\n```\n").unwrap();
        let expected = ["by 1", "first: 7", "by 3", "open: 7", "by 2"];
        let positions =
            expected.map(|text| with.find(text).unwrap_or_else(|| panic!("{text}: {with}")));
        assert!(positions.is_sorted(), "{with}");
        let new = replaced(&with, "simulation", "by 4", "\n```text\nsecond: 7\n```\n").unwrap();
        assert!(
            !new.contains("first: 7") && !new.contains("by 1") && new.contains("open: 7"),
            "{new}"
        );
        // Writing the same again changes nothing.
        assert_eq!(
            replaced(&new, "simulation", "by 4", "\n```text\nsecond: 7\n```\n").unwrap(),
            new
        );
        assert!(replaced(&new, "speed", "", "").is_err());
    }

    #[test]
    fn progress_and_harness_lines_are_left_out() {
        let simulation =
            "1200 seeds, 20 a second\n    1200 seeds\n   6.1 seconds, 196 seeds a second\n";
        assert_eq!(figures(simulation), "    1200 seeds\n   6.1 seconds, 196 seeds a second\n");
        let harness = "\nrunning 1 test\ntest a_stop_answers ... memory: 3 MB\ntime: 1 s\nok\n\n\
                       test result: ok. 1 passed; 0 failed\n";
        assert_eq!(figures(harness), "a stop answers:\nmemory: 3 MB\ntime: 1 s\n");
        assert_eq!(figures("running 0 tests\n"), "");
        let long = "test a_stop_answers has been running for over 60 seconds\nkills: 7\n\
                    test a_stop_answers ... ok\n";
        assert_eq!(figures(long), "kills: 7\n");
    }
}
