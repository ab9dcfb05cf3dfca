//! JSON Schemas of the wire types, from the tables that the engine checks texts by.
//!
//! Types with a name are components that refer to each other, in the keywords that draft 7 (of
//! OpenRPC) and draft 2020-12 (of OpenAPI 3.1) share. As on the wire, unknown members and variants
//! are valid everywhere, and a member or variant of known name has to be of its type.

use milepost_protocol::config::ProtocolConfigView;
use milepost_protocol::primitives::{AccountId, Balance, Bytes, CryptoHash, PublicKey, Signature};
use milepost_protocol::views::schema::{HasSchema as _, Member, ScalarSchema, Schema, Variant};
use milepost_protocol::views::{FinalExecutionOutcomeView, Milestone};
use serde_json::{Map, Value, json};

use crate::declarations::{first_paragraph, name_of};

/// The components of all wire types
pub(crate) fn components() -> Map<String, Value> {
    let mut components = Components(scalars());
    for root in [FinalExecutionOutcomeView::SCHEMA, ProtocolConfigView::SCHEMA] {
        components.schema(root);
    }
    let Components(mut all) = components;
    all.insert("TxExecutionStatus".into(), json!({
        "description": "A milestone: NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL",
        "enum": Milestone::ALL.map(Milestone::name),
    }));
    let outcome = ["receipts_outcome", "status", "transaction", "transaction_outcome"];
    all.insert("RpcTransactionResponse".into(), json!({
        "description": "The status of a transaction: its milestone, and the outcome unless only its inclusion is known",
        "type": "object",
        "required": ["final_execution_status"],
        "properties": { "final_execution_status": reference("TxExecutionStatus") },
        "anyOf": [
            reference("FinalExecutionOutcomeView"),
            { "not": { "anyOf": outcome.map(|name| json!({ "required": [name] })) } },
        ],
    }));
    all
}

/// A reference to a component
pub(crate) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The types without parts; each is a component, so that its meaning is described once
fn scalars() -> Map<String, Value> {
    let text = |description, pattern| json!({ "description": description, "type": "string", "pattern": pattern });
    let integer = |description| json!({ "description": description, "type": "integer", "minimum": 0, "format": "uint64" });
    let base64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
    let components = [
        ("AccountId", text(AccountId::EXPECTED, "^[a-z0-9._-]{2,64}$")),
        ("NearToken", text("An amount in yoctoNEAR, in decimal digits", "^[0-9]{1,39}$")),
        ("Base64", text(Bytes::EXPECTED, base64)),
        ("CryptoHash", text(CryptoHash::EXPECTED, "^[1-9A-HJ-NP-Za-km-z]{32,44}$")),
        ("PublicKey", text(PublicKey::EXPECTED, "^[a-z0-9-]+:[1-9A-HJ-NP-Za-km-z]+$")),
        ("Signature", text(Signature::EXPECTED, "^[a-z0-9-]+:[1-9A-HJ-NP-Za-km-z]+$")),
        ("GasText", text("Gas in gas units, in decimal digits", "^[0-9]{1,20}$")),
        ("NearGas", integer("Gas in gas units")),
        (
            "Uint64",
            integer("An integer of 64 bits, which JavaScript's numbers do not hold exactly"),
        ),
        (
            "Rational",
            json!({
                "description": "A fraction of 1: numerator and denominator",
                "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2,
            }),
        ),
        (
            "GlobalContractIdentifier",
            json!({
                "description": "A global contract, by the hash of its code or by the account that deployed it",
                "anyOf": [
                    variant("hash", &reference("CryptoHash"), ""),
                    variant("account_id", &reference("AccountId"), ""),
                    unknown_variant(&["hash", "account_id"], &[]),
                ],
            }),
        ),
    ];
    components.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

struct Components(Map<String, Value>);

impl Components {
    /// A schema where it is used: a reference to its component, if it has a name
    fn schema(&mut self, schema: &Schema) -> Value {
        let Some(name) = name_of(schema) else { return self.body(schema) };
        if !self.0.contains_key(name) {
            // Before its body, which may refer to it.
            self.0.insert(name.to_owned(), Value::Null);
            let body = self.body(schema);
            self.0.insert(name.to_owned(), body);
        }
        reference(name)
    }

    fn body(&mut self, schema: &Schema) -> Value {
        match schema {
            Schema::Text { expected, .. } => reference(text_name(expected)),
            Schema::Scalar(scalar) => scalar_schema(scalar),
            Schema::Nullable(inner) => {
                json!({ "anyOf": [self.schema(inner), { "type": "null" }] })
            }
            Schema::Array(inner) => json!({ "type": "array", "items": self.schema(inner) }),
            Schema::Pair([one, other]) => json!({
                "type": "array",
                "items": { "anyOf": [self.schema(one), self.schema(other)] },
                "minItems": 2,
                "maxItems": 2,
            }),
            Schema::IntegerKeys(inner) => json!({
                "type": "object",
                "propertyNames": { "pattern": "^[0-9]+$" },
                "additionalProperties": self.schema(inner),
            }),
            Schema::Object { docs, members, .. } => self.object(docs, members),
            Schema::Enum { name, docs, variants } => self.union(name, docs, variants),
        }
    }

    fn object(&mut self, docs: &str, members: &[Member]) -> Value {
        let mut properties = Map::new();
        for member in members {
            let schema = self.schema(member.schema);
            properties.insert(member.name().to_owned(), described(schema, member.docs));
        }
        let required: Vec<&str> =
            members.iter().filter(|member| member.required).map(Member::name).collect();
        let mut object = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            object["required"] = required.into();
        }
        described(object, docs)
    }

    fn union(&mut self, name: &str, docs: &str, variants: &[Variant]) -> Value {
        let is_word = |variant: &&Variant| variant.schema.is_none();
        let words: Vec<&str> =
            variants.iter().filter(is_word).map(|variant| variant.name).collect();
        let mut tags = Vec::new();
        let mut alternatives = Vec::new();
        if !words.is_empty() {
            alternatives.push(json!({ "enum": words }));
        }
        for Variant { name, docs, schema, .. } in variants {
            if let Some(schema) = schema {
                alternatives.push(variant(name, &self.schema(schema), docs));
                tags.push(*name);
            }
        }
        if name == "NonDelegateAction" {
            // Those that the protocol does not have: one inside another.
            tags.extend(["Delegate", "DelegateV2"]);
        }
        alternatives.push(unknown_variant(&tags, &words));
        described(json!({ "anyOf": alternatives }), docs)
    }
}

