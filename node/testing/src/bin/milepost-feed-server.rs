//! A feed of the practice chain as a process, for tests and demos in other languages.
//!
//! `milepost-feed-server [--seed N] [--interval MS] [--age MS] [--blocks N] [--faults] [--quiet]`
//! prints one line of JSON: the URL, the first height, and `until`, a height up to which no fork is
//! left open. `--faults` makes all faults but the long ones; `--quiet` leaves the blocks of forks
//! out, so that a feed with faults has to end in the rows of the quiet one. `--age` is how long the
//! chain is there already. The server ends with its standard input.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "those of the library")]

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::{env, process};

use milepost_practice::{BlockMessage, Practice, Settings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};
use serde_json::json;

/// What is served
struct Options {
    seed: u64,
    interval: u64,
    age: u64,
    blocks: usize,
    has_faults: bool,
    is_quiet: bool,
}

fn main() {
    let options = Options::parse().unwrap_or_else(|error| {
        eprintln!("milepost-feed-server: {error}");
        process::exit(2);
    });
    if let Err(error) = serve(&options) {
        eprintln!("milepost-feed-server: {error}");
        process::exit(1);
    }
}

impl Options {
    fn parse() -> Result<Self, String> {
        let mut options = Self {
            seed: 1,
            interval: 600,
            age: 0,
            blocks: 100,
            has_faults: false,
            is_quiet: false,
        };
        let mut words = env::args().skip(1);
        while let Some(option) = words.next() {
            let mut number = || -> Result<u64, String> {
                let word = words.next().ok_or_else(|| format!("{option}: no number"))?;
                word.parse().map_err(|error| format!("{option} {word}: {error}"))
            };
            match &option[..] {
                "--seed" => options.seed = number()?,
                "--interval" => options.interval = number()?,
                "--age" => options.age = number()?,
                "--blocks" => {
                    options.blocks =
                        usize::try_from(number()?).map_err(|error| error.to_string())?;
                }
                "--faults" => options.has_faults = true,
                "--quiet" => options.is_quiet = true,
                _ => return Err(format!("{option}: unknown option")),
            }
        }
        Ok(options)
    }
}

fn serve(options: &Options) -> io::Result<()> {
    let settings = Settings {
        shards: 2,
        transactions: 0..=2,
        forks: 60,
        skips: 50,
        repeats: 0,
        interval: options.interval..=options.interval,
        ..Settings::simulation(options.seed)
    };
    let first = settings.genesis_height;
    let mut practice = Practice::new(settings);
    let (messages, until) = quiet(&mut practice, options.blocks);
    let (age, is_quiet) = (options.age, options.is_quiet);
    let later = core::iter::from_fn(move || Some(practice.next_message()));
    let all = messages.into_iter().chain(later).filter(move |it| !(is_quiet && it.abandoned));
    let published = all.map(move |mut message| {
        message.arrival_ms = message.arrival_ms.saturating_sub(age);
        message
    });
    let faults = match options.has_faults {
        true => Faults { stalls: Vec::new(), ..Faults::all(options.seed) },
        false => Faults::default(),
    };
    let feed = Feed::new(FeedChain::new(published, first, 10_000), faults);
    let server = FeedServer::start(feed)?;
    let url = server.endpoint();
    println!("{}", json!({"url": url, "first": first, "until": until}));
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// At least this number of blocks, until no block of a fork is above the last final one; and the
/// height of the newest
fn quiet(practice: &mut Practice, at_least: usize) -> (Vec<BlockMessage>, u64) {
    let (mut messages, mut heights) = (Vec::new(), BTreeMap::new());
    let mut highest_fork = 0;
    loop {
        let message = practice.next_message();
        let (height, is_fork) = (message.height, message.abandoned);
        let last_final =
            serde_json::from_slice::<serde_json::Value>(&message.json).ok().and_then(|value| {
                let hash = value["block"]["header"]["last_final_block"].as_str()?;
                heights.get(hash).copied()
            });
        heights.insert(message.hash.to_string(), height);
        messages.push(message);
        if is_fork {
            highest_fork = highest_fork.max(height);
        } else if messages.len() >= at_least && last_final.is_some_and(|last| last > highest_fork) {
            return (messages, height);
        }
    }
}
