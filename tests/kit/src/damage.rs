//! Texts with a few edits at random positions, for tests that compare two readers of one format.
//!
//! After most edits a text is not well-formed any more, after some it still is. Edits are at
//! character boundaries, so the result is valid UTF-8.

use alloc::string::{String, ToString as _};

use crate::Rng;

/// The maximum number of bytes that one edit removes, rounded up to whole characters
const MAX_REMOVED: u64 = 3;

/// Returns the text after one to three edits, each of which replaces a few bytes by one of `pieces`
/// or by nothing
///
/// One edit in 32 truncates the text instead.
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
        // Half of all edits only insert.
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
    fn texts_are_truncated_shortened_and_lengthened() {
        let (text, mut rng) = ("größe \u{1f600} und mehr", Rng::new(1));
        let (mut shorter, mut longer, mut truncated) = (0, 0, 0);
        for _ in 0..1000 {
            let edited = damaged(text, &["x", "\u{e9}"], &mut rng);
            shorter += usize::from(edited.len() < text.len());
            longer += usize::from(edited.len() > text.len());
            truncated += usize::from(edited.len() < text.len() / 2);
        }
        assert!(shorter > 200 && longer > 200 && truncated > 10, "{shorter} {longer} {truncated}");
    }

    #[test]
    fn an_empty_text_is_edited_too() {
        let mut rng = Rng::new(2);
        assert!((0..100).any(|_| damaged("", &["x"], &mut rng) == "x"));
    }
}
