//! The declaration of a type, from its schema.
//!
//! A structure is an interface, an enumeration a union of its variants. An object without docs is
//! the body of a variant: it has no name in Rust either, and is written where it occurs. Docs are
//! the first paragraphs of those in Rust.

use std::collections::{BTreeMap, BTreeSet};

use milepost_protocol::primitives::{AccountId, Balance, Bytes, CryptoHash, PublicKey, Signature};
use milepost_protocol::views::schema::{Member, ScalarSchema, Schema, Variant};

/// Maximum number of columns of a line
pub(crate) const MAX_COLUMNS: usize = 100;

/// The module of each type that is declared, by its name
pub(crate) type Modules = BTreeMap<&'static str, &'static str>;

/// The declarations of one module
pub(crate) struct Writer {
    pub(crate) text: String,
    /// Names of the types that occur in them
    pub(crate) used: BTreeSet<&'static str>,
    /// Names of the members that are fractions
    pub(crate) fractions: BTreeSet<&'static str>,
    module: &'static str,
    is_versioned: bool,
}

/// The name of a type that is declared by itself
pub(crate) fn name_of(schema: &Schema) -> Option<&'static str> {
    match schema {
        Schema::Object { docs: "", .. } => None,
        Schema::Object { name, .. } | Schema::Enum { name, .. } => Some(match *name {
            // Its name in the interface.
            "ProtocolConfigView" => "RpcProtocolConfigResponse",
            // The package has an error of this name.
            "StorageError" => "NodeStorageError",
            name => name,
        }),
        _ => None,
    }
}

impl Writer {
    /// A module without declarations; `is_versioned` is whether only those members can be absent
    /// that some protocol versions do not have
    pub(crate) fn new(module: &'static str, is_versioned: bool) -> Self {
        let (text, used, fractions) = Default::default();
        Self { text, used, fractions, module, is_versioned }
    }

    /// Declares a type with a name, and all types in it that are in no module yet
    pub(crate) fn declare(&mut self, schema: &'static Schema, modules: &mut Modules) {
        let name = name_of(schema).expect("only types with a name are declared");
        let (docs, declaration) = match schema {
            Schema::Object { docs, members: [], .. } => {
                (docs, format!("export type {name} = Record<string, never>;\n"))
            }
            Schema::Object { docs, members, .. } if members.iter().all(is_cost) => {
                self.used.insert("NearGas");
                (docs, format!("export type {name} = Record<string, NearGas>;\n"))
            }
            Schema::Object { docs, members, .. } => {
                (docs, format!("export interface {name} {}\n", self.body(members, "")))
            }
            Schema::Enum { docs, variants, .. } => (docs, self.union(name, variants)),
            _ => unreachable!("a structure or enumeration"),
        };
        self.text += &format!("\n{}{declaration}", comment(docs, ""));
        for child in children(schema) {
            self.declare_new(child, modules);
        }
    }

    /// Declares the types in this one, or it, that are in no module yet
    fn declare_new(&mut self, schema: &'static Schema, modules: &mut Modules) {
        match name_of(schema) {
            Some(name) if modules.contains_key(name) => {}
            Some(name) => {
                modules.insert(name, self.module);
                self.declare(schema, modules);
            }
            None => children(schema).iter().for_each(|child| self.declare_new(child, modules)),
        }
    }

    /// The declaration of an enumeration
    fn union(&mut self, name: &str, variants: &[Variant]) -> String {
        let words = variants.iter().filter(|variant| variant.schema.is_none());
        let mut alternatives: Vec<String> =
            words.map(|word| format!("\"{}\"", word.name)).collect();
        let has_words = !alternatives.is_empty();
        let indent = if has_words { "    " } else { "" };
        let inner = format!("{indent}  ");
        let mut members = String::new();
        for Variant { name, docs, schema, .. } in variants {
            let Some(schema) = schema else { continue };
            let start = format!("{inner}{name}: ");
            let value = match schema {
                Schema::Object { docs: "", members, .. } => {
                    self.variant_body(&start, members, &inner)
                }
                _ => self.type_of(schema),
            };
            members += &format!("{}{start}{value};\n", comment(docs, &inner));
        }
        if !members.is_empty() {
            self.used.insert("OneOf");
            alternatives.push(format!("OneOf<{{\n{members}{indent}}}>"));
        } else if self.is_versioned {
            // Any text is allowed; editors propose these.
            alternatives.push("(string & {})".to_owned());
        }
        let line = format!("export type {name} = {};\n", alternatives.join(" | "));
        if !has_words || members.is_empty() && line.len() <= MAX_COLUMNS {
            return line;
        }
        format!("export type {name} =\n  | {};\n", alternatives.join("\n  | "))
    }

    /// An object with these members, from its brace on
    fn body(&mut self, members: &[Member], indent: &str) -> String {
        let inner = format!("{indent}  ");
        let mut text = "{\n".to_owned();
        for member in members {
            let line = self.member(member);
            text += &format!("{}{inner}{line}\n", comment(member.docs, &inner));
        }
        text + indent + "}"
    }

