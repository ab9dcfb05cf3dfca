//! JSON writers of the declarations: two orders of members, and raw JSON texts.
//!
//! Responses have their members in byte-wise order. Blocks and configurations are written in the
//! reverse order, so that a response in the right order proves that the engine sorts members.

use serde_json::Value;

/// Marks a string as JSON text that is written unchanged
const RAW: char = '\u{1}';

/// JSON text that is written unchanged, for numbers that no Rust type can hold
pub(super) fn raw(text: &str) -> Value {
    Value::String(format!("{RAW}{text}"))
}

/// Compact text with members in byte-wise order, as in responses
pub(super) fn in_order(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text, &Style { reverse: false, indent: None });
    text
}

/// Indented text with members in the reverse of byte-wise order, as in blocks and configurations
pub(super) fn reversed(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text, &Style { reverse: true, indent: Some(0) });
    text.push('\n');
    text
}

/// Indented text with members in byte-wise order, as in the manifest
pub(super) fn indented(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text, &Style { reverse: false, indent: Some(0) });
    text.push('\n');
    text
}

/// The order of members, and the indentation of the line
struct Style {
    reverse: bool,
    indent: Option<usize>,
}

impl Style {
    fn deeper(&self) -> Self {
        Self { reverse: self.reverse, indent: self.indent.map(|depth| depth + 1) }
    }

    fn start_line(&self, text: &mut String) {
        if let Some(depth) = self.indent {
            text.push('\n');
            text.extend(core::iter::repeat_n(' ', depth));
        }
    }
}

fn write(value: &Value, text: &mut String, style: &Style) {
    let deeper = style.deeper();
    match value {
        Value::String(string) if string.starts_with(RAW) => text.push_str(&string[1..]),
        Value::Array(items) if !items.is_empty() => {
            for (position, item) in items.iter().enumerate() {
                text.push(if position == 0 { '[' } else { ',' });
                deeper.start_line(text);
                write(item, text, &deeper);
            }
            style.start_line(text);
            text.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
            if style.reverse {
                members.reverse();
            }
            for (position, (name, member)) in members.into_iter().enumerate() {
                text.push(if position == 0 { '{' } else { ',' });
                deeper.start_line(text);
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push_str(if style.indent.is_some() { ": " } else { ":" });
                write(member, text, &deeper);
            }
            style.start_line(text);
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{in_order, raw, reversed};

    #[test]
    fn both_orders_keep_raw_texts() {
        let value = json!({ "b": [1, raw("1.50")], "a": {}, "B": [], "é": "\"" });
        assert_eq!(in_order(&value), r#"{"B":[],"a":{},"b":[1,1.50],"é":"\""}"#);
        assert_eq!(
            reversed(&value),
            "{\n \"é\": \"\\\"\",\n \"b\": [\n  1,\n  1.50\n ],\n \"a\": {},\n \"B\": []\n}\n"
        );
    }
}
