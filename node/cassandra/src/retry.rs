//! Which failures of a statement are tried again: the driver's rules, and timeouts once.
//!
//! The driver does not repeat what a node reports as timed out, because a statement may have been
//! executed. All statements here can be executed twice, and a replica that was killed or paused
//! times out once before the others know.

use scylla::errors::{DbError, RequestAttemptError};
use scylla::policies::retry::{
    DefaultRetryPolicy, RequestInfo, RetryDecision, RetryPolicy, RetrySession,
};

/// The driver's rules, and timeouts once
#[derive(Debug)]
pub(crate) struct RetryTimeouts;

impl RetryPolicy for RetryTimeouts {
    fn new_session(&self) -> Box<dyn RetrySession> {
        Box::new(Retries { rules: DefaultRetryPolicy.new_session(), is_repeated: false })
    }
}

/// The retries of one statement
struct Retries {
    /// Of the driver
    rules: Box<dyn RetrySession>,
    /// Whether a timeout was tried again
    is_repeated: bool,
}

impl RetrySession for Retries {
    fn decide_should_retry(&mut self, request: RequestInfo<'_>) -> RetryDecision {
        if request.is_idempotent && !self.is_repeated && is_timeout(request.error) {
            self.is_repeated = true;
            return RetryDecision::RetryNextTarget(None);
        }
        self.rules.decide_should_retry(request)
    }

    fn reset(&mut self) {
        self.rules.reset();
        self.is_repeated = false;
    }
}

const fn is_timeout(error: &RequestAttemptError) -> bool {
    let RequestAttemptError::DbError(error, _) = error else { return false };
    matches!(error, DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. })
}

#[cfg(test)]
mod tests {
    use scylla::errors::WriteType;
    use scylla::statement::Consistency;

    use super::*;

    #[test]
    fn timeouts_differ_from_other_failures() {
        let of = |error| is_timeout(&RequestAttemptError::DbError(error, String::new()));
        let consistency = Consistency::LocalQuorum;
        let (received, required) = (1, 2);
        let write_type = WriteType::Simple;
        assert!(of(DbError::WriteTimeout { consistency, received, required, write_type }));
        let data_present = false;
        assert!(of(DbError::ReadTimeout { consistency, received, required, data_present }));
        assert!(!of(DbError::Unavailable { consistency, required: 2, alive: 1 }));
        assert!(!of(DbError::SyntaxError));
        assert!(!is_timeout(&RequestAttemptError::UnableToAllocStreamId));
    }
}