    /// The body of a variant after this start of a line; on one line, without docs, if it fits
    fn variant_body(&mut self, start: &str, members: &[Member], indent: &str) -> String {
        let parts: Vec<String> = members.iter().map(|member| self.member(member)).collect();
        let docs: Vec<String> = members.iter().map(|member| comment(member.docs, "")).collect();
        let with_docs =
            docs.iter().zip(&parts).map(|(docs, part)| format!("{} {part}", docs.trim_end()));
        for parts in [with_docs.collect(), parts.clone()] {
            let line = format!("{{ {} }}", parts.join(" ").trim_end_matches(';'));
            if start.len() + line.len() < MAX_COLUMNS {
                return line;
            }
        }
        self.body(members, indent)
    }

    /// The name and type of a member
    fn member(&mut self, member: &Member) -> String {
        let (name, schema) = (member.name(), member.schema);
        if matches!(schema, Schema::Scalar(ScalarSchema::Fraction)) {
            self.fractions.insert(name);
        }
        let is_nullable = matches!(schema, Schema::Nullable(_));
        let can_be_absent =
            if self.is_versioned && !is_nullable { member.versioned } else { !member.required };
        let mark = if can_be_absent { "?" } else { "" };
        let mut value = self.type_of(schema);
        // The schema does not have names of integers.
        if member.rust_type.contains("ShardId") {
            self.used.insert("ShardId");
            value = value.replace("Uint64", "ShardId");
        }
        format!("{name}{mark}: {value};")
    }

    /// A type where it is used
    fn type_of(&mut self, schema: &Schema) -> String {
        match schema {
            Schema::Text { expected, .. } => self.text_name(expected),
            Schema::Scalar(scalar) => self.scalar(scalar),
            Schema::Nullable(inner) => format!("{} | null", self.type_of(inner)),
            Schema::Array(inner) => match self.type_of(inner) {
                union if union.contains(" | ") => format!("({union})[]"),
                item => format!("{item}[]"),
            },
            Schema::IntegerKeys(inner) => format!("Record<string, {}>", self.type_of(inner)),
            Schema::Pair([one, other]) => {
                format!("[{}, {}]", self.type_of(one), self.type_of(other))
            }
            Schema::Object { .. } | Schema::Enum { .. } => {
                let name = name_of(schema).expect("only variants have objects without a name");
                self.used.insert(name);
                name.to_owned()
            }
        }
    }

    /// The name of a scalar that is a text, by the expected value in its errors
    fn text_name(&mut self, expected: &str) -> String {
        let names = [
            (AccountId::EXPECTED, "AccountId"),
            (Balance::EXPECTED, "NearToken"),
            (Bytes::EXPECTED, "Base64"),
            (CryptoHash::EXPECTED, "CryptoHash"),
            (PublicKey::EXPECTED, "PublicKey"),
            (Signature::EXPECTED, "Signature"),
        ];
        let (_, name) = names.iter().find(|(text, _)| *text == expected).expect("a known scalar");
        self.used.insert(name);
        (*name).to_owned()
    }

    fn scalar(&mut self, scalar: &ScalarSchema) -> String {
        let name = match scalar {
            ScalarSchema::String => return "string".to_owned(),
            ScalarSchema::Bool => return "boolean".to_owned(),
            ScalarSchema::U8
            | ScalarSchema::U16
            | ScalarSchema::U32
            | ScalarSchema::I32
            | ScalarSchema::Fraction => return "number".to_owned(),
            ScalarSchema::StateInitData => {
                self.used.insert("Base64");
                return "Record<Base64, Base64>".to_owned();
            }
            ScalarSchema::U64 => "Uint64",
            ScalarSchema::Gas => "NearGas",
            ScalarSchema::GasText => "GasText",
            ScalarSchema::Rational => "Rational",
            ScalarSchema::Identifier => "GlobalContractIdentifier",
        };
        self.used.insert(name);
        name.to_owned()
    }
}

/// Whether a member is gas that may be absent; an object of these has costs by name
fn is_cost(member: &Member) -> bool {
    !member.required && matches!(member.schema, Schema::Scalar(ScalarSchema::Gas))
}

/// The schemas in this one
fn children(schema: &Schema) -> Vec<&'static Schema> {
    match schema {
        Schema::Text { .. } | Schema::Scalar(_) => Vec::new(),
        Schema::Nullable(inner) | Schema::Array(inner) | Schema::IntegerKeys(inner) => vec![inner],
        Schema::Pair(schemas) => schemas.to_vec(),
        Schema::Object { members, .. } => members.iter().map(|member| member.schema).collect(),
        Schema::Enum { variants, .. } => {
            variants.iter().filter_map(|variant| variant.schema).collect()
        }
    }
}

/// The first paragraph of docs, on one line
pub(crate) fn first_paragraph(docs: &str) -> String {
    let paragraph = docs.lines().map(str::trim).take_while(|line| !line.is_empty());
    paragraph.collect::<Vec<_>>().join(" ").replace("`None`", "`null`")
}

/// The comment with the first paragraph of the docs
fn comment(docs: &str, indent: &str) -> String {
    let text = first_paragraph(docs);
    let mut comment = format!("{indent}/**");
    let mut columns = comment.len();
    // The end of the comment is a word, which is not alone on a line.
    for word in format!("{text}\u{a0}*/").split(' ') {
        if columns + 1 + word.chars().count() > MAX_COLUMNS {
            comment += &format!("\n{indent} * ");
            columns = indent.len() + 3;
        }
        comment += &format!(" {word}");
        columns += 1 + word.chars().count();
    }
    comment.replace('\u{a0}', " ") + "\n"
}
