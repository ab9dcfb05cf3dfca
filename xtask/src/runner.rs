//! Runs jobs side by side, prints the output of each in one piece, and says where the time went.
//!
//! A job is a program with its own standard output. Jobs start in the given order as soon as a slot
//! is free and the jobs that they follow have ended. The output of the oldest running job is
//! printed as it comes; that of the others is kept until their turn. All jobs run even when one
//! fails, so one run reports everything.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::clock;
use crate::tally::{Format, Tally};

/// A program to run
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) command: Command,
    /// Names of jobs that have to end first; names of jobs that are not run are ignored
    pub(crate) after: Vec<String>,
    pub(crate) format: Format,
}

impl Job {
    /// A job that depends on no other and prints closing lines of cargo
    pub(crate) fn new(name: &str, about: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            command,
            after: Vec::new(),
            format: Format::Cargo,
        }
    }
}

/// What became of a job
#[derive(Debug)]
pub(crate) struct JobResult {
    name: String,
    /// From the start of the run
    started: Duration,
    took: Duration,
    /// Processor time of the program and of all that it started and waited for
    processor: Duration,
    /// Unused processor time meanwhile
    idle: Duration,
    tally: Tally,
    error: Option<String>,
}

/// What became of all jobs, in the order in which they started
#[derive(Debug)]
pub(crate) struct Summary {
    jobs: Vec<JobResult>,
    /// Unused processor time during the run
    idle: Duration,
}

/// How long output is waited for after a program has ended: a process that it left behind can keep
/// its output open for ever
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// What a job's thread reports; the first number is the job's index
enum Event {
    Line(usize, Vec<u8>),
    /// With the processor time of the program
    End(usize, Duration, Result<(), String>),
}

enum State {
    Waiting,
    Running { started: Instant, idle: Duration, tally: Tally },
    Ended,
}

/// Runs all jobs, as many at a time as there are slots, and prints their output to `out`
pub(crate) fn run(mut jobs: Vec<Job>, slots: usize, out: impl Write) -> Summary {
    let (begin, idle_before) = (Instant::now(), clock::idle());
    let (sender, events) = mpsc::channel();
    let counted = Arc::new(Mutex::new(clock::of_programs()));
    let mut printer = Printer::new(out, jobs.len());
    let mut states: Vec<State> = jobs.iter().map(|_| State::Waiting).collect();
    let mut results = Vec::new();
    while results.len() < jobs.len() {
        while let Some(index) = next(&jobs, &states, slots.max(1)) {
            let job = &mut jobs[index];
            printer.start(index, &format!("\n== {}: {}\n", job.name, job.about));
            states[index] = State::running();
            start(index, &mut job.command, &counted, sender.clone());
        }
        // One is running, and `sender` lives as long as this loop, so there is an event to come.
        let Ok(event) = events.recv() else { break };
        match event {
            Event::Line(index, line) => {
                let text = String::from_utf8_lossy(&line);
                if let State::Running { tally, .. } = &mut states[index] {
                    tally.add(jobs[index].format, text.trim_end());
                }
                printer.line(index, &line);
            }
            Event::End(index, processor, result) => {
                let state = core::mem::replace(&mut states[index], State::Ended);
                let State::Running { started, idle, mut tally } = state else {
                    continue;
                };
                let name = jobs[index].name.clone();
                let error = result.err();
                if let Some(error) = &error {
                    tally.failed = tally.failed.max(1);
                    printer.line(index, format!("xtask: {name}: {error}\n").as_bytes());
                }
                let (started, took) = (started.duration_since(begin), started.elapsed());
                let idle = clock::idle().saturating_sub(idle);
                results.push(JobResult { name, started, took, processor, idle, tally, error });
                printer.end(index);
            }
        }
    }
    results.sort_by_key(|result| result.started);
    Summary { jobs: results, idle: clock::idle().saturating_sub(idle_before) }
}

impl State {
    fn running() -> Self {
        let (started, idle) = (Instant::now(), clock::idle());
        Self::Running { started, idle, tally: Tally::default() }
    }
}

/// The first job that can start now
fn next(jobs: &[Job], states: &[State], slots: usize) -> Option<usize> {
    let is_open = |name: &String| {
        let mut all = jobs.iter().zip(states);
        all.any(|(job, state)| job.name == *name && !matches!(state, State::Ended))
    };
    let running = states.iter().filter(|state| matches!(state, State::Running { .. })).count();
    let is_ready = |job: &Job| running < slots && !job.after.iter().any(is_open);
    let mut waiting = jobs.iter().enumerate().zip(states);
    let ready = waiting.find(|((_, job), state)| matches!(state, State::Waiting) && is_ready(job));
    ready.map(|((index, _), _)| index)
}

