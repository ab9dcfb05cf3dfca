//! The meaning of several replies together, against a model, over a simulated clock.
//!
//! The model keeps every reply and decides from all of them at each tick, by the sentences of
//! `docs/HTTP.md`; the code that it checks keeps the last one of each upstream. Of the
//! upstreams of a run, up to one lies all the time. At the end of each run, a transaction that an
//! upstream has accepted was not refused, whatever came first.

use core::time::Duration;

use alloc::collections::VecDeque;

use milepost_testkit::{Rng, mix};

use super::submission_response::{Grounds, Meaning, SubmissionResponse};
use super::submission_responses::{
    ACCEPTED_PAUSE, GRACE, GRACE_HEIGHTS, MAX_PAUSE, OwnChain, PAUSE, SubmissionResponses,
};

const SEEDS: u64 = 400;
const TICK: Duration = Duration::from_millis(10);
/// The time between two blocks
const BLOCK: Duration = Duration::from_millis(600);

/// A reply that came
#[derive(Clone, Copy, Debug)]
struct Came {
    at: Duration,
    /// `None` if the upstream was not asked: its circuit breaker was open
    meaning: Option<Meaning>,
    head: u64,
}

/// The replies of an upstream
#[derive(Clone, Debug)]
struct Behaviour {
    /// Its first replies, with how long each takes
    first: VecDeque<(Option<Meaning>, Duration)>,
    /// All later ones
    then: Meaning,
    latency: Duration,
    /// Whether it does not pass on a transaction that it accepts
    forgets: bool,
}

/// How a run ended
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Included,
    Rejected,
    Deadline,
}

/// What the runs have to show: otherwise the seeds are too tame
const CASES: [&str; 11] = [
    "an inclusion",
    "an inclusion after a refusal",
    "an inclusion in spite of a lie",
    "a refusal of all",
    "a refusal of all after some blocks",
    "a refusal while others say nothing",
    "the deadline",
    "the deadline while one is busy",
    "the deadline after refusals that the chain contradicts",
    "an upstream that was not asked",
    "an upstream that accepts and then refuses",
];

/// Whether a transaction is valid, and if not, the grounds of an upstream that does not lie
type Truth = Result<(), Grounds>;

fn refusal(rng: &mut Rng) -> Grounds {
    *rng.pick(&[Grounds::BaseBlock, Grounds::Nonce, Grounds::Other])
}

fn behaviour(rng: &mut Rng, truth: Truth, is_liar: bool) -> Behaviour {
    let latency = Duration::from_millis(10 * rng.between(1, 80));
    let honest = truth.map_or_else(Meaning::Rejected, |()| Meaning::Accepted);
    let mut first = VecDeque::new();
    let then = match (is_liar, truth) {
        (true, Ok(())) => Meaning::Rejected(refusal(rng)),
        (true, Err(_)) => *rng.pick(&[Meaning::Accepted, Meaning::Busy, Meaning::Failed]),
        // One that fails or is busy for good is honest as well.
        (false, _) if rng.one_in(6) => *rng.pick(&[Meaning::Busy, Meaning::Failed]),
        (false, _) => honest,
    };
    let count = if is_liar { 0 } else { rng.below(6) };
    for _ in 0..count {
        let meaning = match rng.below(5) {
            0 => None,
            1 => Some(Meaning::Busy),
            // It is behind.
            2 => Some(Meaning::Rejected(Grounds::BaseBlock)),
            _ => Some(Meaning::Failed),
        };
        // Silence ends after ten seconds.
        let is_slow = meaning == Some(Meaning::Failed) && rng.one_in(4);
        first.push_back((meaning, if is_slow { Duration::from_secs(10) } else { latency }));
    }
    let forgets = is_liar || rng.one_in(4);
    if forgets && !is_liar {
        // Whatever it says later, its acceptance stands.
        first.push_back((Some(Meaning::Accepted), latency));
        let refused = Meaning::Rejected(refusal(rng));
        return Behaviour { first, then: *rng.pick(&[refused, Meaning::Busy]), latency, forgets };
    }
    Behaviour { first, then, latency, forgets }
}

