//! The vectors that hold on any chain, and how a response is compared with one.
//!
//! `cargo xtask vectors` writes them from the declarations of the shared vectors. Compared are the
//! HTTP status and all members, except the texts for people: these have to be texts. The id of a
//! request whose envelope is invalid may also be `null`, as in JSON-RPC 2.0.

use milepost::views::RawJson;
use serde::Deserialize;
use serde_json::Value;

use super::report::Report;
use super::{RawResponse, Session, Stopped};

/// A request and what it is answered by
#[derive(Deserialize)]
struct Expectation {
    name: String,
    /// A text, or an array of bytes that are none
    request: Value,
    http_status: u16,
    response: String,
}

/// Texts for people, which are not compared, by their paths
const TEXTS: [&str; 2] = ["/error/data", "/error/cause/info/error_message"];

fn expectations() -> Vec<Expectation> {
    // Part of the program; a test reads it.
    serde_json::from_str(include_str!("expectations.json")).unwrap_or_default()
}

/// Sends all requests and compares the responses
pub(super) async fn check(session: &mut Session, report: &mut Report) -> Result<(), Stopped> {
    for expectation in expectations() {
        let body = match &expectation.request {
            Value::String(text) => text.clone().into_bytes(),
            bytes => Vec::deserialize(bytes).unwrap_or_default(),
        };
        if let Some(reply) = session.post(&expectation.name, "", &body, report).await? {
            compare(&expectation, &reply, report);
        }
    }
    Ok(())
}

fn compare(expectation: &Expectation, reply: &RawResponse, report: &mut Report) {
    let Expectation { name, http_status, response, .. } = expectation;
    if reply.status != *http_status {
        let (expected, got) = (http_status.to_string(), reply.status.to_string());
        report.differs_in(name, "HTTP status", &expected, &got);
    }
    let (Ok(expected), Ok(got)) =
        (serde_json::from_str::<Value>(response), serde_json::from_slice::<Value>(&reply.body))
    else {
        let got = String::from_utf8_lossy(&reply.body);
        return report.differs_in(name, "", "a JSON-RPC response", &got);
    };
    Comparison { name, response, reply, report }.values("", &expected, &got);
}

struct Comparison<'run> {
    name: &'run str,
    response: &'run str,
    reply: &'run RawResponse,
    report: &'run mut Report,
}

impl Comparison<'_> {
    /// Compares two values at a path; recurses as deep as the expected one
    fn values(&mut self, path: &str, expected: &Value, got: &Value) {
        if path == "/id" {
            return self.ids(expected, got);
        }
        let is_method_name = self.response.contains("METHOD_NOT_FOUND");
        let is_equal = match (expected, got) {
            (Value::Object(expected), Value::Object(got)) => {
                for (member, expected) in expected {
                    let path = format!("{path}/{member}");
                    match got.get(member) {
                        Some(got) => self.values(&path, expected, got),
                        None => self.report.differs_in(
                            self.name,
                            &path,
                            &expected.to_string(),
                            "absent",
                        ),
                    }
                }
                for (member, got) in
                    got.iter().filter(|(member, _)| !expected.contains_key(*member))
                {
                    self.unexpected(&format!("{path}/{member}"), got);
                }
                true
            }
            (Value::String(_), Value::String(_)) if TEXTS.contains(&path) && !is_method_name => {
                true
            }
            _ => expected == got,
        };
        if !is_equal {
            self.report.differs_in(self.name, path, &expected.to_string(), &got.to_string());
        }
        if path == "/error/cause" && [expected, got].iter().all(|it| it["name"] == "TIMEOUT_ERROR")
        {
            self.report.has_timeout_cause = Some(got["info"].is_object());
        }
    }

    /// Ids are the same text, or the same value: a node may write a number in another form
    fn ids(&mut self, expected: &Value, got: &Value) {
        let is_envelope = self.response.contains(r#""error_message":"request"#);
        let is_same = expected == got
            || is_envelope && got.is_null()
            || id_text(self.response.as_bytes()) == id_text(&self.reply.body);
        if !is_same {
            self.report.differs_in(self.name, "/id", &expected.to_string(), &got.to_string());
        }
    }

    /// A member that the interface does not have; why a time-out was one is newer
    fn unexpected(&mut self, path: &str, got: &Value) {
        let is_newer = path == "/error/cause/info"
            && self.response.contains("TIMEOUT_ERROR")
            && (got.is_null() || got["cause"].is_string());
        if !is_newer {
            self.report.differs_in(self.name, path, "absent", &got.to_string());
        }
    }
}

