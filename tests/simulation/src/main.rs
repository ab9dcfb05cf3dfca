//! Runs seeds: `--seeds N [--from S] [--threads T]`, or `--seed S` for one with its events printed.
//!
//! A seed that fails is named with the command that replays it, and ends the run with code 1. So
//! does a run of 1000 seeds or more in which something was seen too rarely.

#![forbid(unsafe_code)]

// The library's.
use {ed25519_dalek as _, milepost as _, milepost_redb as _, milepost_testkit as _, tempfile as _};

use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::Instant;

use milepost_simulation::{Tally, run};

/// What to run
struct Plan {
    from: u64,
    seeds: u64,
    threads: u64,
    /// One seed, with its events printed
    single: Option<u64>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let plan = match read(&arguments) {
        Ok(plan) => plan,
        Err(refusal) => {
            eprintln!("milepost-simulation: {refusal}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(seed) = plan.single {
        return match run_one(seed, true) {
            Ok(tally) => {
                println!("{tally}seed {seed} passed");
                ExitCode::SUCCESS
            }
            Err(why) => fail(seed, &why),
        };
    }
    run_all(&plan)
}

fn read(arguments: &[String]) -> Result<Plan, String> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let mut plan = Plan { from: 0, seeds: 10_000, threads: cores, single: None };
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        let value = words.next().and_then(|value| value.parse().ok());
        let value = value.ok_or_else(|| format!("`{flag}` needs a number"))?;
        match flag.as_str() {
            "--seeds" => plan.seeds = value,
            "--from" => plan.from = value,
            "--threads" => plan.threads = value.max(1),
            "--seed" => plan.single = Some(value),
            _ => {
                let known = "--seeds, --from, --threads and --seed";
                return Err(format!("`{flag}` is unknown; known are {known}"));
            }
        }
    }
    Ok(plan)
}

/// Runs a seed; a panic is a failure like any other
fn run_one(seed: u64, log: bool) -> Result<Tally, String> {
    catch_unwind(AssertUnwindSafe(|| run(seed, log))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn fail(seed: u64, why: &str) -> ExitCode {
    println!("seed {seed} failed: {why}\nreplay: cargo xtask simulate --seed {seed}");
    ExitCode::FAILURE
}

/// The seeds that are still to run, shared by all threads
struct Queue {
    next: AtomicU64,
    end: u64,
    failed: AtomicBool,
    started: Instant,
}

fn run_all(plan: &Plan) -> ExitCode {
    let queue = Queue {
        next: AtomicU64::new(plan.from),
        end: plan.from.saturating_add(plan.seeds),
        failed: AtomicBool::new(false),
        started: Instant::now(),
    };
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.threads).map(|thread| (thread, &queue)).collect();
        let workers: Vec<_> = workers
            .into_iter()
            .map(|(thread, queue)| scope.spawn(move || work(queue, plan.from, thread == 0)))
            .collect();
        for worker in workers {
            match worker.join() {
                Ok((counted, failure)) => {
                    tally.merge(&counted);
                    failures.extend(failure);
                }
                Err(_) => failures.push((plan.from, "a worker panicked".to_owned())),
            }
        }
    });
    print!("{tally}");
    let seconds = queue.started.elapsed().as_secs_f64();
    println!(
        "{seconds:>12.1} seconds, {:.0} seeds a second",
        plan.seeds as f64 / seconds.max(0.001)
    );
    if let Some((seed, why)) = failures.into_iter().min() {
        return fail(seed, &why);
    }
    let missing = tally.missing();
    missing.iter().for_each(|line| println!("too rare: {line}"));
    if !missing.is_empty() {
        return ExitCode::FAILURE;
    }
    println!("seeds {} to {} passed", plan.from, queue.end.saturating_sub(1));
    ExitCode::SUCCESS
}

/// Runs seeds until there are none or one failed
fn work(queue: &Queue, from: u64, speaks: bool) -> (Tally, Option<(u64, String)>) {
    let mut tally = Tally::default();
    let mut spoken = Instant::now();
    while !queue.failed.load(Ordering::Relaxed) {
        let seed = queue.next.fetch_add(1, Ordering::Relaxed);
        if seed >= queue.end {
            break;
        }
        match run_one(seed, false) {
            Ok(counted) => tally.merge(&counted),
            Err(why) => {
                queue.failed.store(true, Ordering::Relaxed);
                return (tally, Some((seed, why)));
            }
        }
        if speaks && spoken.elapsed() > PROGRESS {
            spoken = Instant::now();
            let done = seed - from;
            let rate = done as f64 / queue.started.elapsed().as_secs_f64();
            println!("{done} seeds, {rate:.0} a second");
        }
    }
    (tally, None)
}

/// Time from one line of progress to the next
const PROGRESS: Duration = Duration::from_secs(60);
