//! `milepost conformance` on a server of ours, on servers that are wrong, and on recorded responses
//! of nodes.
//!
//! A wrong server passes requests on to one of ours and changes the responses; each of its faults
//! has to be found, in the member where it is.

mod response_server;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use milepost_testing::server;
use milepost_tests::recorded;
use milepost_tests::vectors::{self, Fixture};
use serde_json::{Value, json};

use response_server::{RawResponse, ResponseServer};

/// Runs the program on a URL; returns its exit code and its report
fn run(program: &Path, url: &str, options: &[&str]) -> (i32, Value) {
    let mut command = Command::new(program);
    command.args(["conformance", url, "--rate", "1000000"]).args(options);
    let output = command.output().expect("the program starts");
    let code = output.status.code().expect("it ends by itself");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("no report, but {}", String::from_utf8_lossy(&output.stderr));
    });
    (code, report)
}

/// A chain with configurations, and the hash of a final transaction on it
fn chain() -> (Fixture, String) {
    let manifest = vectors::load().expect("the vectors can be read");
    let fixture = |name: &str| {
        manifest.fixtures.iter().find(|fixture| fixture.name == name).expect("it is declared")
    };
    let fixture =
        Fixture { configs: fixture("configs").configs.clone(), ..fixture("road-110").clone() };
    let vector = manifest.vectors.iter().find(|vector| vector.name == "milestone-final");
    let request = &vector.expect("it is declared").request;
    let request: Value = serde_json::from_slice(request).expect("it is JSON");
    let hash = request["params"]["tx_hash"].as_str().expect("by hash");
    (fixture, hash.to_owned())
}

fn differences(report: &Value) -> &Vec<Value> {
    report["differences"].as_array().expect("a list")
}

/// A way to be wrong
struct Defect {
    name: &'static str,
    /// Changes a response to a request, both as JSON
    change: fn(&Value, &mut RawResponse),
    /// A part of the name of the check that finds it
    check: &'static str,
    /// The member that it finds
    member: &'static str,
}

/// Changes the JSON of a response
fn body(reply: &mut RawResponse, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&reply.body).expect("responses are JSON");
    change(&mut value);
    reply.body = value.to_string().into_bytes();
}

/// Changes the result of a status or of a configuration
fn result(reply: &mut RawResponse, change: impl FnOnce(&mut Value)) {
    body(reply, |body| {
        if body["result"].is_object() {
            change(&mut body["result"]);
        }
    });
}

fn is_status(request: &Value) -> bool {
    request["method"] == "EXPERIMENTAL_tx_status"
}

fn remove(value: &mut Value, member: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(member);
    }
}

