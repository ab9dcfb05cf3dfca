//! Clients at a desk whose storage is far away.
//!
//! A request is asked at one state of the storage; by the time it is admitted, or settled after it
//! was woken, blocks may have come in, time may be up, the client may be gone. So this is what a host
//! with threads or a remote storage does, one step at a time. What the desk says at each step is
//! told beforehand: by the oracle, and by counting the batches that it was told of.

use milepost::engine::{Admission, Exchange, Reply, Settled, Wait};
use milepost::facts::MemoryStorage;
use milepost::waiting::Ticket;

use crate::client::Request;
use crate::requests::{Open, STOPS, agrees, text};
use crate::run::{Run, ensure, log};
use crate::tally::Seen;

/// A request that was asked and is to be admitted
pub(crate) struct Flight {
    request: Request,
    wait: Wait,
    asked: Asked,
}

/// A request that was woken and asked again, and is to be settled
pub(crate) struct Away {
    reply: Reply,
    asked: Asked,
    /// Its milestone was reached; otherwise its answer says that it was not
    reached: bool,
}

/// The state of the storage at which a request was asked
pub(crate) struct Asked {
    /// How many batches had changed the chain
    generation: u64,
    rows: Option<MemoryStorage>,
    /// These rows were too old before, for a desk that had been told of this generation
    behind: Option<u64>,
}

impl Asked {
    /// Whether a desk that was told of this generation asks again, and whether it lets in what is
    /// behind all the same
    fn stands(&self, handled: u64) -> (bool, bool) {
        let behind = self.behind == Some(handled);
        (self.generation < handled && !behind, behind)
    }
}

impl Run {
    /// The rows as they are now, kept now and then
    fn asked_now(&mut self) -> Asked {
        let keep = self.rng.one_in(3);
        let rows = if keep { self.store.snapshot() } else { None };
        Asked { generation: self.committed, rows, behind: None }
    }

    pub(crate) fn ask_outside(&mut self, request: Request, body: &str) -> Result<(), String> {
        let exchange = Exchange::open(self.desk.engine().settings(), body.as_bytes(), None);
        match exchange.drive(&self.store) {
            Reply::Answer(answer) => self.answered_at_once(&request, answer),
            Reply::Wait(wait) => {
                let asked = self.asked_now();
                let flight = Flight { request, wait, asked };
                if self.rng.chance(self.setup.habits.away) {
                    self.flights.push(flight);
                    return Ok(());
                }
                self.admit(flight)
            }
        }
    }

    /// Admits a request, which may have to be asked again first
    fn admit(&mut self, flight: Flight) -> Result<(), String> {
        let Flight { mut request, mut wait, mut asked } = flight;
        loop {
            ensure!(
                request.answer().is_none() && wait.open_calls() == request.open_calls(),
                "{}\nwaits for {} calls, {} expected, answer {:?}",
                request.body(self.names()),
                wait.open_calls(),
                request.open_calls(),
                request.answer()
            );
            let (stale, behind) = asked.stands(self.handled);
            let refusal = self.refusal(request.calls.len()).filter(|_| !stale || self.stopping);
            let exchange = match self.desk.admit(self.now, wait) {
                Admission::Asleep(ticket) => {
                    ensure!(!stale && refusal.is_none(), "admitted, stale {stale}, {refusal:?}");
                    self.tally.add(Seen::Admitted);
                    self.tally.add_if(Seen::Behind, behind);
                    self.waits(request, ticket, asked.generation, behind)?;
                    return self.check_books();
                }
                Admission::Again(exchange) if refusal.is_some() => {
                    // There is a last look.
                    let (manners, names) = (&self.setup.manners, &self.setup.chain.growth.names);
                    request.look(false, &self.oracle, manners, names);
                    request.refuse(&refusal.unwrap_or_default());
                    self.tally.add(Seen::Full);
                    return match exchange.drive(&self.store) {
                        Reply::Answer(answer) => self.answered_at_once(&request, answer),
                        Reply::Wait(_) => Err("refused, and waits".to_owned()),
                    };
                }
                Admission::Again(exchange) => exchange,
            };
            ensure!(stale && !self.stopping, "asked again, and nothing came in");
            self.tally.add(Seen::Again);
            let mut keep = false;
            let reply = match asked.rows.as_ref().filter(|_| self.rng.one_in(2)) {
                Some(rows) => {
                    asked.behind = Some(self.handled);
                    keep = self.rng.one_in(2) && !self.landing;
                    exchange.drive(rows)
                }
                None => {
                    asked = self.asked_now();
                    let (manners, names) = (&self.setup.manners, &self.setup.chain.growth.names);
                    request.look(false, &self.oracle, manners, names);
                    exchange.drive(&self.store)
                }
            };
            wait = match reply {
                Reply::Answer(answer) => return self.answered_at_once(&request, answer),
                Reply::Wait(wait) => wait,
            };
            if keep {
                self.flights.push(Flight { request, wait, asked });
                return Ok(());
            }
        }
    }