/// An object with one member, the tag of a variant
fn variant(name: &str, schema: &Value, docs: &str) -> Value {
    let object = json!({
        "type": "object",
        "properties": { name: schema },
        "required": [name],
        "maxProperties": 1,
    });
    described(object, docs)
}

/// A variant that is in none of these lists, of objects and of words
fn unknown_variant(tags: &[&str], words: &[&str]) -> Value {
    let known = [tags, words].concat();
    json!({
        "description": "A variant of a newer protocol version, passed through",
        "anyOf": [
            { "type": "string", "not": { "enum": known } },
            {
                "type": "object",
                "propertyNames": { "not": { "enum": known } },
                "minProperties": 1,
                "maxProperties": 1,
            },
        ],
    })
}

/// A schema with the first paragraph of these docs, if there are any
fn described(mut schema: Value, docs: &str) -> Value {
    if !docs.is_empty() {
        schema["description"] = first_paragraph(docs).into();
    }
    schema
}

fn text_name(expected: &str) -> &'static str {
    let names = [
        (AccountId::EXPECTED, "AccountId"),
        (Balance::EXPECTED, "NearToken"),
        (Bytes::EXPECTED, "Base64"),
        (CryptoHash::EXPECTED, "CryptoHash"),
        (PublicKey::EXPECTED, "PublicKey"),
        (Signature::EXPECTED, "Signature"),
    ];
    let name = names.iter().find(|(text, _)| *text == expected);
    name.expect("a known scalar").1
}

fn scalar_schema(scalar: &ScalarSchema) -> Value {
    let integer = |maximum: u64| json!({ "type": "integer", "minimum": 0, "maximum": maximum });
    match scalar {
        ScalarSchema::String => json!({ "type": "string" }),
        ScalarSchema::Bool => json!({ "type": "boolean" }),
        ScalarSchema::U8 => integer(u8::MAX.into()),
        ScalarSchema::U16 => integer(u16::MAX.into()),
        ScalarSchema::U32 => integer(u32::MAX.into()),
        ScalarSchema::I32 => {
            json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX })
        }
        ScalarSchema::Fraction => json!({ "type": "number" }),
        ScalarSchema::U64 => reference("Uint64"),
        ScalarSchema::Gas => reference("NearGas"),
        ScalarSchema::GasText => reference("GasText"),
        ScalarSchema::Rational => reference("Rational"),
        ScalarSchema::Identifier => reference("GlobalContractIdentifier"),
        ScalarSchema::StateInitData => json!({
            "type": "object",
            "propertyNames": reference("Base64"),
            "additionalProperties": reference("Base64"),
        }),
    }
}
