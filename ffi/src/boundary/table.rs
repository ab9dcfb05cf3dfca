//! The living handles, by number: how builds with checks tell a handle that was freed.
//!
//! With checks C never sees an address but a number that is given out once, so a freed handle is
//! told also when its memory is in use again. Without checks C sees the address, and nothing here
//! is left in the library.

#[cfg(any(debug_assertions, feature = "checked-handles"))]
pub(super) use checked::{find, insert, remove};
#[cfg(not(any(debug_assertions, feature = "checked-handles")))]
pub(super) use unchecked::{find, insert, remove};

#[cfg(any(debug_assertions, feature = "checked-handles"))]
mod checked {
    use core::ptr;
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A living handle: its address, and what it is a handle of
    struct Living {
        address: *mut (),
        name: &'static str,
    }

    // SAFETY: an address is carried, not followed; who follows it keeps the rules of handles.
    unsafe impl Send for Living {}

    struct Table {
        living: BTreeMap<usize, Living>,
        given_out: usize,
    }

    static TABLE: Mutex<Table> = Mutex::new(Table { living: BTreeMap::new(), given_out: 0 });

    /// Numbers are odd multiples of this, so they are no address of anything aligned
    const STRIDE: usize = 2;

    fn table() -> MutexGuard<'static, Table> {
        // Nothing panics while the lock is held.
        TABLE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number for a new handle at this address
    pub(in super::super) fn insert(address: *mut (), name: &'static str) -> *mut () {
        let mut table = table();
        table.given_out = table.given_out.wrapping_add(STRIDE);
        let number = table.given_out | 1;
        table.living.insert(number, Living { address, name });
        ptr::without_provenance_mut(number)
    }

    /// The address of a living handle
    pub(in super::super) fn find(number: *mut (), name: &'static str) -> Option<*mut ()> {
        let table = table();
        let living = table.living.get(&number.addr())?;
        (living.name == name).then_some(living.address)
    }

    /// The address of a living handle, which lives no more
    pub(in super::super) fn remove(number: *mut (), name: &'static str) -> Option<*mut ()> {
        let mut table = table();
        let living = table.living.get(&number.addr())?;
        if living.name != name {
            return None;
        }
        table.living.remove(&number.addr()).map(|living| living.address)
    }
}

#[cfg(not(any(debug_assertions, feature = "checked-handles")))]
mod unchecked {
    pub(in super::super) fn insert(address: *mut (), _: &'static str) -> *mut () {
        address
    }

    pub(in super::super) fn find(address: *mut (), _: &'static str) -> Option<*mut ()> {
        Some(address)
    }

    pub(in super::super) fn remove(address: *mut (), _: &'static str) -> Option<*mut ()> {
        Some(address)
    }
}
