//! The page of the bench over HTTP: processor time per request, ratios, requests per second.

use core::fmt::Write as _;

use super::servers::pins;
use super::{CONNECTIONS, PEER_TURN, ROUNDS, Row, TURN, Turn};
use crate::machine::Machine;

/// The page about these rows
pub(super) fn page(rows: &[Row], client: &str, before: &Machine, after: &Machine) -> String {
    let Machine { processor, cores, kernel, compiler, load: [load, _], .. } = before;
    let place = if pins() {
        "The servers run on one processor, the client on another."
    } else {
        "Servers and client share the processors."
    };
    let mut page = format!(
        "# What an answer costs over HTTP

Written by `cargo xtask evidence bench-http`. A final transaction is asked for by its hash, with its receipts, over
{CONNECTIONS} connections that are kept alive. *Constant* is a server on the same stack (hyper, tokio) that reads the
request and sends the same bytes each time: what is above it is the node's. *Memory* and *file* are the node on its two
storages. *Peer* is the path of a reference node (2.14), rebuilt from its public crates as [these benches](BENCHMARKS.md) have
it, on the stack of the constant body: generic JSON value, typed request, borsh rows in a `HashMap`, views, generic JSON value,
bytes, with jemalloc. A node adds its database, its actors and its router. All send the same bytes, which is checked before they
are measured. Processor time is that of the server's process, kernel included. {place}

The servers take turns of {TURN}, the peer of {PEER_TURN}, {ROUNDS} each. Figures are medians, and ratios to the constant body are medians of the rounds'
ratios; the lowest turn is in brackets. Whatever else the machine does only adds, so where the two are far apart the
machine was busy, and the lowest says more.

{processor}, {cores} processors; Linux {kernel}; {compiler}; {client}.
Load of the machine: {load} before, {} after, of which the bench makes 2.

## Processor time per request

| receipts | answer | constant | memory | ratio | file | ratio |
|---:|---:|---:|---:|---:|---:|---:|
",
        after.load[0]
    );
    for row in rows {
        let Row { receipts, bytes, constant, memory, file, .. } = row;
        // Writing to a string cannot fail.
        let _ = write!(page, "| {receipts} | {:.1} kB | {}", *bytes as f64 / 1e3, costs(constant));
        for turns in [memory, file] {
            let lowest = lowest(turns) / lowest(constant);
            let _ = write!(
                page,
                " | {} | **{:.2}** ({lowest:.2})",
                costs(turns),
                ratio(turns, constant)
            );
        }
        page.push_str(" |\n");
    }
    page.push_str(
        "\n## Beside the node's path\n\nHow many times its processor time per request. What the constant \
         body reaches is the most that this stack can give.\n\n",
    );
    page.push_str("| receipts | peer | memory | file | constant |\n|---:|---:|---:|---:|---:|\n");
    for row in rows {
        let Row { receipts, constant, memory, file, peer, .. } = row;
        let _ = write!(page, "| {receipts} | {}", costs(peer));
        for turns in [memory, file, constant] {
            let lowest = lowest(peer) / lowest(turns);
            let _ = write!(page, " | **{:.1}x** ({lowest:.1}x)", ratio(peer, turns));
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

/// The median cost of some turns, and the lowest
fn costs(turns: &[Turn]) -> String {
    let middle = median(turns.iter().map(|turn| turn.cost));
    format!("{middle:.1} ({:.1}) µs", lowest(turns))
}

fn lowest(turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| turn.cost).fold(f64::INFINITY, f64::min)
}

/// How much more processor time some turns took than others: the median of the rounds
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
    fn ratios_are_of_turns_in_one_round() {
        let turns = |costs: [f64; 3]| costs.map(|cost| Turn { rate: 1.0, cost }).to_vec();
        let mut row = Row::new(1, 1);
        // The machine was three times as slow in the second round.
        row.constant = turns([10.0, 30.0, 10.0]);
        row.memory = turns([12.0, 39.0, 11.0]);
        assert!((ratio(&row.memory, &row.constant) - 1.2).abs() < 1e-9);
    }
}
