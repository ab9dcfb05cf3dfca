//! The bytes of a row, shared and immutable.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

/// The bytes of a row; cloning increments a reference count and copies nothing
#[derive(Clone, Eq, PartialEq)]
pub struct Row(Arc<[u8]>);

impl Deref for Row {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Row {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<&[u8]> for Row {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Row({} bytes)", self.len())
    }
}