/// Starts a program whose standard and error output come as lines, and whose end is reported
fn start(
    index: usize,
    command: &mut Command,
    counted: &Arc<Mutex<Duration>>,
    sender: Sender<Event>,
) {
    let report = move |sender: &Sender<Event>, processor, result| {
        // The receiver lives until every job has reported its end.
        let _ = sender.send(Event::End(index, processor, result));
    };
    let spawned = std::io::pipe().and_then(|(output, input)| {
        let errors = input.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(input).stderr(errors).spawn()?;
        Ok((output, child))
    });
    // The command keeps its ends of the pipe, and the output would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match spawned {
        Err(error) => report(&sender, Duration::ZERO, Err(error.to_string())),
        Ok((output, child)) => {
            let (reading, read) = mpsc::channel::<()>();
            let lines = sender.clone();
            std::thread::spawn(move || {
                let _reading = reading;
                let mut output = BufReader::new(output);
                let mut line = Vec::new();
                while output.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                    let _ = lines.send(Event::Line(index, core::mem::take(&mut line)));
                }
            });
            let counted = Arc::clone(counted);
            std::thread::spawn(move || {
                let result = wait(child);
                let processor = count(&counted);
                // Nothing is sent here; the channel closes when the output ends.
                let _ = read.recv_timeout(LAST_OUTPUT);
                report(&sender, processor, result);
            });
        }
    }
}

