//! The locks of `shared_endpoint`, which its model checker and its bench replace by their own.

pub(crate) use std::sync::{Mutex, PoisonError};
