//! Texts with a few edits at random places, for tests that compare two readers of one format.
//!
//! Most edits leave a text that is no longer well-formed, some one that is. Places are at the boundaries
//! of characters, so a text stays a text.

use alloc::string::{String, ToString as _};

use crate::Rng;

/// The most bytes that one edit takes away, besides those of a character that it cut into
const MAX_REMOVED: u64 = 3;

/// The text after one to three edits: a few bytes are replaced by one of `pieces`, or by nothing
///
/// One edit in 32 cuts off the rest of the text instead.
///
/// # Panics
///
/// When there are no pieces.
pub fn damaged(text: &str, pieces: &[&str], rng: &mut Rng) -> String {
    let mut text = text.to_string();
    for _ in 0..rng.between(1, 3) {
        let start = text.floor_char_boundary(rng.index(text.len() + 1));
        if rng.one_in(32) {
            text.truncate(start);
            continue;
        }
        // Half of all edits insert, so that more than the gaps between tokens is damaged.
        let removed = if rng.one_in(2) { 0 } else { rng.between(1, MAX_REMOVED) as usize };
        let end = text.ceil_char_boundary((start + removed).min(text.len()));
        let piece = if removed > 0 && rng.one_in(2) { "" } else { *rng.pick(pieces) };
        text.replace_range(start..end, piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_off_shortened_lengthened_and_left_characters() {
        let (text, mut rng) = ("größe \u{1f600} und mehr", Rng::new(1));
        let (mut shorter, mut longer, mut cut) = (0, 0, 0);
        for _ in 0..1000 {
            let found = damaged(text, &["x", "\u{e9}"], &mut rng);
            shorter += usize::from(found.len() < text.len());
            longer += usize::from(found.len() > text.len());
            cut += usize::from(found.len() < text.len() / 2);
        }
        assert!(shorter > 200 && longer > 200 && cut > 10, "{shorter} {longer} {cut}");
    }

    #[test]
    fn an_empty_text_is_damaged_too() {
        let mut rng = Rng::new(2);
        assert!((0..100).any(|_| damaged("", &["x"], &mut rng) == "x"));
    }
}
