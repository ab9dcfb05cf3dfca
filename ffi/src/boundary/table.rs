//! Table of live handles, with which checked builds detect a handle that was freed.
//!
//! In checked builds C never sees an address but a number that is used once, so a freed handle is
//! detected also when its memory has been reused. In unchecked builds C sees the address, and
//! nothing of this module is left in the library.

#[cfg(any(debug_assertions, feature = "checked-handles"))]
pub(super) use checked::{find, insert, remove};
#[cfg(not(any(debug_assertions, feature = "checked-handles")))]
pub(super) use unchecked::{find, insert, remove};

#[cfg(any(debug_assertions, feature = "checked-handles"))]
mod checked {
    use core::ptr;
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Address and type of a live handle
    struct LiveHandle {
        address: *mut (),
        name: &'static str,
    }

    // SAFETY: the address is stored, not dereferenced; `handle` dereferences it by its own rules.
    unsafe impl Send for LiveHandle {}

    struct Table {
        live: BTreeMap<usize, LiveHandle>,
        last_number: usize,
    }

    static TABLE: Mutex<Table> = Mutex::new(Table { live: BTreeMap::new(), last_number: 0 });

    /// Distance of two numbers; they are odd, so they are not the address of anything aligned
    const STRIDE: usize = 2;

    fn table() -> MutexGuard<'static, Table> {
        // Nothing panics while the lock is held.
        TABLE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number for a new handle at this address
    pub(in super::super) fn insert(address: *mut (), name: &'static str) -> *mut () {
        let mut table = table();
        table.last_number = table.last_number.wrapping_add(STRIDE);
        let number = table.last_number | 1;
        table.live.insert(number, LiveHandle { address, name });
        ptr::without_provenance_mut(number)
    }

    /// Returns the address of a live handle
    pub(in super::super) fn find(number: *mut (), name: &'static str) -> Option<*mut ()> {
        let table = table();
        let live = table.live.get(&number.addr())?;
        (live.name == name).then_some(live.address)
    }

    /// Removes a live handle and returns its address
    pub(in super::super) fn remove(number: *mut (), name: &'static str) -> Option<*mut ()> {
        let mut table = table();
        let live = table.live.get(&number.addr())?;
        if live.name != name {
            return None;
        }
        table.live.remove(&number.addr()).map(|live| live.address)
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
