//! A duration as people read it in the log: at most its two largest units.

use core::time::Duration;

/// The units, and the seconds of each
const UNITS: [(&str, u64); 4] = [("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];

/// The text of a duration, rounded down: `329 days 11 h`, `1 min 1 s`, `0 s`
pub(crate) fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let first = UNITS.iter().position(|(_, unit)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let mut rest = seconds;
    let mut text = String::new();
    for (position, (name, unit)) in UNITS.iter().enumerate().skip(first).take(2) {
        let count = rest / unit;
        rest %= unit;
        if count == 0 && position > first {
            break;
        }
        let blank = if text.is_empty() { "" } else { " " };
        let plural = if *name == "day" && count != 1 { "s" } else { "" };
        text += &format!("{blank}{count} {name}{plural}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_at_most_two_units() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (61, "1 min 1 s"),
            (3_659, "1 h"),
            (86_400, "1 day"),
            (2 * 86_400 + 3_599, "2 days"),
            (28_468_691, "329 days 11 h"),
        ] {
            assert_eq!(duration_text(Duration::from_secs(seconds)), expected);
        }
        assert_eq!(duration_text(Duration::from_millis(999)), "0 s");
    }
}
