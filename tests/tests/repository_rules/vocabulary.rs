//! Words that may not come back: names that were replaced by the field's own, and phrases that
//! are not plain technical English.
//!
//! Names are looked for in code and on pages, phrases in comments and on pages. A name is matched
//! as a whole identifier. Vectors and data of the network are not read.

use super::{none, texts};

/// Identifiers that were replaced, each with the name that took its place
const RETIRED_NAMES: &[(&str, &str)] = &[
    ("Desk", "Endpoint"),
    ("Patience", "WaitConfig"),
    ("Called", "RequestState"),
    ("Delivery", "RequestState"),
    ("Reply", "RequestState"),
    ("Admission", "Output"),
    ("AnswerClass", "ResponseKind"),
    ("Suspension", "Output"),
    ("Resumption", "Output"),
    ("SharedWaiters", "Endpoint"),
    ("poll_response", "poll_output"),
    ("poll_request", "poll_output"),
    ("Ticket", "RequestHandle"),
    ("Exchange", "RequestQuery or PendingRequest"),
    ("StatusQuestion", "StatusQuery"),
    ("ConfigQuestion", "ConfigQuery"),
    ("ChainQuestion", "ChainQuery"),
    ("IngestQuestion", "BlockImport"),
    ("PutQuestion", "ConfigImport"),
    ("Standing", "TransactionStatus"),
    ("Blocker", "WaitCondition"),
    ("Ingested", "ImportSummary"),
    ("IngestSettings", "ImportSettings"),
    ("SettledRecord", "FinalizedTransaction"),
    ("OriginRecord", "ReceiptParent"),
    ("ParkedRecord", "ForkBlock"),
    ("Parked", "ForkBlock"),
    ("FactKey", "RowId"),
    ("Sleeper", "Linked"),
    ("Sleepers", "WaitIndex"),
    ("Bed", "ListLinks"),
    ("Woken", "Wakeup"),
    ("get_up", "wake"),
    ("readmit", "reinsert"),
    ("path_method", "url_method"),
    ("pathMethod", "urlMethod"),
    ("Piece", "ResponseChunk"),
    ("Scratch", "Buffers"),
    ("AtHand", "FastPath"),
    ("Shown", "RowSlice"),
    ("Supplied", "RowCache"),
    ("Replay", "Restartable"),
    ("Replayed", "RestartableQuery"),
    ("Recognise", "FastValidate"),
    ("recognise", "validate_fast"),
    ("Brief", "RowSummary"),
    ("Shaped", "HasSchema"),
    ("Pen", "Writer"),
    ("Flaw", "DecodeError"),
    ("Fault", "ReadError"),
    ("ScalarError", "ParseError"),
    ("Verdict", "VerificationResult"),
    ("Refused", "PermissionDenied"),
    ("MOST_LEVELS", "MAX_DEPTH"),
    ("with_most_levels", "with_max_depth"),
    ("Lobby", "Endpoint"),
    ("Stay", "WaitGuard"),
    ("Turnstile", "IoBudget"),
    ("Given", "ResponseBuffer"),
    ("Settlement", "Output"),
    ("Crowd", "OpenRequests"),
    ("Cast", "Accounts"),
    ("Dice", "Rng"),
    ("Noise", "Rng"),
    ("Fate", "a name of the field"),
    ("handle_time", "handle_timeout"),
    ("handle_changes", "handle_chain_update"),
    ("handle_stop", "shutdown"),
    ("next_deadline", "next_timeout"),
    ("poll_answer", "poll_output"),
    ("poll_exchange", "poll_output"),
    ("drive_in", "run_with_rows"),
    ("undone", "reverted"),
    ("redone", "reapplied"),
    ("milepost_desk", "milepost_endpoint"),
    ("milepost_answer", "milepost_response"),
    ("milepost_exchange", "milepost_endpoint"),
    ("milepost_ingested", "milepost_import_summary"),
    ("answerSync", "respondSync"),
    ("answerInto", "respondInto"),
];

/// Phrases that are not plain technical English, each with what to write
const RETIRED_PHRASES: &[(&str, &str)] = &[
    ("front desk", "request handling"),
    ("waiting room", "map of pending requests"),
    ("whoever", "the host, or the caller"),
    ("nobody", "no request, no caller"),
    ("but for", "except"),
    ("for to", "to"),
    ("wheel of wheels", "hierarchical timing wheel"),
    ("stands", "is"),
    ("tells", "reports"),
    ("told", "reported"),
    ("asleep", "waiting"),
    ("sleepers", "pending requests"),
    ("the house", "the repository"),
    ("in vain", "without a result"),
    ("lent", "borrowed"),
    ("lends", "shares"),
    ("is at hand", "is local"),
    ("settled", "finalized"),
];

/// Whether `text` has `word` as a whole word
fn has_word(text: &str, word: &str) -> bool {
    let is_part =
        |mark: Option<char>| mark.is_some_and(|mark| mark.is_alphanumeric() || mark == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// The comment on a line of source, or all of a line of a page
fn prose<'line>(path: &str, line: &'line str) -> &'line str {
    if path.ends_with(".md") {
        return line;
    }
    let trimmed = line.trim_start();
    if trimmed.starts_with("* ") || trimmed.starts_with("/*") {
        return trimmed;
    }
    line.match_indices("//")
        .find(|(at, _)| !line[..*at].ends_with(':'))
        .map_or("", |(at, _)| &line[at..])
}

/// A line of source without its comment
fn code<'line>(path: &str, line: &'line str) -> &'line str {
    line.strip_suffix(prose(path, line)).unwrap_or_default()
}

#[test]
fn retired_names_do_not_come_back() {
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        for (line, number) in text.lines().zip(1..) {
            let code = if path.ends_with(".md") { line } else { code(&path, line) };
            for (name, instead) in RETIRED_NAMES.iter().filter(|(name, _)| has_word(code, name)) {
                complaints.push(format!("{path}:{number}: {name}, write {instead}"));
            }
        }
    }
    none(&complaints);
}

#[test]
fn retired_phrases_do_not_come_back() {
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        for (line, number) in text.lines().zip(1..) {
            let prose = prose(&path, line).to_lowercase();
            for (phrase, instead) in RETIRED_PHRASES.iter().filter(|(it, _)| has_word(&prose, it)) {
                complaints.push(format!("{path}:{number}: \"{phrase}\", write \"{instead}\""));
            }
        }
    }
    none(&complaints);
}

/// Sources and pages; not this file, which has to name the words, and no generated lists
fn sources() -> impl Iterator<Item = (String, String)> {
    let endings =
        [".rs", ".c", ".h", ".hpp", ".cpp", ".js", ".cjs", ".mjs", ".ts", ".md", ".toml", ".html"];
    texts(&endings).into_iter().filter(|(path, _)| !path.ends_with("/vocabulary.rs"))
}

#[test]
fn whole_words_are_found() {
    assert!(has_word("a Desk.", "Desk") && has_word("Desk::new", "Desk"));
    assert!(!has_word("Desktop", "Desk") && !has_word("my_Desk", "Desk"));
    assert_eq!(prose("a.rs", "let a = 1; // why"), "// why");
    assert_eq!(prose("a.rs", "let a = \"https://host\";"), "");
    assert_eq!(prose("a.md", "text"), "text");
    assert_eq!(code("a.rs", "let a = 1; // why"), "let a = 1; ");
    assert_eq!(code("a.c", " * A comment"), " ");
}
