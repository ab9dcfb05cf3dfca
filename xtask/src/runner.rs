//! Runs jobs side by side and prints the output of each in one piece.
//!
//! A job is a program with its own standard output. Jobs start in the given order as soon as a slot
//! is free and the jobs that they follow have ended. The output of the oldest running job is
//! printed as it comes; that of the others is kept until their turn. All jobs run even when one
//! fails, so one run reports everything. Leaves out what the jobs share: cargo's own locks keep its
//! commands apart.

use core::fmt::Write as _;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Sender};
use std::time::Instant;

use crate::tally::{Format, Tally};

/// A program to run
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) command: Command,
    /// Names of jobs that have to end first; names of jobs that are not run are ignored
    pub(crate) after: Vec<String>,
    /// Whether it mostly waits for the network, so that another job can have its slot
    pub(crate) is_idle: bool,
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
            is_idle: false,
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
    tally: Tally,
    error: Option<String>,
}

/// What became of all jobs, in the order in which they started
#[derive(Debug)]
pub(crate) struct Summary(Vec<JobResult>);

/// How long output is waited for after a program has ended: a process that it left behind can keep
/// its output open for ever
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// What a job's thread reports; the first number is the job's index
enum Event {
    Line(usize, Vec<u8>),
    End(usize, Result<(), String>),
}

enum State {
    Waiting,
    Running { started: Instant, tally: Tally },
    Ended,
}

/// Runs all jobs, as many at a time as there are slots, and prints their output to `out`
pub(crate) fn run(mut jobs: Vec<Job>, slots: usize, out: impl Write) -> Summary {
    let begin = Instant::now();
    let (sender, events) = mpsc::channel();
    let mut printer = Printer::new(out, jobs.len());
    let mut states: Vec<State> = jobs.iter().map(|_| State::Waiting).collect();
    let mut results = Vec::new();
    while results.len() < jobs.len() {
        while let Some(index) = next(&jobs, &states, slots.max(1)) {
            let job = &mut jobs[index];
            printer.start(index, &format!("\n== {}: {}\n", job.name, job.about));
            states[index] = State::Running { started: Instant::now(), tally: Tally::default() };
            start(index, &mut job.command, sender.clone());
        }
        // One is running, and `sender` lives as long as this loop, so there is an event to come.
        let Ok(event) = events.recv() else { break };
        match event {
            Event::Line(index, line) => {
                if let State::Running { tally, .. } = &mut states[index] {
                    tally.add(jobs[index].format, String::from_utf8_lossy(&line).trim_end());
                }
                printer.line(index, &line);
            }
            Event::End(index, result) => {
                let state = core::mem::replace(&mut states[index], State::Ended);
                let State::Running { started, mut tally } = state else { continue };
                let name = jobs[index].name.clone();
                let error = result.err();
                if let Some(error) = &error {
                    tally.failed = tally.failed.max(1);
                    printer.line(index, format!("xtask: {name}: {error}\n").as_bytes());
                }
                let (started, took) = (started.duration_since(begin), started.elapsed());
                results.push(JobResult { name, started, took, tally, error });
                printer.end(index);
            }
        }
    }
    results.sort_by_key(|result| result.started);
    Summary(results)
}

/// The first job that can start now
///
/// Jobs that wait for each other in a circle never start by themselves; when nothing else runs, the
/// first of them does.
fn next(jobs: &[Job], states: &[State], slots: usize) -> Option<usize> {
    let is_open = |name: &String| {
        let mut all = jobs.iter().zip(states);
        all.any(|(job, state)| job.name == *name && !matches!(state, State::Ended))
    };
    let running = || {
        let all = jobs.iter().zip(states);
        all.filter(|(_, state)| matches!(state, State::Running { .. })).map(|(job, _)| job)
    };
    let has_slot = running().filter(|job| !job.is_idle).count() < slots;
    let waiting = || {
        let all = jobs.iter().enumerate().zip(states);
        all.filter(|(_, state)| matches!(state, State::Waiting)).map(|(job, _)| job)
    };
    let is_ready = |job: &Job| (has_slot || job.is_idle) && !job.after.iter().any(is_open);
    let ready = waiting().find(|(_, job)| is_ready(job));
    let next = ready.or_else(|| waiting().next().filter(|_| running().next().is_none()));
    next.map(|(index, _)| index)
}