fn wait(mut child: Child) -> Result<(), String> {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed, {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// The processor time of the program that was just waited for: what was not counted before
fn count(counted: &Mutex<Duration>) -> Duration {
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    let before = core::mem::replace(&mut *counted, clock::of_programs());
    counted.saturating_sub(before)
}

/// Prints one job after the other, the first of them while it runs
struct Printer<Output> {
    out: Output,
    /// Jobs in the order of their starts, of which those before `front` are printed
    order: Vec<usize>,
    front: usize,
    /// What is not printed yet, by job
    kept: Vec<Vec<u8>>,
    ended: Vec<bool>,
}

impl<Output: Write> Printer<Output> {
    fn new(out: Output, jobs: usize) -> Self {
        let (kept, ended) = (vec![Vec::new(); jobs], vec![false; jobs]);
        Self { out, order: Vec::new(), front: 0, kept, ended }
    }

    fn start(&mut self, job: usize, head: &str) {
        self.order.push(job);
        self.line(job, head.as_bytes());
    }

    fn line(&mut self, job: usize, line: &[u8]) {
        self.kept[job].extend_from_slice(line);
        if self.order.get(self.front) == Some(&job) {
            self.print(job);
        }
    }

    fn end(&mut self, job: usize) {
        self.ended[job] = true;
        while let Some(&front) = self.order.get(self.front) {
            self.print(front);
            if !self.ended[front] {
                break;
            }
            self.front += 1;
        }
    }

    fn print(&mut self, job: usize) {
        let text = core::mem::take(&mut self.kept[job]);
        // An error cannot be reported when the output is closed.
        let _ = self.out.write_all(&text).and_then(|()| self.out.flush());
    }
}

impl Summary {
    /// The table of times, the jobs that failed, and the closing line `N passed, N failed`
    pub(crate) fn text(&self) -> String {
        let mut text = self.times();
        let failures = self.failures();
        if !failures.is_empty() {
            let _ = writeln!(text, "steps that failed: {failures}");
        }
        let Tally { passed, failed } = self.tally();
        let _ = writeln!(text, "{passed} passed, {failed} failed");
        text
    }

    /// The names of the jobs that failed
    pub(crate) fn failures(&self) -> String {
        self.failed().collect::<Vec<_>>().join(", ")
    }

    /// The table of times in minutes
    pub(crate) fn times(&self) -> String {
        let width = self.jobs.iter().map(|job| job.name.len()).max().unwrap_or(0).max(5);
        let minutes = |time: Duration| time.as_secs_f64() / 60.0;
        let heads = ["start", "wall", "processor", "idle"];
        let mut text = format!("\n{:<width$}", "step");
        for head in heads {
            let _ = write!(text, " {head:>9}");
        }
        let mut line = |name: &str, times: [Option<Duration>; 4]| {
            let _ = write!(text, "\n{name:<width$}");
            for time in times {
                // Writing to a string cannot fail.
                let _ = match time {
                    Some(time) => write!(text, " {:>9.1}", minutes(time)),
                    None => write!(text, " {:>9}", ""),
                };
            }
        };
        for JobResult { name, started, took, processor, idle, .. } in &self.jobs {
            line(name, [*started, *took, *processor, *idle].map(Some));
        }
        let end = self.jobs.iter().map(|job| job.started + job.took).max().unwrap_or_default();
        let processor = self.jobs.iter().map(|job| job.processor).sum();
        line("all", [None, Some(end), Some(processor), Some(self.idle)]);
        text.push_str("\n\n");
        text
    }

    /// Success when every job succeeded and no test failed
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_good = self.tally().failed == 0 && self.failed().next().is_none();
        if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = |job: &&JobResult| job.error.is_some() || job.tally.failed > 0;
        self.jobs.iter().filter(failed).map(|job| &job.name[..])
    }

    fn tally(&self) -> Tally {
        self.jobs.iter().fold(Tally::default(), |sum, job| Tally {
            passed: sum.passed + job.tally.passed,
            failed: sum.failed + job.tally.failed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job::new(name, "a test", command)
    }

    fn run_all(jobs: Vec<Job>, slots: usize) -> (String, Summary) {
        let mut out = Vec::new();
        let summary = run(jobs, slots, &mut out);
        (String::from_utf8(out).unwrap(), summary)
    }

    #[test]
    fn output_of_jobs_that_run_at_once_is_not_mixed() {
        let folder = std::env::temp_dir().join(format!("xtask-runner-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.display();
        // Each waits for the other between its two lines, so this ends only if both run at once.
        let script = |own: &str, other: &str| {
            format!(
                "echo {own} 1; touch {place}/{own}; until [ -e {place}/{other} ]; do sleep 0.01; done; echo {own} 2 >&2"
            )
        };
        let jobs = vec![job("one", &script("one", "two")), job("two", &script("two", "one"))];
        let (text, summary) = run_all(jobs, 2);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(text, "\n== one: a test\none 1\none 2\n\n== two: a test\ntwo 1\ntwo 2\n");
        assert_eq!(summary.exit_code(), ExitCode::SUCCESS);
    }

    #[test]
    fn as_many_jobs_run_as_there_are_slots() {
        let jobs = [job("one", ""), job("two", "")];
        let running = State::running;
        assert_eq!(next(&jobs, &[State::Waiting, State::Waiting], 1), Some(0));
        assert_eq!(next(&jobs, &[running(), State::Waiting], 1), None);
        assert_eq!(next(&jobs, &[running(), State::Waiting], 2), Some(1));
        assert_eq!(next(&jobs, &[State::Ended, State::Waiting], 1), Some(1));
    }

    #[test]
    fn a_job_starts_after_those_that_it_follows() {
        let mut first = job("first", "echo first");
        first.after = vec!["second".into(), "a job that is not run".into()];
        let (text, _) = run_all(vec![first, job("second", "echo second")], 2);
        assert_eq!(text, "\n== second: a test\nsecond\n\n== first: a test\nfirst\n");
    }

    #[test]
    fn a_job_that_fails_fails_the_run_and_the_others_run() {
        let mut jobs = vec![
            job("bad", "exit 3"),
            job("good", "echo 'test result: ok. 4 passed; 0 failed'"),
            job("absent", ""),
        ];
        jobs[2].command = Command::new("a program that is not there");
        let (text, summary) = run_all(jobs, 1);
        assert!(text.contains("xtask: bad: failed, exit status: 3"), "{text}");
        assert_eq!(summary.exit_code(), ExitCode::FAILURE);
        let end = summary.text();
        assert!(end.contains("steps that failed: bad, absent\n"), "{end}");
        assert!(end.ends_with("\n4 passed, 2 failed\n"), "{end}");
    }

    #[test]
    fn a_process_that_a_job_leaves_behind_is_not_waited_for() {
        let begin = Instant::now();
        let (text, summary) = run_all(vec![job("one", "sleep 60 & echo done")], 1);
        assert_eq!(text, "\n== one: a test\ndone\n");
        assert_eq!(summary.exit_code(), ExitCode::SUCCESS);
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn failed_tests_are_counted_once_and_fail_the_run() {
        let line = "echo 'test result: FAILED. 1 passed; 2 failed'";
        let (_, failing) = run_all(vec![job("tests", &format!("{line}; exit 1"))], 1);
        assert!(failing.text().ends_with("\n1 passed, 2 failed\n"));
        // A program that reports failed tests and success is not believed.
        let (_, lying) = run_all(vec![job("tests", line)], 1);
        assert_eq!(lying.exit_code(), ExitCode::FAILURE);
    }

    #[test]
    fn the_processor_time_of_a_job_is_counted() {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let (_, summary) = run_all(vec![job("one", script)], 1);
        let processor = summary.jobs[0].processor;
        assert_eq!(processor == Duration::ZERO, !cfg!(target_os = "linux"));
    }

    #[test]
    fn the_table_has_the_minutes_of_every_job_and_their_sum() {
        let (text, mut summary) = run_all(vec![job("lints", "")], 1);
        assert_eq!(text, "\n== lints: a test\n");
        let result = &mut summary.jobs[0];
        (result.started, result.took) = (Duration::from_secs(60), Duration::from_secs(90));
        result.processor = Duration::from_secs(75);
        (result.idle, summary.idle) = (Duration::from_secs(30), Duration::from_secs(120));
        let text = summary.text();
        assert!(text.contains("\nlints       1.0       1.5       1.2       0.5\n"), "{text}");
        assert!(text.contains("\nall                   2.5       1.2       2.0\n"), "{text}");
    }
}
