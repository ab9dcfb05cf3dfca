//! Entries by number, in pages of fixed size.
//!
//! A number stays with its entry until the entry is removed, and is then given to another. Growing adds
//! a page and moves nothing, so no admission pays for those before it, and a million entries take
//! the room of a million entries. Does not tell an entry from the next one with its number.

use alloc::vec::Vec;
use core::mem;

/// Entries of one page: a page of the largest entries, requests, takes some 100 KiB
const PAGE: usize = 1024;
/// The number of no entry
pub(super) const NIL: u32 = u32::MAX;

/// Entries by number
#[derive(Debug)]
pub(super) struct Pages<E> {
    pages: Vec<Vec<Entry<E>>>,
    /// The free place that is taken next
    free: u32,
    taken: usize,
}

#[derive(Debug)]
enum Entry<E> {
    Taken(E),
    /// With the number of the next free place
    Free(u32),
}

const fn place(number: u32) -> (usize, usize) {
    (number as usize / PAGE, number as usize % PAGE)
}

impl<E> Pages<E> {
    pub(super) const fn new() -> Self {
        Self { pages: Vec::new(), free: NIL, taken: 0 }
    }

    /// The entry of a number
    pub(super) fn at(&self, number: u32) -> Option<&E> {
        let (page, line) = place(number);
        match self.pages.get(page)?.get(line)? {
            Entry::Taken(entry) => Some(entry),
            Entry::Free(_) => None,
        }
    }

    /// The entry of a number, to be changed
    pub(super) fn at_mut(&mut self, number: u32) -> Option<&mut E> {
        let (page, line) = place(number);
        match self.pages.get_mut(page)?.get_mut(line)? {
            Entry::Taken(entry) => Some(entry),
            Entry::Free(_) => None,
        }
    }

    /// Adds an entry and gives it a number; the limit of the room keeps the entries fewer than the
    /// numbers
    pub(super) fn add(&mut self, entry: E) -> u32 {
        self.taken += 1;
        let (page, line) = place(self.free);
        if let Some(place) = self.pages.get_mut(page).and_then(|page| page.get_mut(line)) {
            let number = self.free;
            if let Entry::Free(next) = mem::replace(place, Entry::Taken(entry)) {
                self.free = next;
            }
            return number;
        }
        if self.pages.last().is_none_or(|page| page.len() == PAGE) {
            self.pages.push(Vec::with_capacity(PAGE));
        }
        let first = (self.pages.len() - 1) * PAGE;
        // There is a page, and it has a free line: this was seen to just above.
        let Some(page) = self.pages.last_mut() else { return NIL };
        page.push(Entry::Taken(entry));
        (first + page.len() - 1) as u32
    }

    /// Removes the entry of a number
    pub(super) fn remove(&mut self, number: u32) -> Option<E> {
        let (page, line) = place(number);
        let place = self.pages.get_mut(page)?.get_mut(line)?;
        if matches!(place, Entry::Free(_)) {
            return None;
        }
        let Entry::Taken(entry) = mem::replace(place, Entry::Free(self.free)) else { return None };
        self.free = number;
        self.taken -= 1;
        if self.taken == 0 {
            self.release();
        }
        Some(entry)
    }

    /// Gives back the memory of all pages but one, when nothing is on them
    fn release(&mut self) {
        self.pages.truncate(1);
        self.pages.shrink_to_fit();
        self.pages.iter_mut().for_each(Vec::clear);
        self.free = NIL;
    }

    /// The numbers of all entries
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        let lines = self.pages.iter().flatten().zip(0_u32..);
        lines.filter(|(entry, _)| matches!(entry, Entry::Taken(_))).map(|(_, number)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_entry() {
        let mut pages = Pages::new();
        let numbers: Vec<u32> = (0..3 * PAGE).map(|entry| pages.add(entry)).collect();
        for (number, entry) in numbers.iter().zip(0..) {
            assert_eq!(pages.at(*number), Some(&entry));
        }
        for number in numbers.iter().step_by(2) {
            assert!(pages.remove(*number).is_some());
            assert!(pages.remove(*number).is_none());
        }
        assert_eq!(pages.numbers().count(), 3 * PAGE / 2);
        let again: Vec<u32> = (0..PAGE).map(|entry| pages.add(entry + 10_000)).collect();
        assert!(again.iter().all(|number| numbers.contains(number)));
        for (number, entry) in numbers.iter().zip(0..).skip(1).step_by(2) {
            assert_eq!(pages.at(*number), Some(&entry));
        }
        assert_eq!(pages.pages.len(), 3);
    }

    #[test]
    fn empty_pages_are_given_back() {
        let mut pages = Pages::new();
        let numbers: Vec<u32> = (0..5 * PAGE).map(|entry| pages.add(entry)).collect();
        numbers.iter().for_each(|number| assert!(pages.remove(*number).is_some()));
        assert_eq!((pages.pages.len(), pages.numbers().count()), (1, 0));
        assert_eq!(pages.at(0), None);
        assert_eq!(pages.add(7), 0);
    }
}
