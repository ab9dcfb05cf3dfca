//! The bytes of failures, and that foreign text cannot break out of them.

use alloc::string::ToString;

use super::*;

fn written(failure: &Failure) -> String {
    let mut out = Vec::new();
    failure.write(&RequestId::default(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_parse_error_has_its_message_twice() {
    assert_eq!(
        answer("[]"),
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","cause":"#,
            r#"{"name":"PARSE_ERROR","info":{"error_message":"request: batch of no requests"}},"#,
            r#""code":-32700,"message":"Parse error","data":"request: batch of no requests"},"#,
            r#""id":null}"#
        )
    );
}

#[test]
fn an_internal_error_carries_the_real_message() {
    let body = written(&Failure::Internal { message: "row \"7\" is corrupt".to_string() });
    assert_eq!(
        body,
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"INTERNAL_ERROR","cause":{"info":"#,
            r#"{"error_message":"row \"7\" is corrupt"},"name":"INTERNAL_ERROR"},"code":-32000,"#,
            r#""message":"Server error","data":"The node reached its limits. Try again later. "#,
            r#"More details: row \"7\" is corrupt"},"id":"dontcare"}"#
        )
    );
}

#[test]
fn foreign_text_stays_inside_its_string() {
    let body = answer(r#"{"method":"\",\"id\":1}\u0000\n\ud83d\ude00","id":"x"}"#);
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["error"]["data"], "\",\"id\":1}\0\n😀");
    assert_eq!(answer["id"], "x");
}

#[test]
fn classes_follow_the_failure() {
    let block = |skipped| Failure::UnknownBlock { message: "BLOCK HEIGHT: 5".to_string(), skipped };
    let hash = HASH.parse().unwrap();
    let text = String::new;
    for (failure, class) in [
        (Failure::Parse { message: text() }, AnswerClass::RequestValidation),
        (Failure::MethodNotFound { method: text() }, AnswerClass::RequestValidation),
        (Failure::InvalidTransaction { error: text() }, AnswerClass::Handler),
        (Failure::DoesNotTrackShard, AnswerClass::Handler),
        (Failure::RequestRouted { hash }, AnswerClass::Handler),
        (Failure::UnknownTransaction { hash }, AnswerClass::Handler),
        (Failure::Timeout { cause: None }, AnswerClass::Timeout),
        (block(false), AnswerClass::Handler),
        (block(true), AnswerClass::SkippedBlock),
        (Failure::Internal { message: text() }, AnswerClass::Internal),
    ] {
        assert_eq!(failure.class(), class, "{failure:?}");
    }
    assert!(written(&block(true)).contains(r#""data":"Block Not Found: BLOCK HEIGHT: 5""#));
}
