//! Clients that come and go, at a desk with its storage at hand.
//!
//! Whoever waits is evaluated by the oracle whenever answers are taken; the answers that come out must
//! be those, byte for byte, and no others. The desk is told of every block before that, for what it
//! was not told of it may or may not see.

use milepost::engine::{Answer, Called, Reply};
use milepost::waiting::Ticket;

use crate::client::{self, Call, DEFAULT, Form, Request};
use crate::names::Id;
use crate::oracle::{Oracle, Stands};
use crate::outside::Away;
use crate::run::{Run, ensure, log};
use crate::tally::{Seen, Tally};

/// A request that waits, as the oracle thinks of it
pub(crate) struct Open {
    pub(crate) ticket: Ticket,
    pub(crate) request: Request,
    pub(crate) deadline: u64,
    /// Its deadline has come
    pub(crate) due: bool,
    /// How many calls it has: each takes a place
    pub(crate) places: usize,
    /// It was admitted with rows from before the newest block, and may have missed that one
    pub(crate) behind: bool,
    /// It was woken, and was looked at outside
    pub(crate) away: Option<Away>,
}

/// What the reason of a refusal says when the desk stops
pub(crate) const STOPS: &str = "the service stops";

impl Run {
    /// A transaction worth asking for: most often one that is about to come or that came lately
    fn asked(&mut self) -> Id {
        if self.rng.one_in(25) {
            return *self.rng.pick(&self.setup.strangers);
        }
        let growth = &self.setup.chain.growth;
        let made = self.setup.chain.blocks.len() as u64;
        let near: Vec<Id> = (growth.pool.iter().zip(&growth.released))
            .filter(|(_, released)| **released < made + 5)
            .map(|(transaction, _)| transaction.id)
            .collect();
        if near.is_empty() || self.rng.one_in(10) {
            return self.rng.pick(&growth.pool).id;
        }
        *self.rng.pick(&near)
    }

    fn call(&mut self) -> Call {
        let transaction = self.asked();
        let pool = &self.setup.chain.growth.pool;
        let signed = pool.iter().find(|one| one.id == transaction).and_then(|one| one.signed);
        let mut wait = client::any_wait(&mut self.rng);
        let form = match signed {
            Some((right, wrong)) if self.rng.one_in(2) => {
                let rightly = !self.rng.one_in(4);
                self.tally.add(Seen::Signed);
                self.tally.add_if(Seen::BadlySigned, !rightly);
                Form::Signed(if rightly { right } else { wrong }, rightly)
            }
            _ if self.rng.one_in(8) => Form::Array,
            _ => Form::Hash,
        };
        if form == Form::Array {
            wait = DEFAULT;
        }
        self.sent += 1;
        let id = match self.rng.below(3) {
            0 => format!("\"c{}\"", self.sent),
            1 => format!("[{}]", self.sent),
            _ => self.sent.to_string(),
        };
        let methods = ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_tx_status", "tx_status", "tx"];
        let method = self.rng.pick(&methods);
        let silent = wait == DEFAULT && self.rng.one_in(2);
        Call { transaction, method, form, wait, silent, id, answer: None, fixed: false }
    }

    /// A client comes
    pub(crate) fn send(&mut self) -> Result<(), String> {
        let batch = self.rng.one_in(5);
        let calls = if batch { self.rng.between(1, 5) } else { 1 };
        let calls = (0..calls).map(|_| self.call()).collect();
        self.open_request(Request { calls, batch })
    }

    /// How many places are taken
    pub(crate) fn places(&self) -> usize {
        self.open.iter().map(|open| open.places).sum()
    }

    /// Why a request that takes so many places cannot wait
    pub(crate) fn refusal(&self, places: usize) -> Option<String> {
        let (taken, limit) = (self.places(), self.setup.manners.limit);
        if self.stopping {
            return Some(STOPS.to_owned());
        }
        (taken + places > limit).then(|| {
            format!(
                "no place to wait: {taken} of {limit} are taken, and the request needs {places}"
            )
        })
    }

    pub(crate) fn open_request(&mut self, mut request: Request) -> Result<(), String> {
        let manners = self.setup.manners;
        let names = &self.setup.chain.growth.names;
        self.tally.add(Seen::Requests);
        let body = request.body(names);
        request.look(true, &self.oracle, &manners, names);
        log!(self, "request at {}: {}", self.now, request.describe(names));
        if self.setup.habits.outside {
            return self.ask_outside(request, &body);
        }
        if request.answer().is_none()
            && let Some(why) = self.refusal(request.calls.len())
        {
            request.refuse(&why);
            self.tally.add(Seen::Full);
        }
        match self.desk.call(self.now, body.as_bytes(), None, &self.store) {
            Called::Answer(answer) => self.answered_at_once(&request, answer)?,
            Called::Wait(ticket) => self.waits(request, ticket, self.committed, false)?,
        }
        self.check_books()
    }

    pub(crate) fn answered_at_once(
        &mut self,
        request: &Request,
        answer: Answer,
    ) -> Result<(), String> {
        let found = text(answer);
        let expected = request.answer();
        ensure!(
            Some(&found) == expected.as_ref(),
            "{}\nis answered at once by\n{found}\nexpected was\n{expected:?}",
            request.body(self.names())
        );
        log!(self, "    is answered at once");
        self.tally.add(Seen::AtOnce);
        let unknown = found.contains("UNKNOWN_TRANSACTION");
        self.tally.add_if(Seen::Immediate, self.setup.manners.immediate && unknown);
        Ok(())
    }

