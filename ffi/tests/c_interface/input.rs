//! What a program draws from the bytes of an input; without bytes it draws zeros.

use milepost_ffi::value::milepost_hash;
use milepost_tests::fuzz::host_texts;

pub(crate) struct Input<'bytes>(pub(crate) &'bytes [u8]);

impl Input<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below another one, which is not 0
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// True once in 16 times, for what a host does by mistake
    pub(crate) fn is_rare(&mut self) -> bool {
        self.byte() & 15 == 15
    }

    /// Mostly a small number
    pub(crate) fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => u64::from_le_bytes(core::array::from_fn(|_| self.byte())),
            small => u64::from(small),
        }
    }

    /// A text of the chain, perhaps changed, or bytes of the input
    pub(crate) fn text(&mut self) -> Vec<u8> {
        let texts = host_texts();
        let index = usize::from(self.byte());
        let Some(text) = texts.get(index) else {
            let length = usize::from(self.byte()).min(self.0.len());
            let (text, rest) = self.0.split_at(length);
            self.0 = rest;
            return text.to_vec();
        };
        let mut text = text.clone();
        if self.is_rare() {
            let at = usize::from(self.byte()) << 8 | usize::from(self.byte());
            let at = at % text.len();
            text[at] = self.byte();
        }
        text
    }

    /// A hash of the chain or of the input
    pub(crate) fn hash(&mut self) -> milepost_hash {
        let text = self.text();
        let mut bytes = [0; 32];
        let length = text.len().min(32);
        bytes[..length].copy_from_slice(&text[..length]);
        milepost_hash { bytes }
    }
}
