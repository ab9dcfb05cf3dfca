//! Looking at a request without answering it.
//!
//! What is wrong with the envelope and the params is found; whether the transaction or the block is
//! known is not asked, and no signature is checked.

use milepost::engine::Answer;
use milepost::rpc::{AnswerClass, Incoming, Refusal as Refused, parse, write_batch};

use crate::answer::{Answered, milepost_answer};
use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::settings::{Chosen, milepost_settings};

ffi_function! {
    /// Checks the body of a request, and gives the answer to one that is not in order
    ///
    /// `refusal` is NULL after `MILEPOST_STATUS_OK` when the request is in order. Of a batch in which any call is not,
    /// it is the array of the answers to those. `calls` is how many calls the body has; 0 when it cannot be read.
    /// `settings` may be NULL for the defaults. `method` is what the address of the request names, and of length 0
    /// when it names none.
    fn milepost_request_validate(
        #[optional] settings: *const milepost_settings,
        body: *const u8,
        body_len: usize,
        method: *const u8,
        method_len: usize,
        calls: *mut usize,
        refusal: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, method) = (body.bytes(body_len)?, method.method(method_len)?);
        let chosen = Chosen::or_default(settings);
        let (count, refused) = look(parse(body, method, &chosen.engine.limits));
        calls.put(count);
        if let Some(refused) = refused {
            refusal.put(Answered::new(refused));
        }
        Ok(())
    }
}

/// How many calls there are, and the answer to those that are not in order
fn look(incoming: Incoming) -> (usize, Option<Answer>) {
    let written = |refused: &Refused| {
        let mut body = Vec::new();
        refused.write(&mut body);
        body
    };
    match incoming {
        Incoming::Single(Ok(_)) => (1, None),
        Incoming::Single(Err(refused)) => {
            let (body, class) = (written(&refused), refused.failure.class());
            (1, Some(Answer { body, class }))
        }
        Incoming::Refused(refused) => {
            let (body, class) = (written(&refused), refused.failure.class());
            (0, Some(Answer { body, class }))
        }
        Incoming::Batch(calls) => {
            let refused: Vec<Vec<u8>> =
                calls.iter().filter_map(|call| call.as_ref().err()).map(written).collect();
            let answer = (!refused.is_empty()).then(|| {
                let mut body = Vec::new();
                write_batch(&refused, &mut body);
                Answer { body, class: AnswerClass::Result }
            });
            (calls.len(), answer)
        }
    }
}