/// Starts a program whose standard and error output come as lines, and whose end is reported
fn start(index: usize, command: &mut Command, sender: Sender<Event>) {
    let report = move |sender: &Sender<Event>, result| {
        // The receiver lives until every job has reported its end.
        let _ = sender.send(Event::End(index, result));
    };
    let spawned = std::io::pipe().and_then(|(output, input)| {
        let errors = input.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(input).stderr(errors).spawn()?;
        Ok((output, child))
    });
    // The command keeps its ends of the pipe, and the output would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match spawned {
        Err(error) => report(&sender, Err(error.to_string())),
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
            std::thread::spawn(move || {
                let result = wait(child);
                // Nothing is sent here; the channel closes when the output ends.
                let _ = read.recv_timeout(LAST_OUTPUT);
                report(&sender, result);
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
        let width = self.0.iter().map(|job| job.name.len()).max().unwrap_or(0).max(5);
        let mut text = format!("\n{:<width$} {:>7} {:>8}\n", "step", "start", "seconds");
        for JobResult { name, started, took, .. } in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{name:<width$} {:>7.0} {:>8.1}",
                started.as_secs_f64(),
                took.as_secs_f64()
            );
        }
        let end = self.0.iter().map(|job| job.started + job.took).max().unwrap_or_default();
        let _ = writeln!(text, "{:<width$} {:>7} {:>8.1}\n", "all", "", end.as_secs_f64());
        let failed: Vec<&str> = self.failed().collect();
        if !failed.is_empty() {
            let _ = writeln!(text, "steps that failed: {}", failed.join(", "));
        }
        let Tally { passed, failed } = self.tally();
        let _ = writeln!(text, "{passed} passed, {failed} failed");
        text
    }

    /// Success when every job succeeded and no test failed
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_good = self.tally().failed == 0 && self.failed().next().is_none();
        if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = |job: &&JobResult| job.error.is_some() || job.tally.failed > 0;
        self.0.iter().filter(failed).map(|job| &job.name[..])
    }

    fn tally(&self) -> Tally {
        self.0.iter().fold(Tally::default(), |sum, job| Tally {
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
    fn one_slot_runs_one_job_at_a_time_and_idle_jobs_beside_it() {
        let mut jobs = [job("one", ""), job("two", "")];
        let running = || State::Running { started: Instant::now(), tally: Tally::default() };
        assert_eq!(next(&jobs, &[State::Waiting, State::Waiting], 1), Some(0));
        assert_eq!(next(&jobs, &[running(), State::Waiting], 1), None);
        assert_eq!(next(&jobs, &[running(), State::Waiting], 2), Some(1));
        assert_eq!(next(&jobs, &[State::Ended, State::Waiting], 1), Some(1));
        jobs[0].is_idle = true;
        assert_eq!(next(&jobs, &[running(), State::Waiting], 1), Some(1));
        jobs[0].is_idle = false;
        jobs[1].is_idle = true;
        assert_eq!(next(&jobs, &[running(), State::Waiting], 1), Some(1));
    }

    #[test]
    fn a_job_starts_after_those_that_it_follows() {
        let mut first = job("first", "echo first");
        first.after = vec!["second".into(), "a job that is not run".into()];
        let (text, _) = run_all(vec![first, job("second", "echo second")], 2);
        assert_eq!(text, "\n== second: a test\nsecond\n\n== first: a test\nfirst\n");
    }

    #[test]
    fn jobs_that_follow_one_another_run_all_the_same() {
        let mut jobs = vec![job("one", ""), job("two", "")];
        jobs[0].after = vec!["two".into()];
        jobs[1].after = vec!["one".into()];
        assert_eq!(run_all(jobs, 2).1.0.len(), 2);
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
    fn the_table_names_every_job_with_its_seconds() {
        let summary = Summary(vec![JobResult {
            name: "clippy".into(),
            started: Duration::from_secs(2),
            took: Duration::from_millis(61_250),
            tally: Tally::default(),
            error: None,
        }]);
        let text = summary.text();
        assert!(text.contains("\nclippy       2     61.2\nall                63.2\n"), "{text}");
    }
}
