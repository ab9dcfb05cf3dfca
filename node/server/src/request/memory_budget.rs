//! How much memory clients that send or read slowly may take, all together.
//!
//! A request body counts from its first byte for as long as it, or what is made of it, is held, a
//! response until it is sent, and what a WebSocket receives until its message is whole; what
//! exceeds the budget is refused. Nothing counts below [`UNIT`] bytes: instead every request on a
//! connection that has many at a time counts [`REQUEST`]. Large ones, and all on a connection that
//! has much already, leave a quarter of the budget to others. Not here: streams of events, which
//! are made when the connection takes them, and one head or frame for each connection.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::io;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HttpError;

/// Bytes of a permit: a semaphore hands out at most `u32::MAX` at a time
const UNIT: usize = 1 << 10;
/// What a request on HTTP/2 or a WebSocket counts: its task, its stream, and up to four parts that
/// are shorter than [`UNIT`] (its body, its path, the headers that are kept, its response)
const REQUEST: usize = 8 << 10;
/// Length of what is large: most answers about a transaction are smaller
const LARGE: usize = 16 << 10;
/// What a connection may have of what is for small ones: two requests at a time on HTTP/2
const OF_CONNECTION: usize = 2 * REQUEST;

/// The budget of a server, or what a connection may have of it
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget {
    /// Permits for [`UNIT`] bytes each
    free: Arc<Semaphore>,
    /// All permits
    units: usize,
    /// Permits that large ones leave
    reserve: usize,
    limit: usize,
    /// Permits that the connection holds
    held: Option<Arc<AtomicUsize>>,
}

impl MemoryBudget {
    /// A budget of so many bytes
    pub(crate) fn new(limit: usize) -> Self {
        let units = (limit / UNIT).min(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(units)), units, reserve: units / 4, limit, held: None }
    }

    /// The same budget for one more connection
    pub(crate) fn of_connection(&self) -> Self {
        Self { held: Some(Arc::default()), ..self.clone() }
    }

    /// Whether so many more permits, for something of this length, leave the reserve to others
    fn is_large(&self, length: usize, more: usize) -> bool {
        let held = self.held.as_ref().map_or(0, |held| held.load(Relaxed) + more);
        length >= LARGE || held > OF_CONNECTION / UNIT
    }

    /// Bytes that count now
    pub(crate) fn used(&self) -> usize {
        (self.units - self.free.available_permits()) * UNIT
    }

    /// A permit for nothing yet
    pub(crate) fn begin(&self) -> MemoryPermit {
        MemoryPermit { budget: self.clone(), permit: None }
    }

    /// Counts so many bytes until the result is dropped; nothing below [`UNIT`]
    pub(crate) fn acquire(&self, length: usize) -> Result<MemoryPermit, HttpError> {
        let mut permit = self.begin();
        permit.grow_to(length)?;
        Ok(permit)
    }

    /// Counts a request on a connection that has many at a time
    pub(crate) fn request(&self) -> Result<MemoryPermit, HttpError> {
        self.acquire(REQUEST)
    }

    /// Counts a request body that arrived in one piece
    ///
    /// A short one gets a buffer of its own: it is a slice of one that may be much longer.
    pub(crate) fn body(&self, bytes: Bytes) -> Result<RequestBody, HttpError> {
        let permit = self.acquire(bytes.len())?;
        let bytes = if bytes.len() < LARGE { Bytes::copy_from_slice(&bytes) } else { bytes };
        Ok(RequestBody::new(bytes, permit))
    }

    /// Counts a request body that did not count so far
    pub(crate) fn count_body(&self, body: &mut RequestBody) -> Result<(), HttpError> {
        *body = self.body(body.bytes.clone())?;
        Ok(())
    }

    fn used_up(&self) -> HttpError {
        let limit = self.limit;
        let message = format!(
            "bodies that clients send or read slowly take all of the limit of {limit} bytes"
        );
        HttpError::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

/// A request body
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    bytes: Bytes,
    permit: BodyPermit,
}

/// What a request body counts, which is held beside all that was made of the body
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyPermit {
    _counted: Option<Arc<MemoryPermit>>,
}