/// The faults of four servers: those of one are in different members or different responses
const DEFECTS: [&[Defect]; 4] = [
    &[
        Defect {
            name: "every status is 200",
            change: |_, reply| reply.status = 200,
            check: "envelope-",
            member: "HTTP status",
        },
        Defect {
            name: "ids are texts",
            change: |_, reply| body(reply, |body| body["id"] = body["id"].to_string().into()),
            check: "error-id-integer",
            member: "/id",
        },
        Defect {
            name: "a member has another type",
            change: |_, reply| {
                result(reply, |result| {
                    if result["transaction"].is_object() {
                        result["transaction"]["nonce"] = "7".into();
                    }
                });
            },
            check: "status FINAL",
            member: "/result",
        },
        Defect {
            name: "no response",
            change: |request, reply| reply.is_lost = request["params"]["finality"] == "final",
            check: "config final",
            member: "",
        },
        Defect {
            name: "not JSON",
            change: |request, reply| {
                if request.is_null() {
                    reply.body = b"Failed to parse the request body as JSON".to_vec();
                }
            },
            check: "not-json-",
            member: "",
        },
    ],
    &[
        Defect {
            name: "the status of a time-out is 200",
            change: |request, reply| {
                if request["params"]["wait_until"] == "INCLUDED" {
                    reply.status = 200;
                }
            },
            check: "timeout-unknown",
            member: "HTTP status",
        },
        Defect {
            name: "ids are lost",
            change: |_, reply| body(reply, |body| body["id"] = Value::Null),
            check: "error-id-string",
            member: "/id",
        },
        Defect {
            name: "the cause has another name",
            change: |_, reply| {
                body(reply, |body| {
                    if body["error"]["cause"]["name"] == "UNKNOWN_TRANSACTION" {
                        body["error"]["cause"]["name"] = "NOT_FOUND".into();
                    }
                });
            },
            check: "unknown-transaction",
            member: "/error/cause/name",
        },
        Defect {
            name: "unknown methods have a result",
            change: |request, reply| {
                if request["method"] == "nope" {
                    body(reply, |body| {
                        remove(body, "error");
                        body["result"] = Value::Null;
                    });
                }
            },
            check: "method-unknown",
            member: "/error",
        },
        Defect {
            name: "another transaction",
            change: |request, reply| {
                if is_status(request) {
                    result(reply, |result| {
                        result["transaction"]["hash"] = "11111111111111111111111111111112".into();
                    });
                }
            },
            check: "status FINAL",
            member: "/result/transaction/hash",
        },
        Defect {
            name: "a configuration lacks a member",
            change: |_, reply| result(reply, |result| remove(result, "epoch_length")),
            check: "config final",
            member: "/result/epoch_length",
        },
    ],
    &[
        Defect {
            name: "there is no version",
            change: |_, reply| body(reply, |body| remove(body, "jsonrpc")),
            check: "method-unknown",
            member: "/jsonrpc",
        },
        Defect {
            name: "the cause has no info",
            change: |_, reply| {
                body(reply, |body| {
                    if let Some(cause) = body.pointer_mut("/error/cause") {
                        remove(cause, "info");
                    }
                });
            },
            check: "params-empty",
            member: "/error/cause/info",
        },
        Defect {
            name: "another code",
            change: |_, reply| {
                body(reply, |body| {
                    if body["error"]["code"] == -32_601 {
                        body["error"]["code"] = json!(-32_600);
                    }
                });
            },
            check: "method-unknown",
            member: "/error/code",
        },
    ],
    &[
        Defect {
            name: "the envelope has more",
            change: |request, reply| {
                if request["params"]["wait_until"] == "FINAL" {
                    body(reply, |body| body["took"] = json!(5));
                }
            },
            check: "status FINAL",
            member: "",
        },
        Defect {
            name: "does not wait",
            change: |request, reply| {
                if is_status(request) {
                    result(reply, |result| result["final_execution_status"] = "INCLUDED".into());
                }
            },
            check: "status INCLUDED_FINAL",
            member: "/result/final_execution_status",
        },
        Defect {
            name: "a status that the outcomes do not have",
            change: |request, reply| {
                if is_status(request) {
                    result(reply, |result| result["status"] = json!({ "SuccessValue": "AAAA" }));
                }
            },
            check: "status by an array",
            member: "/result/status",
        },
        Defect {
            name: "a receipt from nowhere, and no receipts",
            change: |request, reply| {
                if is_status(request) {
                    result(reply, |result| {
                        remove(result, "receipts");
                        result["transaction_outcome"]["outcome"]["receipt_ids"] = json!([]);
                    });
                }
            },
            check: "status NONE",
            member: "/result/receipts_outcome/0/id",
        },
    ],
];

#[test]
fn our_server_passes_and_every_fault_is_found() {
    let program = server::program().expect("the server is built");
    let (fixture, hash) = chain();
    let directory = tempfile::tempdir().expect("a directory");
    let server = server::Server::start(&program, &fixture, &[], directory.path());
    let server = Arc::new(server.expect("the server starts"));
    let transaction = [&*hash, "alice.near"];

    let (code, report) = run(&program, &server.url(), &transaction);
    assert_eq!((code, differences(&report).len()), (0, 0), "{report}");
    assert_eq!(
        report["looks_like"].as_str().and_then(|text| text.split(' ').next()),
        Some("Milepost")
    );
    // Both checkpoints may be before the first block.
    assert!(report["not_checked"].as_array().expect("a list").len() <= 3, "{report}");
    assert!(report["requests"].as_u64() > Some(100), "{report}");
    let (code, report) = run(&program, &server.url(), &[]);
    assert_eq!(code, 0, "{report}");
    assert!(report["not_checked"].to_string().contains("after the URL"), "{report}");

    for faults in DEFECTS {
        let behind = Arc::clone(&server);
        let wrong = ResponseServer::start(move |path, request| {
            let (status, body) = behind.post(path, request).expect("our server responds");
            let mut reply = RawResponse { status, body, is_lost: false };
            let request = serde_json::from_slice(request).unwrap_or_default();
            faults.iter().for_each(|fault| (fault.change)(&request, &mut reply));
            reply
        });
        let (code, report) = run(&program, &wrong.url(), &transaction);
        assert_eq!(code, 1);
        for fault in faults {
            let is_found = differences(&report).iter().any(|found| {
                let check = found["check"].as_str().expect("a text");
                check.contains(fault.check) && found["member"] == fault.member
            });
            assert!(is_found, "{}: {report:#}", fault.name);
        }
    }
}

#[test]
fn a_time_out_with_its_cause_is_that_of_a_newer_node() {
    let program = server::program().expect("the server is built");
    let (fixture, _) = chain();
    let directory = tempfile::tempdir().expect("a directory");
    let flags = ["--timeout-cause".to_owned()];
    let server = server::Server::start(&program, &fixture, &flags, directory.path());
    let (code, report) = run(&program, &server.expect("the server starts").url(), &[]);
    assert_eq!(code, 0, "{report}");
    let looks_like = report["looks_like"].as_str().expect("a text");
    assert!(looks_like.ends_with("the interface of node 2.14 or later"), "{looks_like}");
}