/// The model: the upstream whose refusal ends a submission, from all replies so far
fn expected(came: &[Vec<Came>], now: Duration, own: OwnChain) -> Option<usize> {
    let said = |index: usize| came[index].iter().filter_map(|it| Some((it, it.meaning?)));
    let upstreams = 0..came.len();
    // Accepted by any: the chain decides.
    if upstreams.clone().any(|it| said(it).any(|(_, meaning)| meaning == Meaning::Accepted)) {
        return None;
    }
    // A refusal stands until the upstream says something else about the transaction.
    let meaning_of = |index: usize| {
        let is_about = |meaning: &Meaning| *meaning != Meaning::Failed;
        let last = said(index).next_back()?.1;
        let last_about = said(index).map(|it| it.1).rfind(is_about);
        Some(match last_about {
            Some(refused @ Meaning::Rejected(_)) => refused,
            _ => last,
        })
    };
    if upstreams.clone().any(|it| meaning_of(it) == Some(Meaning::Busy)) {
        return None;
    }
    let is_contradicted =
        |meaning| meaning == Meaning::Rejected(Grounds::BaseBlock) && own.has_recent_base;
    let refuses = |index: &usize| {
        let meaning = meaning_of(*index).filter(|meaning| !is_contradicted(*meaning));
        matches!(meaning, Some(Meaning::Rejected(_)))
    };
    let refusing: Vec<usize> = upstreams.filter(refuses).collect();
    // The first of the replies that said the same since.
    let first = |index: usize| {
        let is_same =
            |meaning: Meaning| Some(meaning) == meaning_of(index) || meaning == Meaning::Failed;
        let all: Vec<_> = said(index).collect();
        let start = all.iter().rposition(|(_, meaning)| !is_same(*meaning)).map_or(0, |it| it + 1);
        let mut same = all[start..].iter().filter(|(_, meaning)| *meaning != Meaning::Failed);
        same.next().map(|(came, _)| (came.at, came.head)).expect("it refuses")
    };
    let (at, head) = refusing.iter().map(|it| first(*it)).min()?;
    let all_refuse = refusing.len() == came.len();
    let none_is_doubtful =
        refusing.iter().all(|it| meaning_of(*it) == Some(Meaning::Rejected(Grounds::Other)));
    let ends =
        now - at >= GRACE || all_refuse && (none_is_doubtful || own.head - head >= GRACE_HEIGHTS);
    ends.then(|| refusing[0])
}

/// The pause that is right after the last of these replies
fn pause(came: &[Came]) -> Duration {
    let is_accepted = |came: &Came| came.meaning == Some(Meaning::Accepted);
    if came.last().is_some_and(is_accepted) {
        return ACCEPTED_PAUSE;
    }
    let others = came.iter().rev().take_while(|it| !is_accepted(it)).count();
    let doublings = u32::try_from(others - 1).expect("a few replies");
    (PAUSE * 2_u32.saturating_pow(doublings.min(10))).min(MAX_PAUSE)
}

fn reply(index: usize, meaning: Meaning) -> SubmissionResponse {
    SubmissionResponse {
        meaning,
        text: format!("{meaning:?}"),
        error: Some(index.to_string().into()),
    }
}

