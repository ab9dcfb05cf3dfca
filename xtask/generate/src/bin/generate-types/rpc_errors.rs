//! The errors of JSON-RPC: their causes, codes and HTTP statuses, as schemas.
//!
//! One row for each cause. The vectors are validated against the schemas, so a row that differs
//! from what the engine writes fails a test.

use serde_json::{Map, Value, json};

use crate::json_schema::reference;

/// A cause of errors
struct Cause {
    cause: &'static str,
    /// The name of the error
    name: &'static str,
    code: i32,
    message: &'static str,
    about: &'static str,
    /// The HTTP status; `always-200` replaces it
    http_status: u16,
    /// The name of the schema of `info`, if there is one
    info: Option<Info>,
}

/// What `info` of a cause is
enum Info {
    /// An object with one member, by its name and the name of its component
    Member(&'static str, Option<&'static str>),
    /// An object without members
    Empty,
    /// Absent, or why a time-out was one
    Timeout,
}

const REQUEST: &str = "REQUEST_VALIDATION_ERROR";
const HANDLER: &str = "HANDLER_ERROR";
const INTERNAL: &str = "INTERNAL_ERROR";
const SERVER_ERROR: &str = "Server error";

const CAUSES: [Cause; 9] = [
    Cause {
        cause: "PARSE_ERROR",
        name: REQUEST,
        code: -32_700,
        message: "Parse error",
        about: "the body, the envelope or the params cannot be read",
        http_status: 400,
        info: Some(Info::Member("error_message", None)),
    },
    Cause {
        cause: "METHOD_NOT_FOUND",
        name: REQUEST,
        code: -32_601,
        message: "Method not found",
        about: "no method has this name",
        http_status: 400,
        info: Some(Info::Member("method_name", None)),
    },
    Cause {
        cause: "INVALID_TRANSACTION",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the transaction can never be executed; `data` says why",
        http_status: 200,
        info: Some(Info::Empty),
    },
    Cause {
        cause: "DOES_NOT_TRACK_SHARD",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the shard of the sender is not tracked",
        http_status: 200,
        info: None,
    },
    Cause {
        cause: "REQUEST_ROUTED",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the transaction was forwarded to another node",
        http_status: 200,
        info: Some(Info::Member("transaction_hash", Some("CryptoHash"))),
    },
    Cause {
        cause: "UNKNOWN_TRANSACTION",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "no transaction of this hash is known",
        http_status: 200,
        info: Some(Info::Member("requested_transaction_hash", Some("CryptoHash"))),
    },
    Cause {
        cause: "TIMEOUT_ERROR",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the milestone was not reached in time",
        http_status: 408,
        info: Some(Info::Timeout),
    },
    Cause {
        cause: "UNKNOWN_BLOCK",
        name: HANDLER,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the block is not known; status 422 if it has a height below the head, which was \
                skipped or removed",
        http_status: 200,
        info: Some(Info::Empty),
    },
    Cause {
        cause: "INTERNAL_ERROR",
        name: INTERNAL,
        code: -32_000,
        message: SERVER_ERROR,
        about: "the service failed; status 503 if it is at a limit or stops",
        http_status: 500,
        info: Some(Info::Member("error_message", None)),
    },
];

/// The causes of the errors of any method
const OF_REQUESTS: [&str; 3] = ["PARSE_ERROR", "METHOD_NOT_FOUND", "INTERNAL_ERROR"];

fn row(cause: &str) -> &'static Cause {
    CAUSES.iter().find(|row| row.cause == cause).expect("a cause of the table")
}

/// The components with the schemas of all errors
pub(crate) fn components() -> Map<String, Value> {
    let alternatives: Vec<Value> = CAUSES.iter().map(Cause::schema).collect();
    let mut components = Map::new();
    components.insert(
        "RpcError".into(),
        json!({
            "description": "The error of a request: one of these by the name of its cause",
            "oneOf": alternatives,
        }),
    );
    components.insert("TimeoutErrorCause".into(), timeout_cause());
    components
}