    /// Looks at whoever is woken; whoever is not must have nothing to look at
    pub(crate) fn poll_outside(&mut self) -> Result<(), String> {
        while let Some((ticket, exchange)) = self.desk.poll_exchange() {
            let Some(place) = self.open.iter().position(|open| open.ticket == ticket) else {
                return Err(format!("{ticket} is not open, and is woken"));
            };
            let mut open = self.open.swap_remove(place);
            ensure!(open.away.is_none(), "{ticket} is away, and is woken");
            log!(self, "    {} is woken", ticket.to_bits());
            self.tally.add(Seen::Away);
            self.look_outside(&mut open, exchange)?;
            self.keep_or_settle(open)?;
        }
        let held: Vec<Flight> = core::mem::take(&mut self.flights);
        for flight in held {
            if self.rng.chance(self.setup.habits.away) {
                self.flights.push(flight);
            } else {
                self.admit(flight)?;
            }
        }
        let waiting = core::mem::take(&mut self.open);
        for open in waiting {
            if open.away.is_some() {
                self.keep_or_settle(open)?;
            } else {
                self.sleeps(open)?;
            }
        }
        self.check_books()
    }

    /// Whoever sleeps must have no reason to be awake, once the desk was told of all blocks
    fn sleeps(&mut self, mut open: Open) -> Result<(), String> {
        let manners = &self.setup.manners;
        let names = &self.setup.chain.growth.names;
        ensure!(!open.due, "{} is due, and sleeps", open.ticket);
        ensure!(!self.stopping, "{} sleeps, and the desk stops", open.ticket);
        if self.queue.is_empty() && !open.behind {
            open.request.look(false, &self.oracle, manners, names);
            self.still_waits(&open)?;
        }
        self.open.push(open);
        Ok(())
    }

    /// Asks a request again, at the state of the storage as it is now
    fn look_outside(&mut self, open: &mut Open, exchange: Exchange) -> Result<(), String> {
        let manners = &self.setup.manners;
        let names = &self.setup.chain.growth.names;
        open.request.look(false, &self.oracle, manners, names);
        let reached = open.request.answer().is_some();
        if self.stopping {
            open.request.refuse(STOPS);
        } else if open.due {
            open.request.expire(&self.oracle, manners, names);
        }
        let reply = exchange.drive(&self.store);
        ensure!(
            agrees(&reply, &open.request),
            "{} ({}) is asked again at {}:\n{}\nexpected was\n{:?}",
            open.ticket.to_bits(),
            open.request.describe(names),
            self.now,
            match reply {
                Reply::Answer(answer) => text(answer),
                Reply::Wait(wait) => format!("waits for {:?}", wait.blocker()),
            },
            open.request.answer()
        );
        open.behind = false;
        let asked = self.asked_now();
        open.away = Some(Away { reply, asked, reached });
        Ok(())
    }

    fn keep_or_settle(&mut self, open: Open) -> Result<(), String> {
        if self.rng.chance(self.setup.habits.away) {
            self.open.push(open);
            return Ok(());
        }
        self.settle(open)
    }

    /// Hands back what became of a request that was woken
    fn settle(&mut self, mut open: Open) -> Result<(), String> {
        let ticket = open.ticket;
        while let Some(Away { reply, asked, reached }) = open.away.take() {
            let waits = matches!(reply, Reply::Wait(_));
            let (stale, behind) = asked.stands(self.handled);
            let exchange = match self.desk.settle(ticket, reply) {
                Settled::Answer(answer) => {
                    ensure!(!waits, "{ticket} waits, and is answered");
                    return self.take(&open, answer, reached);
                }
                Settled::Asleep => {
                    ensure!(
                        waits && !stale && !open.due && !self.stopping,
                        "{ticket} sleeps again"
                    );
                    self.tally.add(Seen::InVain);
                    open.behind = behind;
                    log!(self, "    {} sleeps again", ticket.to_bits());
                    self.open.push(open);
                    return Ok(());
                }
                Settled::Again(exchange) => exchange,
                Settled::Gone => return Err(format!("{ticket} is gone")),
            };
            ensure!(
                waits && (stale || open.due || self.stopping),
                "{ticket} is asked again, and nothing came in"
            );
            self.tally.add(Seen::AwayAgain);
            match asked.rows.filter(|_| !open.due && !self.stopping && self.rng.one_in(2)) {
                Some(rows) => {
                    let reply = exchange.drive(&rows);
                    ensure!(agrees(&reply, &open.request), "{ticket} differs on the same rows");
                    let (rows, behind) = (Some(rows), Some(self.handled));
                    let asked = Asked { generation: asked.generation, rows, behind };
                    open.away = Some(Away { reply, asked, reached });
                    if self.rng.one_in(2) && !self.landing {
                        self.open.push(open);
                        return Ok(());
                    }
                }
                None => self.look_outside(&mut open, exchange)?,
            }
        }
        Err(format!("{ticket} is not away"))
    }

    /// Hands back what became of a request whose client is gone
    pub(crate) fn settle_gone(&mut self, ticket: Ticket, away: Away) -> Result<(), String> {
        match self.desk.settle(ticket, away.reply) {
            Settled::Gone => Ok(()),
            other => Err(format!("{ticket} is cancelled, and is settled as {other:?}")),
        }
    }

    /// Brings everyone home who is on the way
    pub(crate) fn settle_all(&mut self) -> Result<(), String> {
        self.landing = true;
        for flight in core::mem::take(&mut self.flights) {
            self.admit(flight)?;
        }
        let (away, asleep) =
            core::mem::take(&mut self.open).into_iter().partition(|open| open.away.is_some());
        self.open = asleep;
        let away: Vec<Open> = away;
        for open in away {
            self.settle(open)?;
        }
        self.landing = false;
        self.check_books()
    }
}
