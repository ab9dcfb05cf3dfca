//! One request about a transaction, over rows that are at hand, in memory that is used again.
//!
//! An exchange can be suspended and holds any number of calls, for which it allocates. Here nothing is
//! suspended and there is one call; it gives the same answers, for the same question is asked and the
//! same judge decides.

use alloc::vec::Vec;
use core::mem;

use super::call::{Asked, Call, Open, Verdict, fail};
use super::{Response, Settings, Wait};
use crate::facts::{Row, Rows, drive_in};
use crate::rpc::{Failure, RequestId, StatusRequest};
use crate::status::{KEPT, Memory, StatusQuestion};

/// The memory in which an engine walks from receipt to receipt, to be used again for the next request
///
/// Holds no rows between requests, and one to two megabytes at most: what a walk took for more than 4,096
/// receipts is given back.
#[derive(Debug, Default)]
pub struct Scratch {
    memory: Memory,
    rows: Vec<Option<Row>>,
}

impl Scratch {
    /// Answers a request, or gives it back if it has to wait
    pub(super) fn answer(
        &mut self,
        id: RequestId,
        request: StatusRequest,
        settings: &Settings,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        let (asked, look) = Asked::of(id, request);
        let memory = mem::take(&mut self.memory);
        let mut question = StatusQuestion::in_memory(asked.hash(), settings.max_receipts, memory);
        let standing = drive_in(&mut question, rows, &mut self.rows);
        self.rows.clear();
        self.rows.shrink_to(2 * KEPT);
        let standing = match standing {
            Ok(standing) => standing,
            Err(error) => {
                self.memory = question.into_memory();
                return Response::Written(fail(asked.id(), &Failure::of(&error), out));
            }
        };
        let generation = question.generation();
        let verdict = asked.judge(standing.as_ref(), &look, settings, out);
        let walked = standing.and_then(|standing| standing.into_memory());
        self.memory = walked.unwrap_or_else(|| question.into_memory());
        match verdict {
            Verdict::Answer(class) | Verdict::Refusal(class) => Response::Written(class),
            Verdict::Wait(blocker) => {
                let open = Call::Open(Open { asked, blocker, generation });
                Response::Wait(Wait::new(*settings, [open].into(), false, None))
            }
        }
    }
}
