//! The sources of the interface: what in them is for C.
//!
//! A file contributes its public types and constants that are named for C, and the functions in its
//! `ffi_function!`s. Tests, and the room of the boundary itself, contribute nothing.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{
    Attribute, Expr, FnArg, Item, Lit, Meta, Pat, ReturnType, TraitItemFn, Type, Visibility,
};

/// What a function is, as its macro has it
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Returns a status; not to be called inside a callback
    Ordinary,
    /// Returns a status; may be called inside a callback
    Callback,
    /// Frees its handle
    Free,
    /// Takes nothing and returns a value
    Constant,
}

/// A parameter of a function
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name
    pub name: String,
    /// Its type in Rust, without spaces but those between words: `*const milepost_engine`
    pub kind: String,
    /// Whether it may be NULL
    pub optional: bool,
}

/// A function of the interface
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Function {
    /// Its name
    pub name: String,
    /// What it is
    pub kind: Kind,
    /// Its parameters
    pub parameters: Vec<Parameter>,
    /// Its signature and its comment, as plain Rust
    plain: String,
}

/// The sources of the interface
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source {
    /// The functions, by file and then by place
    pub functions: Vec<Function>,
    /// Types and constants, as plain Rust
    items: Vec<String>,
}

impl Source {
    /// All of it as plain Rust, for cbindgen
    pub(crate) fn plain(&self) -> String {
        let functions = self.functions.iter().map(|function| function.plain.as_str());
        let items = self.items.iter().map(String::as_str);
        items.chain(functions).collect::<Vec<_>>().join("\n")
    }
}

/// Reads the sources below this root of the repository
///
/// # Errors
///
/// A file that cannot be read, or whose form is not that of the interface.
pub fn read(root: &Path) -> Result<Source, String> {
    let mut source = Source { functions: Vec::new(), items: Vec::new() };
    for path in files(&root.join("ffi/src"))? {
        let told = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| told(&error))?;
        let file = syn::parse_file(&text).map_err(|error| told(&error))?;
        for item in file.items {
            source.take(item).map_err(|error| told(&error))?;
        }
    }
    Ok(source)
}

