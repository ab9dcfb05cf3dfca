//! The answer that was given out last, and where it lies: JavaScript copies it from there.
//!
//! A large result stays in the row that it was read from, so it is copied once in all: out of the
//! instance's memory, to wherever it is wanted. Requests come in likewise, in a place that is used
//! again. Addresses hold until the next call into the instance, and nothing here calls out.

use core::ops::Deref as _;

use milepost::engine::{Answer, Piece};
use milepost::rpc::AnswerClass;

/// A result of fewer bytes is joined with its envelope: one small copy is quicker than keeping a row
pub(crate) const LEAST: usize = 4 << 10;

/// Bytes of the place for requests, and the most that it keeps: nearly all requests are shorter
const PLACE: usize = 1 << 10;
const KEPT: usize = 64 << 10;

/// Pieces of an answer, at most
const PIECES: usize = 4;

/// The class of an answer, then address and length of each of its pieces: what JavaScript reads
type Table = [u32; 1 + 2 * PIECES];

/// An answer that stays until there is another
#[derive(Debug, Default)]
pub(crate) struct Given {
    held: Held,
    /// Behind a pointer, so that it stays where it is
    table: Box<Table>,
}

#[derive(Debug, Default)]
enum Held {
    #[default]
    Nothing,
    Whole(Vec<u8>),
    Pieces([Piece; PIECES]),
}

impl Given {
    /// Gives out an answer in one piece; how many bytes it has
    pub(crate) fn answer(&mut self, answer: Answer) -> usize {
        self.hold(Held::Whole(answer.body), answer.class)
    }

    /// Gives out a result in pieces; how many bytes it has
    pub(crate) fn pieces(&mut self, pieces: [Piece; PIECES]) -> usize {
        self.hold(Held::Pieces(pieces), AnswerClass::Result)
    }

    /// Where the table lies
    pub(crate) fn table(&self) -> *const u32 {
        self.table.as_ptr()
    }

    fn hold(&mut self, held: Held, class: AnswerClass) -> usize {
        self.held = held;
        let pieces: [&[u8]; PIECES] = match &self.held {
            Held::Nothing => Default::default(),
            Held::Whole(body) => [body, &[], &[], &[]],
            Held::Pieces(pieces) => pieces.each_ref().map(|piece| piece.deref()),
        };
        let [number, places @ ..] = &mut *self.table;
        *number = class_number(class);
        for (piece, place) in pieces.iter().zip(places.as_chunks_mut().0) {
            // Addresses and lengths in an instance have 32 bits.
            *place = [piece.as_ptr().expose_provenance() as u32, piece.len() as u32];
        }
        pieces.iter().map(|piece| piece.len()).sum()
    }
}

/// Where JavaScript puts a request
#[derive(Debug, Default)]
pub(crate) struct Place(Vec<u8>);

impl Place {
    /// Room for so many bytes
    pub(crate) fn room(&mut self, length: usize) -> *mut u8 {
        if self.0.len() < length || self.0.len() > KEPT {
            self.0 = vec![0; length.max(PLACE)];
        }
        self.0.as_mut_ptr()
    }

    /// The request of so many bytes
    pub(crate) fn bytes(&self, length: usize) -> &[u8] {
        // Room was asked for before; a request without room has no bytes.
        self.0.get(..length).unwrap_or_default()
    }
}

/// The number of a class, as `answer.js` counts them
pub(crate) const fn class_number(class: AnswerClass) -> u32 {
    match class {
        AnswerClass::Result => 0,
        AnswerClass::RequestValidation => 1,
        AnswerClass::Timeout => 2,
        AnswerClass::SkippedBlock => 3,
        AnswerClass::Internal => 5,
        AnswerClass::Unavailable => 6,
        // `Handler`, and what may be added to it.
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_where_the_answer_lies() {
        let mut given = Given::default();
        let table = given.table();
        let body = b"{}".to_vec();
        assert_eq!(given.answer(Answer { body, class: AnswerClass::Timeout }), 2);
        assert_eq!(given.table(), table);
        let lengths = given.table[1..].chunks(2).map(|place| place[1]);
        assert_eq!((given.table[0], lengths.collect()), (2, vec![2, 0, 0, 0]));
    }

    #[test]
    fn the_place_is_used_again_unless_it_is_large() {
        let mut place = Place::default();
        let first = place.room(7);
        assert_eq!((place.room(PLACE), place.bytes(7)), (first, &[0; 7][..]));
        place.room(KEPT + 1);
        assert_eq!(place.bytes(KEPT + 1).len(), KEPT + 1);
        place.room(1);
        assert_eq!((place.bytes(PLACE).len(), place.bytes(PLACE + 1).len()), (PLACE, 0));
    }
}
