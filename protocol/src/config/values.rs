//! Checks of a configuration that its types do not make: a date, a range, a kind of value.
//!
//! They apply to a file that is put in force. Reading a typed view does not make them, so that a
//! view can hold what any node has written.

use crate::codec::json::{ReadError, Reader, exceeds_one};

/// Checks the values of the configuration at the reader, whose types are checked already
pub(super) fn check_values(config: &mut Reader<'_>) -> Result<(), ReadError> {
    let [time, layout, runtime] = config
        .members(["genesis_time", "shard_layout", "runtime_config"], "a protocol configuration")?;
    if let Some(mut time) = time
        && !is_date_time(time.text("a string")?.as_bytes())
    {
        return Err(time.schema_error("no date and time of RFC 3339, such as 2026-01-31T23:59:59Z"));
    }
    if let Some(mut layout) = layout {
        layout.open_object("a shard layout")?;
    }
    let Some(mut runtime) = runtime else { return Ok(()) };
    let [congestion] = runtime.members(["congestion_control_config"], "an object")?;
    let Some(mut congestion) = congestion else { return Ok(()) };
    let [threshold] = congestion.members(["reject_tx_congestion_threshold"], "an object")?;
    if let Some(mut threshold) = threshold {
        let level = threshold.raw()?;
        if level.starts_with('-') || exceeds_one(level) {
            let detail = format_args!("a congestion level of {level}, expected 0 to 1");
            return Err(threshold.schema_error(detail));
        }
    }
    Ok(())
}

/// Whether a text is a date and a time of day with its offset from UTC, by RFC 3339
fn is_date_time(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_first_chunk::<19>() else { return false };
    let form = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == form,
    };
    if !date_time.iter().zip(form).all(fits) {
        return false;
    }
    let number = |at: usize| two_digits(&date_time[at..]);
    let (year, month, day) = (number(0) * 100 + number(2), number(5), number(8));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => return false,
    };
    // A minute can have a leap second.
    (1..=days).contains(&day)
        && number(11) < 24
        && number(14) < 60
        && number(17) <= 60
        && is_fraction_and_offset(rest)
}

/// The number of two digits
fn two_digits(digits: &[u8]) -> u32 {
    digits.iter().take(2).fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

fn is_fraction_and_offset(text: &[u8]) -> bool {
    let offset = match text.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        _ => text,
    };
    match offset {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', digits @ ..] => {
            matches!(digits, [a, b, b':', c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()))
                && two_digits(digits) < 24
                && two_digits(&digits[3..]) < 60
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_rfc_3339() {
        for text in [
            "2020-07-21T16:55:51.591948Z",
            "2026-01-31t23:59:60z",
            "2024-02-29 00:00:00+14:00",
            "2000-02-29T00:00:00-00:00",
        ] {
            assert!(is_date_time(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-01-31",
            "2026-01-31T23:59:59",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0000",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+00:60",
            "2026-01-01T00:00:00Z ",
            "2026-01-01T00:00:0\u{e9}Z",
        ] {
            assert!(!is_date_time(text.as_bytes()), "{text}");
        }
    }
}