/// The files, in an order that does not depend on the machine
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.is_dir() {
            if !path.ends_with("boundary") {
                files.extend(self::files(&path)?);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Source {
    fn take(&mut self, item: Item) -> syn::Result<()> {
        let public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
        let ours = |name: &syn::Ident| name.to_string().to_lowercase().starts_with("milepost_");
        match item {
            Item::Macro(item) if item.mac.path.is_ident("ffi_function") => {
                self.functions.push(function(item.mac.tokens)?);
            }
            Item::Struct(mut item) if public(&item.vis) && ours(&item.ident) => {
                item.attrs.retain(|attribute| {
                    attribute.path().is_ident("doc") || attribute.path().is_ident("repr")
                });
                self.items.push(item.into_token_stream().to_string());
            }
            Item::Type(item) if public(&item.vis) && ours(&item.ident) => {
                self.items.push(item.into_token_stream().to_string());
            }
            Item::Const(item) if public(&item.vis) && ours(&item.ident) => {
                self.items.push(item.into_token_stream().to_string());
            }
            _ => {}
        }
        Ok(())
    }
}

fn function(tokens: TokenStream) -> syn::Result<Function> {
    let mut tokens = tokens.into_iter().peekable();
    let mut mark = None;
    if matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '@') {
        tokens.next();
        mark = tokens.next().map(|word| word.to_string());
    }
    let declared: TraitItemFn = syn::parse2(tokens.collect())?;
    let signature = &declared.sig;
    let kind = match (mark.as_deref(), &signature.output) {
        (Some("callback"), _) => Kind::Callback,
        (Some("constant"), _) => Kind::Constant,
        (None, ReturnType::Default) => Kind::Free,
        (None, ReturnType::Type(..)) => Kind::Ordinary,
        (Some(unknown), _) => {
            let sentence = format!("a function is not marked by @{unknown}");
            return Err(syn::Error::new_spanned(signature, sentence));
        }
    };
    let parameters = signature.inputs.iter().map(parameter).collect::<syn::Result<Vec<_>>>()?;
    let name = signature.ident.clone();
    let mut lines: Vec<String> = declared.attrs.iter().filter_map(doc).collect();
    lines.extend(
        owed(kind, &parameters).into_iter().flat_map(|line| [String::new(), format!(" {line}")]),
    );
    let arguments = signature.inputs.iter().map(|argument| {
        let mut argument = argument.clone();
        if let FnArg::Typed(typed) = &mut argument {
            typed.attrs.clear();
        }
        argument
    });
    let output = &signature.output;
    let plain = quote! {
        #(#[doc = #lines])*
        #[unsafe(no_mangle)]
        pub extern "C" fn #name(#(#arguments),*) #output {}
    };
    Ok(Function { name: name.to_string(), kind, parameters, plain: plain.to_string() })
}

fn parameter(argument: &FnArg) -> syn::Result<Parameter> {
    let FnArg::Typed(typed) = argument else {
        return Err(syn::Error::new_spanned(argument, "no function has a `self`"));
    };
    let Pat::Ident(name) = &*typed.pat else {
        return Err(syn::Error::new_spanned(argument, "a parameter has a name"));
    };
    Ok(Parameter {
        name: name.ident.to_string(),
        kind: text(&typed.ty),
        optional: typed.attrs.iter().any(|mark| mark.path().is_ident("optional")),
    })
}

fn text(kind: &Type) -> String {
    match kind {
        Type::Ptr(pointer) => {
            let how = if pointer.mutability.is_some() { "mut" } else { "const" };
            format!("*{how} {}", text(&pointer.elem))
        }
        other => other.to_token_stream().to_string().replace(' ', ""),
    }
}

/// What the comment of every function says, from its parameters
fn owed(kind: Kind, parameters: &[Parameter]) -> Vec<String> {
    let mut owed = Vec::new();
    let receiver = parameters.first().filter(|first| is_handle(&first.kind));
    match (kind, receiver) {
        (Kind::Free, _) => owed.push("NULL is left alone, as is a handle that is in use.".into()),
        (Kind::Callback, _) => owed.push("Threads: that of the callback.".into()),
        (Kind::Ordinary, Some(first)) if first.kind.starts_with("*const") && !first.optional => {
            owed.push("Threads: any number at a time.".into());
        }
        (Kind::Ordinary, Some(first)) if !first.optional => {
            owed.push(format!("Threads: one at a time for each `{}`.", first.name));
        }
        (Kind::Ordinary, _) => owed.push("Threads: any number at a time.".into()),
        (Kind::Constant, _) => {}
    }
    let given: Vec<String> = parameters
        .iter()
        .filter_map(|parameter| {
            let handle = parameter.kind.strip_prefix("*mut *mut ")?;
            (handle != "milepost_error").then(|| format!("`{}` by `{handle}_free`", parameter.name))
        })
        .collect();
    if !given.is_empty() {
        owed.push(format!("To be freed: {}.", given.join(", ")));
    }
    let optional: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.optional)
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    if !optional.is_empty() {
        owed.push(format!("May be NULL: {}.", optional.join(", ")));
    }
    owed
}

/// Whether a parameter of this type is a handle that is used: one pointer to a type of ours
fn is_handle(kind: &str) -> bool {
    let pointed_to = kind.strip_prefix("*const ").or_else(|| kind.strip_prefix("*mut "));
    pointed_to.is_some_and(|name| {
        const PLAIN: [&str; 3] = ["milepost_hash", "milepost_storage", "milepost_sink"];
        name.starts_with("milepost_") && !PLAIN.contains(&name)
    })
}

fn doc(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    match &literal.lit {
        Lit::Str(line) if pair.path.is_ident("doc") => Some(line.value()),
        _ => None,
    }
}