#[test]
fn without_a_server_there_is_an_error_and_no_credentials_are_printed() {
    let program = server::program().expect("the server is built");
    let conformance = |args: &[&str]| {
        let output = Command::new(&program).arg("conformance").args(args).output();
        let output = output.expect("the program starts");
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
    };
    // A port on which nothing listens any more.
    let url = ResponseServer::start(|_, _| unreachable!("it is stopped")).url();
    let (code, printed) = conformance(&[&url]);
    assert!(code == Some(2) && printed.contains("no response"), "{printed}");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("token");
    std::fs::write(&file, "a-secret").expect("a file");
    let file = file.to_str().expect("paths are UTF-8");
    for args in [
        &[&*url, "--token-file", file][..],
        &["http://rpc.example", "--token-file", file],
        &["https://user:a-secret@rpc.example"],
        &["https://rpc.example/?key=a-secret"],
    ] {
        let (code, printed) = conformance(args);
        assert!(code == Some(2) && !printed.contains("secret"), "{printed}");
    }
}

/// What a node does with the requests of the program: one configuration, and one transaction
fn node(request: &[u8], config: &Value, transaction: &Value) -> RawResponse {
    let error = |name: &str, info: Value, code: i32, message: &str, data: &str, id: &Value| {
        let cause = json!({ "name": name, "info": info });
        let error = json!({
            "name": "REQUEST_VALIDATION_ERROR",
            "cause": cause, "code": code, "message": message, "data": data,
        });
        (400, json!({ "jsonrpc": "2.0", "error": error, "id": id }))
    };
    let parse_error = |text: &str, id: &Value| {
        error("PARSE_ERROR", json!({ "error_message": text }), -32_700, "Parse error", text, id)
    };
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    let (method, id, params) = (&request["method"], &request["id"], &request["params"]);
    let hash = &transaction["transaction"]["hash"];
    let (status, body) = match method.as_str() {
        None => parse_error("JSON RPC Request format was expected", &Value::Null),
        Some("EXPERIMENTAL_protocol_config") if params["finality"].is_string() => {
            (200, json!({ "jsonrpc": "2.0", "result": config, "id": id }))
        }
        Some("EXPERIMENTAL_tx_status") if [&params["tx_hash"], &params[0]].contains(&hash) => {
            (200, json!({ "jsonrpc": "2.0", "result": transaction, "id": id }))
        }
        Some("EXPERIMENTAL_protocol_config" | "EXPERIMENTAL_tx_status") => {
            parse_error("Failed parsing args: missing field", id)
        }
        Some(name) => {
            let info = json!({ "method_name": name });
            error("METHOD_NOT_FOUND", info, -32_601, "Method not found", name, id)
        }
    };
    RawResponse { status, body: body.to_string().into_bytes(), is_lost: false }
}

#[test]
fn recorded_responses_of_nodes_are_read_and_old_ones_are_not_of_the_interface() {
    let program = server::program().expect("the server is built");
    let unwrap = |file: &[u8]| {
        let mut file: Value = serde_json::from_slice(file).expect("it is JSON");
        let mut response = file["response"].take();
        match response.get_mut("result") {
            Some(result) => result.take(),
            None => response,
        }
    };
    let Some((_, config)) = recorded::files("rpc", "config_testnet_50").pop() else { return };
    let config = unwrap(&config);
    let mut seen = [false; 2];
    for (name, file) in recorded::files("rpc", "tx_") {
        let transaction = unwrap(&file);
        let hash = transaction["transaction"]["hash"].as_str().expect("a hash").to_owned();
        let sender = transaction["transaction"]["signer_id"].as_str().expect("a signer").to_owned();
        // Answers of today's nodes say what was reached, and have the receipts.
        let is_current =
            transaction["final_execution_status"] == "FINAL" && transaction["receipts"].is_array();
        // One of each, because a run takes a hundred requests.
        if core::mem::replace(&mut seen[usize::from(is_current)], true) {
            continue;
        }
        let config = config.clone();
        let node = ResponseServer::start(move |_, request| node(request, &config, &transaction));
        let (code, report) = run(&program, &node.url(), &[&hash, &sender]);
        assert_eq!(code, 1, "{name}: {report:#}");
        assert!(
            report["looks_like"].as_str().is_some_and(|it| it.contains("before 2.14")),
            "{report:#}"
        );
        let of = |check: &str| {
            differences(&report)
                .iter()
                .filter(|it| it["check"].as_str().is_some_and(|it| it.starts_with(check)))
                .count()
        };
        assert_eq!(of("status ") == 0, is_current, "{name}: {report:#}");
        // Version 50 had other members.
        assert!(of("config final") > 0, "{name}: {report:#}");
        // The errors of a node differ in their texts only.
        assert_eq!((of("method-"), of("params-")), (0, 0), "{report:#}");
    }
    assert_eq!(seen, [true; 2]);
}
