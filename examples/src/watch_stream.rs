//! The changes of a watched transaction, as a stream for any runtime.
//!
//! A stream holds one event: a newer one takes the place of one that was not read, so a reader that
//! is late costs no memory and gets the newest state. It ends after the last event, or when its
//! endpoint is gone.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use milepost::Error;
use milepost::endpoint::WatchEvent;

type Event = Result<WatchEvent, Error>;

#[derive(Debug, Default)]
struct Mailbox {
    event: Option<Event>,
    has_ended: bool,
    waker: Option<Waker>,
}

fn lock(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where events go; the stream ends when this is dropped
#[derive(Debug)]
pub(crate) struct EventSender(Arc<Mutex<Mailbox>>);

impl EventSender {
    /// Replaces the event that was not read
    pub(crate) fn send(&self, event: Event) {
        self.change(|mailbox| mailbox.event = Some(event));
    }

    fn change(&self, change: impl FnOnce(&mut Mailbox)) {
        let waker = {
            let mut mailbox = lock(&self.0);
            change(&mut mailbox);
            mailbox.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.change(|mailbox| mailbox.has_ended = true);
    }
}

/// The changes of a transaction; dropping it ends the watch
#[derive(Debug)]
pub struct WatchStream<Guard> {
    mailbox: Arc<Mutex<Mailbox>>,
    /// Ends the watch when it is dropped
    _guard: Guard,
}

impl<Guard> WatchStream<Guard> {
    /// A stream, and where its events go
    pub(crate) fn new(guard: Guard) -> (EventSender, Self) {
        let mailbox = Arc::new(Mutex::default());
        (EventSender(Arc::clone(&mailbox)), Self { mailbox, _guard: guard })
    }
}

impl<Guard: Unpin> Stream for WatchStream<Guard> {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut mailbox = lock(&self.mailbox);
        if let Some(event) = mailbox.event.take() {
            return Poll::Ready(Some(event));
        }
        if mailbox.has_ended {
            return Poll::Ready(None);
        }
        mailbox.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