    pub(crate) fn waits(
        &mut self,
        request: Request,
        ticket: Ticket,
        generation: u64,
        behind: bool,
    ) -> Result<(), String> {
        if self.places() == 0 {
            // Nobody waited who could have seen less.
            self.handled = self.handled.max(generation);
        }
        if let Some(expected) = request.answer() {
            let body = request.body(self.names());
            return Err(format!("{body}\nwaits, expected was\n{expected}"));
        }
        log!(self, "    waits as {}", ticket.to_bits());
        self.tally.add(Seen::Waited);
        self.tally.add_if(Seen::Batches, request.batch);
        let deadline = self.now.saturating_add(self.setup.manners.timeout);
        let places = request.calls.len();
        self.open.push(Open { ticket, request, deadline, due: false, places, behind, away: None });
        Ok(())
    }

    /// A client goes
    pub(crate) fn cancel(&mut self) -> Result<(), String> {
        if self.open.is_empty() {
            return Ok(());
        }
        let place = self.rng.below(self.open.len() as u64) as usize;
        let Open { ticket, mut request, away, .. } = self.open.swap_remove(place);
        log!(self, "{} is cancelled", ticket.to_bits());
        let manners = self.setup.manners;
        request.look(false, &self.oracle, &manners, &self.setup.chain.growth.names);
        self.tally.add(Seen::Cancelled);
        self.tally.add_if(Seen::CancelledReached, request.answer().is_some());
        ensure!(self.desk.cancel(ticket), "{ticket} is open and cannot be cancelled");
        ensure!(!self.desk.cancel(ticket), "{ticket} can be cancelled twice");
        if let Some(away) = away {
            self.tally.add(Seen::AwayCancelled);
            self.settle_gone(ticket, away)?;
        }
        self.check_books()
    }

    /// Takes the answers that are there
    pub(crate) fn poll(&mut self) -> Result<(), String> {
        if self.setup.habits.outside {
            return self.poll_outside();
        }
        self.handle_queue();
        let manners = self.setup.manners;
        let names = &self.setup.chain.growth.names;
        for open in &mut self.open {
            open.request.look(false, &self.oracle, &manners, names);
        }
        while let Some((ticket, answer)) = self.desk.poll_answer(&self.store) {
            let Some(place) = self.open.iter().position(|open| open.ticket == ticket) else {
                return Err(format!("{ticket} is not open, and is answered by\n{}", text(answer)));
            };
            let mut open = self.open.swap_remove(place);
            let reached = open.request.answer().is_some();
            self.give_up(&mut open);
            self.take(&open, answer, reached)?;
        }
        for place in 0..self.open.len() {
            let mut open = self.open.swap_remove(place);
            self.give_up(&mut open);
            self.still_waits(&open)?;
            self.open.push(open);
            let last = self.open.len() - 1;
            self.open.swap(place, last);
        }
        self.check_books()
    }

    /// Ends what is open when time is up or the desk stops
    pub(crate) fn give_up(&self, open: &mut Open) {
        if self.stopping {
            open.request.refuse(STOPS);
        } else if open.due {
            open.request.expire(&self.oracle, &self.setup.manners, self.names());
        }
    }

    pub(crate) fn still_waits(&self, open: &Open) -> Result<(), String> {
        match open.request.answer() {
            None => Ok(()),
            Some(expected) => Err(format!(
                "{} ({}) due at {} is not answered at {}, expected was\n{expected}",
                open.ticket.to_bits(),
                open.request.describe(self.names()),
                open.deadline,
                self.now
            )),
        }
    }

    /// Compares the answer to a request that waited
    pub(crate) fn take(
        &mut self,
        open: &Open,
        answer: Answer,
        reached: bool,
    ) -> Result<(), String> {
        let found = text(answer);
        let expected = open.request.answer();
        let ticket = open.ticket.to_bits();
        ensure!(
            Some(&found) == expected.as_ref(),
            "{ticket} ({}) due at {} is answered at {} by\n{found}\nexpected was\n{expected:?}",
            open.request.describe(self.names()),
            open.deadline,
            self.now
        );
        log!(self, "    {ticket} is answered, {}", if reached { "reached" } else { "not reached" });
        let tally = &mut self.tally;
        tally.add_if(Seen::Reached, reached);
        tally.add_if(Seen::Expired, !reached && open.due);
        tally.add_if(Seen::Fork, reached && self.undid);
        tally.add_if(Seen::Unbodied, found.contains("its body is not in the storage"));
        if reached {
            count(&open.request, &self.oracle, tally);
        }
        Ok(())
    }
}

/// Counts the milestones that were waited for and reached
fn count(request: &Request, oracle: &Oracle, tally: &mut Tally) {
    for call in &request.calls {
        if let Some((Stands::ExecutedOptimistic | Stands::Executed, 1..)) =
            oracle.stands(call.transaction)
        {
            tally.add(Seen::LateRefunds);
        }
        tally.add(match call.wait {
            Stands::None => Seen::None,
            Stands::Included => Seen::Included,
            Stands::ExecutedOptimistic => Seen::ExecutedOptimistic,
            Stands::IncludedFinal => Seen::IncludedFinal,
            Stands::Executed => Seen::Executed,
            Stands::Final => Seen::Final,
        });
    }
}

pub(crate) fn text(answer: Answer) -> String {
    String::from_utf8(answer.body).unwrap_or_else(|_| "an answer that is not text".to_owned())
}

/// Whether a reply says what the oracle says
pub(crate) fn agrees(reply: &Reply, request: &Request) -> bool {
    match reply {
        Reply::Answer(answer) => {
            request.answer().is_some_and(|text| text.as_bytes() == answer.body)
        }
        Reply::Wait(wait) => wait.open_calls() == request.open_calls(),
    }
}
