//! The end of a run of plain bytes in a string: all but quotes, backslashes and control characters.
//!
//! Strings are most of every text that is read here, so a run is searched by words and by chunks
//! that compilers vectorize. Bytes outside of ASCII are plain.

/// The offset of the next quote, backslash or control character, or the end of the text
///
/// Sixteen bytes at a time, see [`stops`]; most strings are short, for example hashes.
#[inline]
pub(super) fn run_end(bytes: &[u8], mut at: usize) -> usize {
    const ROUNDS: usize = 4;
    for _ in 0..ROUNDS {
        let Some([first, second]) = words(bytes, at) else {
            return last_run_end(bytes, at);
        };
        let stops_first = stops(first);
        if stops_first != 0 {
            return at + stops_first.trailing_zeros() as usize / 8;
        }
        let stops_second = stops(second);
        if stops_second != 0 {
            return at + 8 + stops_second.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    long_run_end(bytes, at)
}

/// The next `N` words, or `None` if fewer are left
#[inline]
fn words<const N: usize>(bytes: &[u8], at: usize) -> Option<[u64; N]> {
    let (words, _) = bytes.get(at..)?.as_chunks::<8>();
    words.first_chunk::<N>().map(|words| words.map(u64::from_le_bytes))
}

/// The end of a long run: steps of 128 bytes, then of 32, in a form that compilers vectorize
fn long_run_end(bytes: &[u8], at: usize) -> usize {
    let at = at + plain_chunks::<128>(bytes.get(at..).unwrap_or_default());
    let at = at + plain_chunks::<32>(bytes.get(at..).unwrap_or_default());
    last_run_end(bytes, at)
}

/// The length of the leading chunks of `N` bytes that are all plain
fn plain_chunks<const N: usize>(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().take_while(|chunk| is_plain(chunk)).count() * N
}

/// The end of a run in the last bytes of a text
#[cold]
fn last_run_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some([word]) = words(bytes, at) {
        let stops = stops(word);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// Sets the top bit of each byte that is a quote, a backslash or a control character; bits above
/// the lowest one set may be wrong
///
/// Subtracting 1 from a zero byte, or 0x21 from a smaller one, borrows into its top bit; a borrow
/// can only mark bytes above the first true hit. With the bit 0x02 flipped, the quote is 0x20 and
/// spaces and exclamation marks are above it, so one subtraction finds it with the control
/// characters.
#[inline]
const fn stops(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES * 0x80)
}

fn is_plain<const N: usize>(chunk: &[u8; N]) -> bool {
    // No early exit, and one bit for all bytes, so that it becomes a few vector instructions. With
    // the bit 0x02 flipped, the quote is 0x20 and spaces and exclamation marks are above it.
    let stops = |byte: u8| u8::from(byte ^ 0x02 <= 0x20) | u8::from(byte == b'\\');
    chunk.iter().fold(0, |any, byte| any | stops(*byte)) == 0
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_run_ends_at_the_first_special_byte() {
        for length in 0..400_usize {
            for stop in [0_u8, 0x1f, b'"', b'\\'] {
                let mut bytes = vec![0x7f_u8; 404];
                bytes[0] = 0xff;
                bytes[length] = stop;
                bytes[length + 1] = b'"';
                assert_eq!(run_end(&bytes, 0), length, "{stop}");
                assert_eq!(run_end(&bytes[..length], length / 3), length);
                // Nothing but such bytes, as many as are searched at once
                bytes[length..].fill(stop);
                bytes.resize(length + 300, stop);
                assert_eq!(run_end(&bytes, 0), length, "{stop}");
            }
        }
        assert_eq!(run_end(&[0x80, 0xa0, 0x21, 0x23, 0x5b, 0x5d, 0xdc, 0xa2, 0x20], 0), 9);
    }

    #[test]
    fn a_chunk_is_plain_without_special_bytes() {
        for byte in 0..=u8::MAX {
            let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for at in [0, 15, 31] {
                let mut chunk = [b'a'; 32];
                chunk[at] = byte;
                assert_eq!(is_plain(&chunk), !is_special, "{byte} at {at}");
            }
            // The lowest bit that is set is that of the first special byte.
            let word = u64::from_le_bytes([b'a', b' ', byte, b'!', 0x80, b'#', 0xff, b'"']);
            let first = stops(word).trailing_zeros() / 8;
            assert_eq!(first, if is_special { 2 } else { 7 }, "{byte}");
        }
    }
}
