//! The metrics label of a request: its method, from the URL path or the body.
//!
//! The body is scanned once, without a copy, up to its method; it is not validated. A body that is
//! not JSON, or that writes its method with escapes, has the label of unknown methods.

use crate::metrics::MethodLabel;

/// The label of a request
pub(super) fn method_label(body: &[u8], url_method: Option<&str>) -> MethodLabel {
    let body = body.trim_ascii_start();
    if body.first() == Some(&b'[') {
        return MethodLabel::BATCH;
    }
    let method = url_method.or_else(|| str::from_utf8(method_member(body)?).ok());
    MethodLabel::of(method.unwrap_or_default())
}

/// The raw text of the first `method` of an object
fn method_member(body: &[u8]) -> Option<&[u8]> {
    let mut rest = body.strip_prefix(b"{")?;
    let mut depth = 0usize;
    let mut is_name = true;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'"' => {
                let (text, after) = string(rest)?;
                rest = after;
                if depth == 0 && is_name && text == b"method" {
                    let value = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
                    return string(value.strip_prefix(b"\"")?).map(|(name, _)| name);
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b':' => is_name = false,
            b',' => is_name = true,
            _ => {}
        }
    }
    None
}

/// Splits after a string whose opening quote is read: its raw text and the rest
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    let end = text.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_found_at_any_position() {
        let tx = MethodLabel::of("tx");
        for body in [
            r#"{"method":"tx"}"#,
            " \n{ \"id\" : 7 , \"method\" : \"tx\" , \"params\" : [] }",
            r#"{"params":{"method":"tx_status","a":["method","tx_status",{}]},"method":"tx"}"#,
            r#"{"id":"method","a":"\\","b":"\",\"method\":\"","method":"tx"}"#,
            r#"{"method":"tx","method":"tx_status""#,
        ] {
            assert_eq!(method_label(body.as_bytes(), None), tx, "{body}");
        }
        assert_eq!(method_label(b"{\"method\":\"tx_status\"}", Some("tx")), tx);
        assert_eq!(method_label(b" [{\"method\":\"tx\"}]", Some("tx")), MethodLabel::BATCH);
    }

    #[test]
    fn a_body_without_a_method_is_unknown() {
        let unknown = MethodLabel::of("");
        for body in [
            "",
            "{",
            "{}",
            "tx",
            r#""method":"tx""#,
            r#"{"method"}"#,
            r#"{"method":}"#,
            r#"{"method":7}"#,
            r#"{"method":"tx"#,
            r#"{"method":"t\u0078"}"#,
            r#"{"a":"method"}"#,
            r#"{"a":{"method":"tx"}}"#,
            r#"{"a":1}},"method":"tx"}"#,
        ] {
            assert_eq!(method_label(body.as_bytes(), None), unknown, "{body}");
        }
        let deep = format!(r#"{{"a":{},"method":"tx"}}"#, "[".repeat(1 << 20));
        assert_eq!(method_label(deep.as_bytes(), None), unknown);
    }
}