/// Runs a seed; returns the cases that it shows
fn run(seed: u64) -> Vec<&'static str> {
    let rng = &mut Rng::new(mix(seed));
    let count = rng.between(1, 3) as usize;
    let truth = if rng.chance(650) { Ok(()) } else { Err(refusal(rng)) };
    let liar = rng.one_in(2).then(|| rng.index(count));
    let mut upstreams: Vec<Behaviour> =
        (0..count).map(|index| behaviour(rng, truth, liar == Some(index))).collect();
    // A healthy one accepts a valid transaction within the time that a first refusal waits.
    let works = truth.is_ok()
        && upstreams.iter().any(|it| it.first.is_empty() && it.then == Meaning::Accepted);
    let deadline = Duration::from_secs(rng.between(5, 60));
    // The feed is behind by this much; the base block of an expired transaction is never recent.
    let base_after = Duration::from_millis(10 * rng.below(800));
    let base_is_recent = truth != Err(Grounds::BaseBlock) && !rng.one_in(4);
    let inclusion = Duration::from_millis(10 * rng.between(100, 700));

    let mut replies = SubmissionResponses::new(count);
    let mut came: Vec<Vec<Came>> = vec![Vec::new(); count];
    let mut asked: Vec<Option<(Duration, Option<Meaning>)>> = vec![None; count];
    let mut included_at = None;
    let mut now = Duration::ZERO;
    let end = loop {
        let own = OwnChain {
            head: 100 + (now.as_millis() / BLOCK.as_millis()) as u64,
            has_recent_base: base_is_recent && now >= base_after,
        };
        for index in 0..count {
            let Some((at, meaning)) = asked[index].filter(|(at, _)| *at <= now) else { continue };
            asked[index] = None;
            came[index].push(Came { at, meaning, head: own.head });
            replies.insert(index, meaning.map(|it| reply(index, it)), now, own.head);
            let is_taken = meaning == Some(Meaning::Accepted) && !upstreams[index].forgets;
            if is_taken && included_at.is_none() {
                included_at = Some(now + inclusion);
            }
        }
        while let Some(index) = replies.ask(now) {
            let right = came[index].last().map_or(Duration::ZERO, |it| it.at + pause(&came[index]));
            assert_eq!(now, right, "seed {seed}: upstream {index} is asked at another time");
            assert!(asked[index].is_none(), "seed {seed}: upstream {index} is asked twice");
            let upstream = &mut upstreams[index];
            let then = (Some(upstream.then), upstream.latency);
            let (meaning, latency) = upstream.first.pop_front().unwrap_or(then);
            asked[index] = Some((now + latency, meaning));
        }
        if included_at.is_some_and(|at| at <= now) {
            break End::Included;
        }
        let found = replies.refusal(now, own).map(|it| it.error.as_deref().expect("an index"));
        let right = expected(&came, now, own).map(|index| index.to_string());
        assert_eq!(found, right.as_deref(), "seed {seed} at {now:?}: {came:#?}");
        if found.is_some() {
            break End::Rejected;
        }
        if now >= deadline {
            break End::Deadline;
        }
        // Nothing is due before the time that is named: the driver sleeps until then.
        let next = replies.next(now);
        let waits = asked.iter().all(Option::is_some);
        assert!(next.is_none_or(|next| next > now) && (next.is_some() || waits), "seed {seed}");
        now += TICK;
    };

    let said = |index: usize| came[index].iter().filter_map(|it| it.meaning);
    let refused = |index: usize| said(index).any(|it| matches!(it, Meaning::Rejected(_)));
    let is_forgotten = |it: usize| {
        let replies: Vec<Meaning> = said(it).collect();
        let after = replies.iter().skip_while(|it| **it != Meaning::Accepted);
        after.last().is_some_and(|it| matches!(it, Meaning::Rejected(_)))
    };
    let (accepted, refusing) = (
        (0..count).filter(|it| said(*it).any(|it| it == Meaning::Accepted)).count(),
        (0..count).filter(|it| refused(*it)).count(),
    );
    assert!(end != End::Rejected || accepted == 0, "seed {seed}: accepted, and refused");
    assert!(!works || end != End::Rejected, "seed {seed}: a liar had the last word");
    let text = replies.to_string();
    let parts: Vec<&str> = text.split("; ").collect();
    assert_eq!(parts.len(), count, "seed {seed}: {text}");
    for (index, part) in parts.iter().enumerate() {
        assert!(part.starts_with(&format!("upstream {}: ", index + 1)), "seed {seed}: {text}");
        assert_eq!(
            part.ends_with("no answer"),
            said(index).next().is_none(),
            "seed {seed}: {text}"
        );
    }
    let is_over = |from: Duration| now >= from + GRACE;
    let first = came.iter().flatten().filter(|it| matches!(it.meaning, Some(Meaning::Rejected(_))));
    let first = first.map(|it| it.at).min().unwrap_or(now);
    let is_busy = |it: usize| said(it).next_back() == Some(Meaning::Busy);
    let is_nonce = |it: Meaning| it == Meaning::Rejected(Grounds::Nonce);
    let is_together = refusing == count && !is_over(first);
    let shown = [
        end == End::Included,
        end == End::Included && refusing > 0,
        end == End::Included && liar.is_some_and(refused),
        end == End::Rejected && is_together,
        end == End::Rejected && is_together && (0..count).all(|it| said(it).any(is_nonce)),
        end == End::Rejected && refusing < count,
        end == End::Deadline,
        end == End::Deadline && refusing > 0 && (0..count).any(is_busy),
        end == End::Deadline && accepted == 0 && refusing == count && base_is_recent,
        came.iter().flatten().any(|it| it.meaning.is_none()),
        (0..count).any(is_forgotten),
    ];
    CASES.into_iter().zip(shown).filter(|(_, is_shown)| *is_shown).map(|(case, _)| case).collect()
}