/// The errors of a method with these causes besides those of all requests, one for each code
pub(crate) fn of_method(causes: &[&str]) -> Value {
    let all: Vec<&Cause> = OF_REQUESTS.iter().chain(causes).map(|cause| row(cause)).collect();
    let mut codes: Vec<(i32, &str)> = all.iter().map(|row| (row.code, row.message)).collect();
    codes.sort_unstable();
    codes.dedup();
    let error = |(code, message): (i32, &str)| {
        let causes = all.iter().filter(|row| row.code == code);
        let causes = causes.map(|row| (row.cause.to_owned(), Value::from(row.about)));
        let causes: Map<String, Value> = causes.collect();
        json!({ "code": code, "message": message, "data": { "causes": causes } })
    };
    codes.into_iter().map(error).collect()
}

/// The HTTP statuses of errors with what they mean, by status
pub(crate) fn by_http_status() -> Vec<(u16, String)> {
    let mut statuses: Vec<u16> = CAUSES.iter().map(|row| row.http_status).collect();
    statuses.extend([422, 503]);
    statuses.sort_unstable();
    statuses.dedup();
    statuses.retain(|status| *status != 200);
    let describe = |status: u16| {
        let causes: Vec<&str> = match status {
            422 => vec!["UNKNOWN_BLOCK"],
            503 => vec!["INTERNAL_ERROR"],
            _ => {
                CAUSES.iter().filter(|row| row.http_status == status).map(|row| row.cause).collect()
            }
        };
        (status, format!("An error with the cause {}", causes.join(" or ")))
    };
    statuses.into_iter().map(describe).collect()
}

impl Cause {
    fn schema(&self) -> Value {
        let mut members = Map::new();
        members.insert("name".into(), json!({ "const": self.cause }));
        let mut required = vec!["name"];
        if let Some(info) = &self.info {
            members.insert("info".into(), info.schema());
            if !matches!(info, Info::Timeout) {
                required.push("info");
            }
        }
        let data = match self.cause {
            "INVALID_TRANSACTION" => json!({
                "type": "object",
                "required": ["TxExecutionError"],
                "properties": { "TxExecutionError": reference("TxExecutionError") },
            }),
            _ => json!({ "type": "string" }),
        };
        json!({
            "title": self.cause,
            "description": format!("HTTP status {}: {}", self.http_status, self.about),
            "type": "object",
            "required": ["name", "cause", "code", "message", "data"],
            "properties": {
                "name": { "const": self.name },
                "cause": {
                    // Generators of clients name a type by it: without one the name of that of
                    // TIMEOUT_ERROR differs from `TimeoutErrorCause` in the case of letters alone,
                    // and the names of their files do not differ on every system.
                    "title": format!("Cause of {}", self.cause),
                    "type": "object",
                    "required": required,
                    "properties": members,
                    "additionalProperties": false,
                },
                "code": { "const": self.code },
                "message": { "const": self.message },
                "data": data,
            },
            "additionalProperties": false,
        })
    }
}

impl Info {
    fn schema(&self) -> Value {
        match self {
            Self::Member(name, component) => {
                let schema = component.map_or_else(|| json!({ "type": "string" }), reference);
                json!({
                    "type": "object",
                    "required": [name],
                    "properties": { *name: schema },
                    "additionalProperties": false,
                })
            }
            Self::Empty => json!({ "type": "object", "maxProperties": 0 }),
            Self::Timeout => reference("TimeoutErrorCause"),
        }
    }
}

fn timeout_cause() -> Value {
    let cause = |name: &str, member: Option<(&str, Value)>| {
        let mut properties = json!({ "cause": { "const": name } });
        let mut required = vec!["cause"];
        if let Some((member, schema)) = member {
            properties[member] = schema;
            required.push(member);
        }
        json!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        })
    };
    json!({
        "description": "Why the milestone was not reached in time; with `--timeout-cause` only",
        "oneOf": [
            cause("NOT_OBSERVED", None),
            cause("PENDING", Some(("status", reference("RpcTransactionResponse")))),
            cause("DOES_NOT_TRACK_SHARD", Some(("shard_id", reference("Uint64")))),
            cause("ERROR", Some(("debug_info", json!({ "type": "string" })))),
        ],
    })
}
