//! The border to redb: its errors become the engine's, and so do its panics.
//!
//! redb checks most of what it reads from a file, but a page damaged in an unlucky way can still
//! make it panic. A host must not go down with its file, so every call into redb passes here.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use milepost::{Error, ErrorKind};

/// What redb answers, with a panic caught as an error of its own
///
/// Nothing that redb shares is seen half changed after a panic: its locks are poisoned and refuse,
/// and a transaction that was being written is dropped, which undoes it.
pub(crate) fn call<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Error> {
    match catch_panic(work) {
        Ok(answer) => answer.map_err(refusal),
        Err(text) => Err(Error::new(ErrorKind::Corrupt, format_args!("redb panicked: {text}"))),
    }
}

/// What the work gives, or the text of its panic
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| text_of(&*payload))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text").to_owned()
}

fn refusal(error: redb::Error) -> Error {
    let kind = match &error {
        redb::Error::Corrupted(_)
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_) => ErrorKind::Corrupt,
        _ => ErrorKind::Storage,
    };
    Error::new(kind, format_args!("redb: {error}"))
}

/// A value of redb whose end must not panic either
pub(crate) struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value, which is there until the end
    pub(crate) fn value(&self) -> Result<&T, Error> {
        self.0.as_ref().ok_or_else(|| Error::new(ErrorKind::Usage, "the storage is closed"))
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        // Nobody is left to tell; what was acknowledged is on disk already.
        let _ = catch_panic(|| drop(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_errors_become_errors() {
        let panicked = call::<()>(|| panic!("page {} is odd", 7)).unwrap_err();
        assert_eq!(panicked.kind(), ErrorKind::Corrupt);
        assert_eq!(panicked.to_string(), "redb panicked: page 7 is odd");
        assert_eq!(catch_panic(|| panic!("plain")), Err::<(), _>("plain".to_owned()));

        let refused = call::<()>(|| Err(redb::Error::ValueTooLarge(7))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Storage);
        assert!(refused.to_string().contains("length=7"), "{refused}");
        let refused = call::<()>(|| Err(redb::Error::Corrupted("leaf".to_owned()))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt);
        assert_eq!(refused.to_string(), "redb: DB corrupted: leaf");
    }

    #[test]
    fn the_end_of_a_guarded_value_does_not_panic() {
        struct Ends;

        impl Drop for Ends {
            fn drop(&mut self) {
                panic!("at the end");
            }
        }

        drop(Guarded::new(Ends));
    }
}
