//! The headers of every request and every response: its id, and the trace that it is part of.
//!
//! They are added to all operations in one place, so that no route can be described without them.

use serde_json::{Value, json};

use super::shared;

/// Adds the parameters to each operation, the headers to each response, and what they refer to
pub(super) fn add_to(document: &mut Value) {
    let operations = members(&mut document["paths"]).flat_map(members);
    for operation in operations {
        for response in members(&mut operation["responses"]) {
            for (name, component) in [("x-request-id", "RequestId"), ("traceparent", "Traceparent")]
            {
                let reference = format!("#/components/headers/{component}");
                response["headers"][name] = json!({ "$ref": reference });
            }
        }
        if operation["parameters"].is_null() {
            operation["parameters"] = json!([]);
        }
        if let Value::Array(parameters) = &mut operation["parameters"] {
            parameters.extend([shared("requestId"), shared("traceparent")]);
        }
    }
    let id = json!({ "type": "string", "pattern": "^[A-Za-z0-9_.:/+=@~-]{1,128}$" });
    let components = &mut document["components"];
    components["parameters"]["requestId"] = json!({
        "name": "x-request-id",
        "in": "header",
        "description": "The id of the request; one that is longer, or has other characters, is ignored",
        "schema": id,
    });
    components["parameters"]["traceparent"] = json!({
        "name": "traceparent",
        "in": "header",
        "description": "The trace of the request (W3C Trace Context); what is no trace is ignored",
        "schema": { "type": "string" },
    });
    components["headers"]["RequestId"] = json!({
        "description": "The id of the request, or a new one",
        "schema": id,
    });
    components["headers"]["Traceparent"] = json!({
        "description": "The trace of the request, with a span of this server; only if the request has one",
        "schema": { "type": "string", "pattern": "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$" },
    });
}

fn members(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_object_mut().into_iter().flat_map(|members| members.values_mut())
}