impl RequestBody {
    pub(crate) fn new(bytes: Bytes, permit: MemoryPermit) -> Self {
        // Most bodies count nothing, and so need no allocation for it.
        let counted = (!permit.is_empty()).then(|| Arc::new(permit));
        Self { bytes, permit: BodyPermit { _counted: counted } }
    }

    pub(crate) fn permit(&self) -> BodyPermit {
        self.permit.clone()
    }

    /// A body of a test, which counts nothing
    #[cfg(test)]
    pub(crate) fn of_static(text: &'static str) -> Self {
        Self { bytes: Bytes::from_static(text.as_bytes()), permit: BodyPermit::default() }
    }
}

impl AsRef<[u8]> for RequestBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What counts of the budget, until this is dropped
#[derive(Debug)]
pub(crate) struct MemoryPermit {
    budget: MemoryBudget,
    permit: Option<OwnedSemaphorePermit>,
}

impl MemoryPermit {
    /// Whether nothing counts
    pub(crate) const fn is_empty(&self) -> bool {
        self.permit.is_none()
    }

    /// Counts at least so many bytes from now on; nothing below [`UNIT`]
    pub(crate) fn grow_to(&mut self, length: usize) -> Result<(), HttpError> {
        if length < UNIT {
            return Ok(());
        }
        let units = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = length.div_ceil(UNIT).saturating_sub(units);
        if more == 0 {
            return Ok(());
        }
        let is_large = self.budget.is_large(length, more);
        let more = u32::try_from(more).map_err(|_| self.budget.used_up())?;
        let free = Arc::clone(&self.budget.free);
        // Others may acquire between this and the next line: the reserve is no exact number.
        let left = free.available_permits().saturating_sub(more as usize);
        if is_large && left < self.budget.reserve {
            return Err(self.budget.used_up());
        }
        let more = free.try_acquire_many_owned(more).map_err(|_| self.budget.used_up())?;
        if let Some(held) = &self.budget.held {
            held.fetch_add(more.num_permits(), Relaxed);
        }
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        Ok(())
    }

    /// As [`Self::grow_to`], where a response is read
    pub(crate) fn count(&mut self, length: usize) -> io::Result<()> {
        self.grow_to(length).map_err(|error| io::Error::other(error.message))
    }

    /// Counts no more than so many bytes from now on
    pub(crate) fn shrink_to(&mut self, length: usize) {
        if let Some(permit) = &mut self.permit {
            let less = permit.num_permits().saturating_sub(length.div_ceil(UNIT));
            drop(permit.split(less));
            if let Some(held) = &self.budget.held {
                held.fetch_sub(less, Relaxed);
            }
        }
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        self.shrink_to(0);
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
        assert!(budget.acquire(UNIT).is_err());
        small.pop();
        assert!(small[0].grow_to(LARGE).is_err());
        small[0].grow_to(LARGE - UNIT).unwrap();
        drop(large);
        small[0].grow_to(LARGE).unwrap();
    }

    #[test]
    fn a_connection_with_many_requests_leaves_a_part_to_others() {
        let budget = MemoryBudget::new(384 * UNIT);
        let (many, other) = (budget.of_connection(), budget.of_connection());
        let mut requests = Vec::new();
        while let Ok(request) = many.request() {
            requests.push(request);
        }
        assert_eq!(requests.len(), 288 * UNIT / REQUEST);
        assert!(many.acquire(UNIT).is_err());
        let mut others: Vec<_> = (0..2).map(|_| other.request().unwrap()).collect();
        assert!(other.request().is_err());
        // Those that it has had do not count.
        others.pop();
        others.push(other.request().unwrap());
        drop((requests, others));
        assert_eq!(budget.used(), 0);
        let held = [&many, &other].map(|it| it.held.as_ref().map(|held| held.load(Relaxed)));
        assert_eq!(held, [Some(0), Some(0)]);
    }

    #[test]
    fn what_is_counted_is_free_again_when_it_is_dropped() {
        let budget = MemoryBudget::new(10 * UNIT);
        let mut body = budget.begin();
        for (length, used) in [(UNIT - 1, 0), (UNIT, 1), (UNIT + 1, 2), (4 * UNIT, 4)] {
            body.grow_to(length).unwrap();
            assert_eq!(budget.used(), used * UNIT);
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
