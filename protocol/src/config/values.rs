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
        return Err(time.schema_error("no date and time such as 2026-01-31T23:59:59Z"));
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
            return Err(threshold.schema_error("no congestion level, expected 0 to 1"));
        }
    }
    Ok(())
}

/// Whether a text is a date and a time of day with its offset from UTC, by RFC 3339
fn is_date_time(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_first_chunk::<19>() else { return false };
    if !has_form(date_time, b"dddd-dd-ddTdd:dd:dd") {
        return false;
    }
    let number = |at| two_digits(date_time, at);
    let (century, year, month, day) = (number(0), number(2), number(5), number(8));
    let leap = if year == 0 { century } else { year } % 4 == 0;
    let days = match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let fraction = match rest.strip_prefix(b".") {
        Some(fraction) => 1 + fraction.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        None => 0,
    };
    let offset = &rest[fraction..];
    let is_offset = matches!(offset, b"Z" | b"z")
        || has_form(offset, b"+dd:dd") && two_digits(offset, 1) < 24 && two_digits(offset, 4) < 60;
    // A minute can have a leap second.
    (1..=12).contains(&month)
        && (1..=days).contains(&day)
        && number(11) < 24
        && number(14) < 60
        && number(17) <= 60
        && fraction != 1
        && is_offset
}

/// Whether a text has digits where the form has `d`, and otherwise the same bytes
fn has_form(text: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'd' => byte.is_ascii_digit(),
        b'T' => b"Tt ".contains(byte),
        b'+' => b"+-".contains(byte),
        _ => byte == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

/// The number of two digits
fn two_digits(text: &[u8], at: usize) -> u8 {
    // Of two digits of ASCII only the low bits count.
    (text[at] & 15) * 10 + (text[at + 1] & 15)
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
