//! How much memory clients that send or read slowly may take, all together.
//!
//! A body that arrives in pieces counts by its length until it is whole, a response of at least
//! [`UNIT`] bytes until it is sent; what exceeds the budget is refused. Large ones leave a quarter
//! of it to small ones, so that clients of large ones alone cannot take what the others need. Not
//! here: streams of events, which are made when the connection takes them, and what the libraries
//! buffer of a head or a frame.

use alloc::sync::Arc;

use hyper::StatusCode;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::request_body::HttpError;
use super::route::HttpResponse;

/// Bytes of a permit: a semaphore hands out at most `u32::MAX` at a time
const UNIT: usize = 1 << 10;
/// Length of what is large: most answers about a transaction are smaller
const LARGE: usize = 16 << 10;

/// The budget of a server
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    /// Permits for [`UNIT`] bytes each
    free: Arc<Semaphore>,
    /// All permits
    units: usize,
    /// Permits that large ones leave
    reserve: usize,
    limit: usize,
}

impl MemoryBudget {
    /// A budget of so many bytes
    pub(super) fn new(limit: usize) -> Self {
        let units = (limit / UNIT).min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(units)), units, reserve: units / 4, limit }
    }

    /// Bytes that count now
    pub(super) fn used(&self) -> usize {
        (self.units - self.free.available_permits()) * UNIT
    }

    /// A permit for nothing yet
    pub(super) fn begin(&self) -> MemoryPermit {
        MemoryPermit { budget: self.clone(), permit: None }
    }

    /// Counts so many bytes until the result is dropped
    pub(super) fn acquire(&self, length: usize) -> Result<MemoryPermit, HttpError> {
        let mut permit = self.begin();
        permit.grow_to(length).map(|()| permit)
    }

    /// Counts the body of a response until it is sent
    pub(super) fn count(&self, response: HttpResponse) -> Result<HttpResponse, HttpError> {
        // A body in memory is never longer than `usize::MAX`.
        let length = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
        if length < UNIT {
            return Ok(response);
        }
        let permit = self.acquire(length)?;
        Ok(response.map(|body| body.counted(permit)))
    }

    fn used_up(&self) -> HttpError {
        let limit = self.limit;
        let message = format!(
            "bodies that clients send or read slowly take all of the limit of {limit} bytes"
        );
        HttpError::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

/// What counts of the budget, until this is dropped
#[derive(Debug)]
pub(super) struct MemoryPermit {
    budget: MemoryBudget,
    permit: Option<OwnedSemaphorePermit>,
}

impl MemoryPermit {
    /// Counts at least so many bytes from now on
    pub(super) fn grow_to(&mut self, length: usize) -> Result<(), HttpError> {
        let units = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = length.div_ceil(UNIT).saturating_sub(units);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| self.budget.used_up())?;
        let free = Arc::clone(&self.budget.free);
        // Others may acquire between this and the next line: the reserve is no exact number.
        let left = free.available_permits().saturating_sub(more as usize);
        if length >= LARGE && left < self.budget.reserve {
            return Err(self.budget.used_up());
        }
        let more = free.try_acquire_many_owned(more).map_err(|_| self.budget.used_up())?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ones_leave_a_part_to_small_ones() {
        let budget = MemoryBudget::new(400 * UNIT);
        let large = budget.acquire(300 * UNIT).unwrap();
        assert!(budget.acquire(LARGE).is_err());
        let mut small: Vec<_> = (0..10).map(|_| budget.acquire(10 * UNIT).unwrap()).collect();
        assert!(budget.acquire(1).is_err());
        small.pop();
        assert!(small[0].grow_to(LARGE).is_err());
        small[0].grow_to(LARGE - UNIT).unwrap();
        drop(large);
        small[0].grow_to(LARGE).unwrap();
    }

    #[test]
    fn what_is_counted_is_free_again_when_it_is_dropped() {
        let budget = MemoryBudget::new(10 * UNIT);
        let mut body = budget.begin();
        for length in [1, UNIT, UNIT + 1, 4 * UNIT] {
            body.grow_to(length).unwrap();
        }
        assert_eq!((budget.free.available_permits(), budget.used()), (6, 4 * UNIT));
        let response = budget.acquire(6 * UNIT).unwrap();
        let error = body.grow_to(4 * UNIT + 1).unwrap_err();
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(error.message.contains("the limit of 10240 bytes"), "{}", error.message);
        // What it has already stays.
        body.grow_to(4 * UNIT).unwrap();
        drop(response);
        body.grow_to(10 * UNIT).unwrap();
        drop(body);
        assert_eq!((budget.free.available_permits(), budget.used()), (10, 0));
        assert!(budget.acquire(usize::MAX).is_err());
    }
}
