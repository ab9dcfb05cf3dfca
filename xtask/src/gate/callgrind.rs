//! Reads what callgrind writes: the instructions of each function, without those that it called.
//!
//! The sum leaves out one function, the compression of SHA-256. Callgrind's processor has no
//! instructions for it, so there it takes ten times what it takes on a real one, which would be
//! most of a request by bytes and hide the rest.

/// Part of the mangled names of what is left out
const LEFT_OUT: &str = "4sha26sha256";

/// The sum of a profile's instructions
pub(crate) fn instructions(profile: &str) -> Result<u64, String> {
    let (mut sum, mut left_out) = (0, 0);
    let (mut of_a_call, mut is_left_out) = (false, false);
    // A name is written out where it comes first; later it is its number in brackets.
    let mut numbers_left_out = Vec::new();
    let mut total = None;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            let (number, written) = name.split_once(' ').unwrap_or((name, ""));
            if written.contains(LEFT_OUT) {
                numbers_left_out.push(number);
            }
            if line.starts_with("fn=") {
                is_left_out = numbers_left_out.contains(&number);
            }
        } else if line.starts_with("calls=") {
            of_a_call = true;
        } else if let Some(text) = line.strip_prefix("totals: ") {
            total = text.parse::<u64>().ok();
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
            let cost = cost.ok_or_else(|| format!("callgrind: `{line}` names no cost"))?;
            match (core::mem::take(&mut of_a_call), is_left_out) {
                (true, _) => {}
                (false, true) => left_out += cost,
                (false, false) => sum += cost,
            }
        }
    }
    // If a line were read wrongly, the sums would differ.
    match total {
        Some(total) if total == sum + left_out => Ok(sum),
        _ => Err(format!("callgrind: {sum} and {left_out} do not add up to {total:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::instructions;

    const PROFILE: &str = "# callgrind format\nversion: 1\npositions: line\nevents: Ir\nsummary: 162\n\n\
        fl=(1) ???\nfn=(7) _ZN4gate7counted17hE\n0 5\ncfn=(9) _RNvNtCs_4sha26sha2568compress\n\
        calls=2 0 \n0 102\n+3 30\n\nfn=(9)\n0 100\n* 2\n\nfn=(8) _ZN4gate4mainE\n0 25\n\ntotals: 162\n";

    #[test]
    fn costs_are_added_up_without_calls_and_digests() {
        assert_eq!(instructions(PROFILE), Ok(60));
    }

    #[test]
    fn a_profile_that_does_not_add_up_is_refused() {
        for (from, to) in [("totals: 162", "totals: 163"), ("totals: ", ""), ("* 2", "* two")] {
            assert!(instructions(&PROFILE.replace(from, to)).is_err(), "{from}");
        }
    }
}
