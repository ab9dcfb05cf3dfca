//! Code and answers that pages show.
//!
//! A shown answer has `…` in place of the members of an array or an object; everything else in it
//! is compared.

/// The blocks of code in this language on a page, in order
pub fn code<'page>(page: &'page str, language: &str) -> Vec<&'page str> {
    let start = format!("```{language}\n");
    let blocks = page.split(start.as_str()).skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Asserts that a JSON text is the shown one
///
/// # Panics
///
/// When it is not.
pub fn assert_answer(shown: &str, actual: &str) {
    // A line that begins with a blank continues the one before.
    let shown = shown.trim_end().replace("\n ", "");
    let mut rest = actual.trim_end();
    for (number, part) in shown.split('…').enumerate() {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} is not in {rest}"));
        assert!(number > 0 || at == 0, "{part} is not the start of {actual}");
        rest = &rest[at + part.len()..];
    }
    assert_eq!(rest, "", "the shown answer ends before the actual one");
}

/// The texts between these two, in order
pub fn between<'text>(text: &'text str, start: &str, end: &str) -> Vec<&'text str> {
    let parts = text.split(start).skip(1);
    parts.map(|rest| rest.split(end).next().expect("a split has a first part")).collect()
}
