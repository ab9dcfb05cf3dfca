//! Calls into redb: converts its errors and panics to [`Error`].
//!
//! redb validates most of what it reads, but some damaged pages make it panic. A damaged file must
//! not end the host's process, so every call into redb, and every drop of its values, goes through
//! this module.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use milepost::{Error, ErrorKind};

/// Runs a closure that calls redb; a panic is [`ErrorKind::Corrupt`]
///
/// Shared state of redb is not seen in an inconsistent state after a panic: its locks are poisoned,
/// and an unfinished transaction is dropped, which reverts it.
pub(crate) fn call<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Error> {
    match catch_panic(work) {
        Ok(result) => result.map_err(convert),
        Err(text) => Err(Error::new(ErrorKind::Corrupt, format_args!("redb panicked: {text}"))),
    }
}

/// The result of a closure, or the text of its panic
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| text_of(&*payload))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text").to_owned()
}

fn convert(error: redb::Error) -> Error {
    let kind = match &error {
        redb::Error::Corrupted(_)
        | redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TypeDefinitionChanged { .. }
        | redb::Error::TableIsMultimap(_) => ErrorKind::Corrupt,
        _ => ErrorKind::Storage,
    };
    let text = format!("redb: {error}");
    match error {
        // A host decides by its kind.
        redb::Error::Io(error) => Error::new(kind, text).with_source(error),
        error => Error::new(kind, text).with_source(error),
    }
}

/// A value of redb; catches a panic of its drop
pub(crate) struct PanicGuard<T>(Option<T>);

impl<T> PanicGuard<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value, which is present until the drop
    pub(crate) fn value(&self) -> Result<&T, Error> {
        self.0.as_ref().ok_or_else(|| Error::new(ErrorKind::Usage, "the storage is closed"))
    }

    /// The value, to be changed
    pub(crate) fn value_mut(&mut self) -> Result<&mut T, Error> {
        self.0.as_mut().ok_or_else(|| Error::new(ErrorKind::Usage, "the storage is closed"))
    }
}

impl<T> Drop for PanicGuard<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        // A drop cannot report an error; acknowledged commits are on disk already.
        let _ = catch_panic(|| drop(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_redb_errors_are_converted() {
        let panicked = call::<()>(|| panic!("page {} is odd", 7)).unwrap_err();
        assert_eq!(panicked.kind(), ErrorKind::Corrupt);
        assert_eq!(panicked.to_string(), "redb panicked: page 7 is odd");
        assert_eq!(catch_panic(|| panic!("plain")), Err::<(), _>("plain".to_owned()));

        let error = call::<()>(|| Err(redb::Error::ValueTooLarge(7))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.to_string().contains("length=7"), "{error}");
        let error = call::<()>(|| Err(redb::Error::Corrupted("leaf".to_owned()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.to_string(), "redb: DB corrupted: leaf");
    }

    #[test]
    fn a_panic_in_drop_is_caught() {
        struct PanicsOnDrop;

        impl Drop for PanicsOnDrop {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }

        drop(PanicGuard::new(PanicsOnDrop));
    }
}
