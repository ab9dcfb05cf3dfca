//! The page of the bench over HTTP: processor time per request, ratios, requests per second.
//!
//! Formats measured rounds and computes medians and ratios; it measures nothing itself, and the
//! sentences about the method are written here, so that a page always describes how it was made.

use core::fmt::Write as _;

use super::servers::pins;
use super::{CONNECTIONS, PEER_TURN, ROUNDS, Row, TURN, Turn};
use crate::machine::Machine;

/// The page about these rows
pub(super) fn page(rows: &[Row], client: &str, before: &Machine, after: &Machine) -> String {
    let Machine { processor, cores, kernel, compiler, load: [load, _], .. } = before;
    let processors = if pins() {
        "The servers run on one processor, the client on another."
    } else {
        "Servers and client share the processors."
    };
    let mut page = format!(
        "# Cost of a response over HTTP

Written by `cargo xtask verify bench-http`. Clients request a final transaction by its hash, with its receipts, over
{CONNECTIONS} kept-alive connections. *Constant* is a server on the same stack (hyper, tokio) that reads the request and
sends the same bytes each time; the difference to it is the cost of the server. *Memory* and *file* are `milepost` on its
two storages. *Peer* is the path of a reference node (2.14), rebuilt from its public crates as in [these
benches](BENCHMARKS.md), on the stack of the constant body: generic JSON value, typed request, Borsh rows in a `HashMap`,
views, generic JSON value, bytes, with jemalloc. A node adds its database, its actors and its router. All send the same
bytes, which is checked before they are measured. Processor time is that of the server's process, kernel included. {processors}

The servers take turns of {TURN}, the peer of {PEER_TURN}, {ROUNDS} each. Figures are medians, and ratios to the constant
body are medians of the ratios of the rounds; the minimum is in brackets. Other load only adds processor time, so where
the two are far apart the machine was busy, and the minimum is the better estimate.

{processor}, {cores} processors; Linux {kernel}; {compiler}; {client}.
Load average: {load} before, {} after, of which the bench itself causes 2.

## Processor time per request

| receipts | response | constant | memory | ratio | file | ratio |
|---:|---:|---:|---:|---:|---:|---:|
",
        after.load[0]
    );
    for row in rows {
        let Row { receipts, bytes, constant, memory, file, .. } = row;
        // Writing to a string cannot fail.
        let _ = write!(page, "| {receipts} | {:.1} kB | {}", *bytes as f64 / 1e3, costs(constant));
        for turns in [memory, file] {
            let minimum = minimum(turns) / minimum(constant);
            let _ = write!(
                page,
                " | {} | **{:.2}** ({minimum:.2})",
                costs(turns),
                ratio(turns, constant)
            );
        }
        page.push_str(" |\n");
    }
    page.push_str(
        "\n## Compared with the node's path\n\nThe processor time per request of the peer, divided by that of each \
         server. The ratio of the constant body is the upper bound on this stack.\n\n",
    );
    page.push_str("| receipts | peer | memory | file | constant |\n|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let Row { receipts, constant, memory, file, peer, .. } = row;
        let _ = write!(page, "| {receipts} | {}", costs(peer));
        for turns in [memory, file, constant] {
            let minimum = minimum(peer) / minimum(turns);
            let _ = write!(page, " | **{:.1}x** ({minimum:.1}x)", ratio(peer, turns));
        }
        page.push_str(" |\n");
    }
    page.push_str("\n## Requests per second, one client\n\n");
    page.push_str("| receipts | constant | memory | file | peer |\n|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let _ = write!(page, "| {}", row.receipts);
        for turns in [&row.constant, &row.memory, &row.file, &row.peer] {
            let _ = write!(page, " | {:.0}", rate(turns));
        }
        page.push_str(" |\n");
    }
    page
}

/// The median cost of some turns, and the minimum
fn costs(turns: &[Turn]) -> String {
    let median = median(turns.iter().map(|turn| turn.cost));
    format!("{median:.1} ({:.1}) µs", minimum(turns))
}

fn minimum(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.cost).fold(f64::INFINITY, f64::min)
}

/// The ratio of the processor times of two servers: the median over the rounds
fn ratio(turns: &[Turn], others: &[Turn]) -> f64 {
    median(turns.iter().zip(others).map(|(turn, other)| turn.cost / other.cost))
}

fn rate(turns: &[Turn]) -> f64 {
    median(turns.iter().map(|turn| turn.rate))
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_of_turns_in_one_round() {
        let turns = |costs: [f64; 3]| costs.map(|cost| Turn { rate: 1.0, cost }).to_vec();
        let mut row = Row::new(1, 1);
        // The machine was three times as slow in the second round.
        row.constant = turns([10.0, 30.0, 10.0]);
        row.memory = turns([12.0, 39.0, 11.0]);
        assert!((ratio(&row.memory, &row.constant) - 1.2).abs() < 1e-9);
    }
}