#[test]
fn replies_together_mean_the_same_as_in_the_model() {
    let shown: Vec<&str> = (0..SEEDS).flat_map(run).collect();
    for case in CASES {
        let count = shown.iter().filter(|shown| **shown == case).count();
        assert!(count >= 3, "{case}: in {count} of {SEEDS} runs");
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The refusal of upstreams that all replied at once
fn refused(meanings: &[Option<Meaning>], now: Duration, own: OwnChain) -> bool {
    let mut replies = SubmissionResponses::new(meanings.len());
    while replies.ask(Duration::ZERO).is_some() {}
    for (index, meaning) in meanings.iter().enumerate() {
        if let Some(meaning) = meaning {
            replies.insert(index, Some(reply(index, *meaning)), Duration::ZERO, 100);
        }
    }
    replies.refusal(now, own).is_some()
}

#[test]
fn each_sentence_of_the_page_holds() {
    const OTHER: Option<Meaning> = Some(Meaning::Rejected(Grounds::Other));
    const EXPIRED: Option<Meaning> = Some(Meaning::Rejected(Grounds::BaseBlock));
    const NONCE: Option<Meaning> = Some(Meaning::Rejected(Grounds::Nonce));
    const ACCEPTED: Option<Meaning> = Some(Meaning::Accepted);
    const BUSY: Option<Meaning> = Some(Meaning::Busy);
    const FAILED: Option<Meaning> = Some(Meaning::Failed);
    let own = OwnChain { head: 100, has_recent_base: false };
    let known = OwnChain { has_recent_base: true, ..own };
    let later = OwnChain { head: 103, ..own };
    let hour = at(3_600);
    for (replies, from, own) in [
        (&[OTHER][..], Some(at(0)), own),
        (&[OTHER, OTHER], Some(at(0)), own),
        (&[OTHER, FAILED], Some(at(5)), own),
        (&[FAILED, OTHER, None], Some(at(5)), own),
        (&[OTHER, ACCEPTED], None, own),
        (&[OTHER, OTHER, BUSY], None, own),
        (&[BUSY], None, own),
        (&[FAILED, None], None, own),
        (&[NONCE], Some(at(5)), own),
        (&[NONCE, OTHER], Some(at(0)), later),
        (&[NONCE, None], Some(at(5)), later),
        (&[EXPIRED], Some(at(5)), own),
        (&[EXPIRED, EXPIRED], None, known),
        (&[EXPIRED, OTHER], Some(at(5)), known),
        (&[EXPIRED, ACCEPTED], None, own),
    ] {
        let name = format!("{replies:?} {own:?}");
        match from {
            None => assert!(!refused(replies, hour, own), "{name}"),
            Some(from) => {
                assert!(refused(replies, from, own), "{name}");
                let before = from.checked_sub(TICK);
                assert!(before.is_none_or(|before| !refused(replies, before, own)), "{name}");
            }
        }
    }
}
