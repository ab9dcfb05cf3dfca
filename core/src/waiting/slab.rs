//! A slab: entries by index, in pages of fixed length.
//!
//! An entry keeps its index until it is removed; the index is reused afterwards. Growth adds a page
//! and moves nothing, so no insertion pays for those before it, and memory follows the number of
//! entries. The slab does not distinguish an entry from a later one at the same index.

use alloc::vec::Vec;
use core::mem;

/// Entries per page: a page of the largest entries, requests, takes some 100 KiB
const PAGE_LEN: usize = 1024;
/// The index of no entry
pub(super) const NIL: u32 = u32::MAX;

/// Entries by index
#[derive(Debug)]
pub(super) struct Slab<E> {
    pages: Vec<Vec<Entry<E>>>,
    /// The head of the list of vacant entries
    next_vacant: u32,
    len: usize,
}

#[derive(Debug)]
enum Entry<E> {
    Occupied(E),
    /// With the index of the next vacant entry
    Vacant(u32),
}

/// The page of an index, and the offset in it
const fn position(index: u32) -> (usize, usize) {
    (index as usize / PAGE_LEN, index as usize % PAGE_LEN)
}

impl<E> Slab<E> {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new(), next_vacant: NIL, len: 0 }
    }

    pub(super) fn get(&self, index: u32) -> Option<&E> {
        let (page, offset) = position(index);
        match self.pages.get(page)?.get(offset)? {
            Entry::Occupied(entry) => Some(entry),
            Entry::Vacant(_) => None,
        }
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut E> {
        let (page, offset) = position(index);
        match self.pages.get_mut(page)?.get_mut(offset)? {
            Entry::Occupied(entry) => Some(entry),
            Entry::Vacant(_) => None,
        }
    }

    /// Inserts an entry and returns its index; the limit of the map keeps the number of entries
    /// below [`NIL`]
    pub(super) fn insert(&mut self, entry: E) -> u32 {
        self.len += 1;
        let (page, offset) = position(self.next_vacant);
        if let Some(vacant) = self.pages.get_mut(page).and_then(|page| page.get_mut(offset)) {
            let index = self.next_vacant;
            if let Entry::Vacant(next) = mem::replace(vacant, Entry::Occupied(entry)) {
                self.next_vacant = next;
            }
            return index;
        }
        if self.pages.last().is_none_or(|page| page.len() == PAGE_LEN) {
            self.pages.push(Vec::with_capacity(PAGE_LEN));
        }
        let first = (self.pages.len() - 1) * PAGE_LEN;
        // There is a last page and it is not full, as ensured just above.
        let Some(page) = self.pages.last_mut() else { return NIL };
        page.push(Entry::Occupied(entry));
        (first + page.len() - 1) as u32
    }

    /// Removes and returns the entry of an index
    pub(super) fn remove(&mut self, index: u32) -> Option<E> {
        let (page, offset) = position(index);
        let slot = self.pages.get_mut(page)?.get_mut(offset)?;
        if matches!(slot, Entry::Vacant(_)) {
            return None;
        }
        let vacant = Entry::Vacant(self.next_vacant);
        let Entry::Occupied(entry) = mem::replace(slot, vacant) else { return None };
        self.next_vacant = index;
        self.len -= 1;
        if self.len == 0 {
            self.release_pages();
        }
        Some(entry)
    }

    /// Releases the memory of all pages except one, when no entry is left
    fn release_pages(&mut self) {
        self.pages.truncate(1);
        self.pages.shrink_to_fit();
        self.pages.iter_mut().for_each(Vec::clear);
        self.next_vacant = NIL;
    }

    /// The indices of all entries
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        let end = self.pages.len() * PAGE_LEN;
        (0..end as u32).filter(|index| self.get(*index).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_index() {
        let mut slab = Slab::new();
        let indices: Vec<u32> = (0..3 * PAGE_LEN).map(|entry| slab.insert(entry)).collect();
        for (index, entry) in indices.iter().zip(0..) {
            assert_eq!(slab.get(*index), Some(&entry));
        }
        for index in indices.iter().step_by(2) {
            assert!(slab.remove(*index).is_some());
            assert!(slab.remove(*index).is_none());
        }
        assert_eq!(slab.indices().count(), 3 * PAGE_LEN / 2);
        let reused: Vec<u32> = (0..PAGE_LEN).map(|entry| slab.insert(entry + 10_000)).collect();
        assert!(reused.iter().all(|index| indices.contains(index)));
        for (index, entry) in indices.iter().zip(0..).skip(1).step_by(2) {
            assert_eq!(slab.get(*index), Some(&entry));
        }
        assert_eq!(slab.pages.len(), 3);
    }

    #[test]
    fn empty_pages_are_released() {
        let mut slab = Slab::new();
        let indices: Vec<u32> = (0..5 * PAGE_LEN).map(|entry| slab.insert(entry)).collect();
        indices.iter().for_each(|index| assert!(slab.remove(*index).is_some()));
        assert_eq!((slab.pages.len(), slab.indices().count()), (1, 0));
        assert_eq!(slab.get(0), None);
        assert_eq!(slab.insert(7), 0);
    }
}
