//! Runs seeds: `--seeds N [--from S] [--threads T]`, or `--seed S` with its events printed.
//!
//! A failing seed is printed with the command that replays it, and ends the run with exit code 1.
//! So does a counter below its minimum in a run of 1000 seeds or more.

#![forbid(unsafe_code)]

// Dependencies of the library.
use {
    ed25519_dalek as _, milepost as _, milepost_practice as _, milepost_redb as _,
    milepost_testkit as _, serde_json as _, tempfile as _,
};

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

use milepost_simulation::{Coverage, run};

/// The parsed command line
struct Options {
    from: u64,
    seeds: u64,
    threads: u64,
    /// One seed, with its events printed
    single: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("milepost-simulation: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(seed) = options.single {
        return match run_one(seed, true) {
            Ok(coverage) => {
                println!("{coverage}seed {seed} passed");
                ExitCode::SUCCESS
            }
            Err(error) => fail(seed, &error),
        };
    }
    run_all(&options)
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let mut options = Options { from: 0, seeds: 10_000, threads: cores, single: None };
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("`{flag}` needs a number"))?;
        match flag.as_str() {
            "--seeds" => options.seeds = value,
            "--from" => options.from = value,
            "--threads" => options.threads = value.max(1),
            "--seed" => options.single = Some(value),
            _ => {
                let known = "--seeds, --from, --threads or --seed";
                return Err(format!("unknown flag `{flag}`, expected {known}"));
            }
        }
    }
    Ok(options)
}

/// Runs a seed; a panic is an error
fn run_one(seed: u64, log: bool) -> Result<Coverage, String> {
    catch_unwind(AssertUnwindSafe(|| run(seed, log))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn fail(seed: u64, error: &str) -> ExitCode {
    println!(
        "seed {seed} failed: {error}\nreplay: cargo run -p milepost-simulation -- --seed {seed}"
    );
    ExitCode::FAILURE
}

/// The remaining seeds, shared by all threads
struct Queue {
    next: AtomicU64,
    end: u64,
    failed: AtomicBool,
    started: Instant,
}

fn run_all(options: &Options) -> ExitCode {
    let queue = Queue {
        next: AtomicU64::new(options.from),
        end: options.from.saturating_add(options.seeds),
        failed: AtomicBool::new(false),
        started: Instant::now(),
    };
    let mut coverage = Coverage::default();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads).map(|thread| (thread, &queue)).collect();
        let workers: Vec<_> = workers
            .into_iter()
            .map(|(thread, queue)| scope.spawn(move || work(queue, options.from, thread == 0)))
            .collect();
        for worker in workers {
            match worker.join() {
                Ok((counted, failure)) => {
                    coverage.merge(&counted);
                    failures.extend(failure);
                }
                Err(_) => failures.push((options.from, "a worker panicked".to_owned())),
            }
        }
    });
    print!("{coverage}");
    let seconds = queue.started.elapsed().as_secs_f64();
    println!(
        "{seconds:>12.1} seconds, {:.0} seeds a second",
        options.seeds as f64 / seconds.max(0.001)
    );
    if let Some((seed, error)) = failures.into_iter().min() {
        return fail(seed, &error);
    }
    let missing = coverage.missing();
    missing.iter().for_each(|line| println!("below the minimum: {line}"));
    if !missing.is_empty() {
        return ExitCode::FAILURE;
    }
    println!("seeds {} to {} passed", options.from, queue.end.saturating_sub(1));
    ExitCode::SUCCESS
}

/// Runs seeds until none is left or one has failed
fn work(queue: &Queue, from: u64, prints_progress: bool) -> (Coverage, Option<(u64, String)>) {
    let mut coverage = Coverage::default();
    let mut printed = Instant::now();
    while !queue.failed.load(Ordering::Relaxed) {
        let seed = queue.next.fetch_add(1, Ordering::Relaxed);
        if seed >= queue.end {
            break;
        }
        match run_one(seed, false) {
            Ok(counted) => coverage.merge(&counted),
            Err(error) => {
                queue.failed.store(true, Ordering::Relaxed);
                return (coverage, Some((seed, error)));
            }
        }
        if prints_progress && printed.elapsed() > PROGRESS_INTERVAL {
            printed = Instant::now();
            let done = seed - from;
            let rate = done as f64 / queue.started.elapsed().as_secs_f64();
            println!("{done} seeds, {rate:.0} a second");
        }
    }
    (coverage, None)
}

/// The interval of progress lines
const PROGRESS_INTERVAL: Duration = Duration::from_secs(60);