/// The id of a response as canonical text, in which numbers are exact
fn id_text(response: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Response<'text> {
        #[serde(borrow)]
        id: &'text serde_json::value::RawValue,
    }
    let response: Response<'_> = serde_json::from_slice(response).ok()?;
    RawJson::from_text(response.id.get()).ok().map(|id| id.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(name: &str, status: u16, body: &str) -> Vec<Value> {
        let expectations = expectations();
        let expectation = expectations.iter().find(|it| it.name == name).expect("a vector");
        let mut report = Report::default();
        compare(expectation, &RawResponse { status, body: body.into() }, &mut report);
        let report: Value = serde_json::from_str(&report.to_json("")).unwrap();
        report["differences"].as_array().unwrap().clone()
    }

    #[test]
    fn every_declared_response_is_equal_to_itself() {
        let expectations = expectations();
        assert!(expectations.len() > 90);
        for Expectation { name, http_status, response, request } in &expectations {
            assert!(request.is_string() || Vec::<u8>::deserialize(request).is_ok(), "{name}");
            assert_eq!(differences(name, *http_status, response), [] as [Value; 0], "{name}");
        }
    }

    #[test]
    fn texts_for_people_may_differ_and_names_may_not() {
        let response = &expectations().into_iter().find(|it| it.name == "params-empty").unwrap();
        let response = &response.response;
        let other = response.replace("Failed parsing", "Cannot parse");
        assert_ne!(*response, other);
        assert_eq!(differences("params-empty", 400, &other).len(), 0);
        for (from, to, member) in [
            ("PARSE_ERROR", "PARSER", "/error/cause/name"),
            ("-32700", "-32600", "/error/code"),
            ("dontcare", "other", "/id"),
            ("2.0", "1.0", "/jsonrpc"),
            (r#""data":""#, r#""data":5,"x":""#, "/error/data"),
        ] {
            let other = response.replace(from, to);
            let found = differences("params-empty", 400, &other);
            assert!(found.iter().any(|it| it["member"] == member), "{from}: {found:?}");
        }
        assert_eq!(differences("params-empty", 200, response)[0]["member"], "HTTP status");
        assert_eq!(differences("params-empty", 400, "Bad Request")[0]["got"], "Bad Request");
    }

    #[test]
    fn ids_are_compared_exactly_and_a_node_may_lose_that_of_an_invalid_envelope() {
        let error = r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","cause":{"name":"METHOD_NOT_FOUND","info":{"method_name":"nope"}},"code":-32601,"message":"Method not found","data":"nope"},"id":@}"#;
        assert_eq!(differences("error-id-spaced", 400, &error.replace("@", "[1,2]")).len(), 0);
        assert_eq!(differences("error-id-fraction", 400, &error.replace("@", "12.5")).len(), 0);
        assert_eq!(differences("error-id-integer", 400, &error.replace("@", "\"42\"")).len(), 1);
        assert_eq!(differences("error-id-string", 400, &error.replace("@", "null")).len(), 1);
        let node = r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","cause":{"name":"PARSE_ERROR","info":{"error_message":"JSON RPC Request format was expected"}},"code":-32700,"message":"Parse error","data":"JSON RPC Request format was expected"},"id":null}"#;
        assert_eq!(differences("envelope-version-other", 400, node).len(), 0);
    }
}
