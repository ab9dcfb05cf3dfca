//! Runs a target over all its inputs, and then over changes of them, in every run of the tests.
//!
//! The changes are determined by the target and their number, so an input that fails fails in every
//! run; it is printed as a line for the file of findings.

use std::thread;

use data_encoding::BASE64;
use milepost_testkit::Rng;

use super::target::{MAX_LEN, Target};

/// Numbers at the ends of what fits into a byte, and bytes that structure texts
const NOTABLE: &[u8] = b"\0\x01\x7f\x80\xff \"\\/:,.-+09aez[]{}\n";

/// Prints the input that was run last if its run panics
struct PrintOnPanic<'input>(Target, &'input [u8]);

impl Drop for PrintOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(target, input) = self;
            let (folder, name) = (target.folder, target.name);
            eprintln!("a line for {folder}/findings/{name}.txt:\n{}", BASE64.encode(input));
        }
    }
}

impl Target {
    /// Runs it over its inputs, and over so many changed ones
    ///
    /// # Panics
    ///
    /// When a property does not hold, and when there is no input that can be changed.
    pub fn replay(self, changes: usize, run: impl Fn(&[u8])) {
        let run = |input: &[u8]| {
            let _print = PrintOnPanic(self, input);
            run(input);
        };
        let inputs = self.inputs();
        inputs.iter().for_each(|input| run(input));
        // Long inputs are those of the vectors; a change of one costs as much as a hundred others.
        let short: Vec<&[u8]> =
            inputs.iter().map(|input| &input[..]).filter(|input| input.len() <= MAX_LEN).collect();
        assert!(!short.is_empty(), "{} has no input", self.name);
        let seed = |seed, byte| seed << 5 ^ seed ^ u64::from(byte);
        let mut rng = Rng::new(self.name.bytes().fold(0, seed));
        let mut changed = 0;
        while changed < changes {
            let mut input = rng.pick(&short).to_vec();
            let original = input.clone();
            for _ in 0..=rng.below(4) {
                change(&mut input, &short, &mut rng);
            }
            if input != original {
                run(&input);
                changed += 1;
            }
        }
    }
}

/// Makes one change: of a bit, of a byte, of a length, or with a part of another input
fn change(input: &mut Vec<u8>, inputs: &[&[u8]], rng: &mut Rng) {
    let at = rng.index(input.len() + 1);
    let length = 1 + rng.index(8).min(input.len() - at);
    match rng.below(8) {
        0 | 1 if at < input.len() => input[at] ^= 1 << rng.below(8),
        2 if at < input.len() => input[at] = *rng.pick(NOTABLE),
        3 => input.insert(at, *rng.pick(NOTABLE)),
        4 => drop(input.drain(at..(at + length).min(input.len()))),
        5 => {
            let part = input[at..(at + length).min(input.len())].to_vec();
            let to = rng.index(input.len() + 1);
            input.splice(to..to, part);
        }
        6 => input.truncate(at),
        _ => {
            let other = *rng.pick(inputs);
            let from = rng.index(other.len() + 1);
            let part = &other[from..(from + 16).min(other.len())];
            let end = (at + part.len()).min(input.len());
            input.splice(at..end, part.iter().copied());
        }
    }
    input.truncate(2 * MAX_LEN);
}
