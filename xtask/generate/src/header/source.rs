//! Parser of the interface's sources.
//!
//! A file contributes its public types and constants whose names start with `milepost_`, and the
//! functions in its `ffi_function!` invocations. Tests and the module `boundary` contribute
//! nothing.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{
    Attribute, Expr, FnArg, Item, Lit, Meta, Pat, ReturnType, TraitItemFn, Type, Visibility,
};

/// Kind of a function
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Returns a status; must not be called inside a callback
    Ordinary,
    /// Returns a status; may be called inside a callback
    Callback,
    /// Frees its handle
    Free,
    /// Takes no parameters and returns a value
    Constant,
}

/// A parameter of a function
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name
    pub name: String,
    /// Its type in Rust, with single spaces between words: `*const milepost_engine`
    pub type_name: String,
    /// Whether it may be NULL
    pub optional: bool,
}

/// A function of the interface
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Function {
    /// Its name
    pub name: String,
    /// Its kind
    pub kind: Kind,
    /// Its parameters
    pub parameters: Vec<Parameter>,
    /// Its signature and its doc comment, as plain Rust
    plain: String,
}

/// The sources of the interface
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source {
    /// The functions, by file and then by position
    pub functions: Vec<Function>,
    /// Types and constants, as plain Rust
    items: Vec<String>,
}

impl Source {
    /// Everything as plain Rust, for cbindgen
    pub(crate) fn plain(&self) -> String {
        let functions = self.functions.iter().map(|function| function.plain.as_str());
        let items = self.items.iter().map(String::as_str);
        items.chain(functions).collect::<Vec<_>>().join("\n")
    }
}

/// Parses the sources below this root of the repository
///
/// # Errors
///
/// A file that cannot be read or parsed.
pub fn read(root: &Path) -> Result<Source, String> {
    let mut source = Source { functions: Vec::new(), items: Vec::new() };
    for path in files(&root.join("ffi/src"))? {
        let located = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| located(&error))?;
        let file = syn::parse_file(&text).map_err(|error| located(&error))?;
        for item in file.items {
            source.add(item).map_err(|error| located(&error))?;
        }
    }
    Ok(source)
}

/// The source files, sorted by path
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let located = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(located)? {
        let path = entry.map_err(located)?.path();
        if path.is_dir() {
            if !path.ends_with("boundary") {
                files.extend(self::files(&path)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Source {
    fn add(&mut self, item: Item) -> syn::Result<()> {
        let is_public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
        let is_exported =
            |name: &syn::Ident| name.to_string().to_lowercase().starts_with("milepost_");
        match item {
            Item::Macro(item) if item.mac.path.is_ident("ffi_function") => {
                self.functions.push(function(item.mac.tokens)?);
            }
            Item::Struct(mut item) if is_public(&item.vis) && is_exported(&item.ident) => {
                item.attrs.retain(|attribute| {
                    attribute.path().is_ident("doc") || attribute.path().is_ident("repr")
                });
                self.items.push(item.into_token_stream().to_string());
            }
            Item::Type(item) if is_public(&item.vis) && is_exported(&item.ident) => {
                self.items.push(item.into_token_stream().to_string());
            }
            Item::Const(item) if is_public(&item.vis) && is_exported(&item.ident) => {
                self.items.push(item.into_token_stream().to_string());
            }
            _ => {}
        }
        Ok(())
    }
}

fn function(tokens: TokenStream) -> syn::Result<Function> {
    let mut tokens = tokens.into_iter().peekable();
    let mut marker = None;
    if matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '@') {
        tokens.next();
        marker = tokens.next().map(|word| word.to_string());
    }
    let declared: TraitItemFn = syn::parse2(tokens.collect())?;
    let signature = &declared.sig;
    let kind = match (marker.as_deref(), &signature.output) {
        (Some("callback"), _) => Kind::Callback,
        (Some("constant"), _) => Kind::Constant,
        (None, ReturnType::Default) => Kind::Free,
        (None, ReturnType::Type(..)) => Kind::Ordinary,
        (Some(unknown), _) => {
            let message = format!("unknown marker @{unknown}");
            return Err(syn::Error::new_spanned(signature, message));
        }
    };
    let parameters = signature.inputs.iter().map(parameter).collect::<syn::Result<Vec<_>>>()?;
    let name = signature.ident.clone();
    let mut lines: Vec<String> = declared.attrs.iter().filter_map(doc).collect();
    lines.extend(
        contract(kind, &parameters)
            .into_iter()
            .flat_map(|line| [String::new(), format!(" {line}")]),
    );
    let arguments = signature.inputs.iter().map(|argument| {
        let mut argument = argument.clone();
        if let FnArg::Typed(typed) = &mut argument {
            typed.attrs.clear();
        }
        argument
    });
    let output = &signature.output;
    // A callback that gives its rows or its reason to the wrong sink fails anyway.
    let must_use = (kind == Kind::Ordinary).then(|| quote!(#[must_use]));
    if kind != Kind::Free {
        lines.extend(required_pointers(&parameters));
    }
    let plain = quote! {
        #(#[doc = #lines])*
        #must_use
        #[no_mangle]
        pub extern "C" fn #name(#(#arguments),*) #output {}
    };
    Ok(Function { name: name.to_string(), kind, parameters, plain: plain.to_string() })
}

fn parameter(argument: &FnArg) -> syn::Result<Parameter> {
    let FnArg::Typed(typed) = argument else {
        return Err(syn::Error::new_spanned(argument, "a function has no `self`"));
    };
    let Pat::Ident(name) = &*typed.pat else {
        return Err(syn::Error::new_spanned(argument, "a parameter needs a name"));
    };
    Ok(Parameter {
        name: name.ident.to_string(),
        type_name: type_name(&typed.ty),
        optional: typed.attrs.iter().any(|attribute| attribute.path().is_ident("optional")),
    })
}

fn type_name(parameter: &Type) -> String {
    match parameter {
        Type::Ptr(pointer) => {
            let mutability = if pointer.mutability.is_some() { "mut" } else { "const" };
            format!("*{mutability} {}", type_name(&pointer.elem))
        }
        other => other.to_token_stream().to_string().replace(' ', ""),
    }
}

/// The annotation for cbindgen that lists the pointers that may not be NULL, by their position
///
/// Bytes may be NULL with length 0, and what a context is, only the host knows.
fn required_pointers(parameters: &[Parameter]) -> Option<String> {
    let is_required = |index: usize, parameter: &Parameter| {
        let name = format!("{}_len", parameter.name);
        let has_length = parameters.get(index + 1).is_some_and(|next| next.name == name);
        let is_pointer =
            parameter.type_name.starts_with('*') || parameter.type_name.ends_with("_fn");
        is_pointer && !parameter.optional && !has_length && parameter.type_name != "*mut c_void"
    };
    let required = parameters.iter().enumerate();
    let required = required.filter(|(index, parameter)| is_required(*index, parameter));
    let positions: Vec<String> = required.map(|(index, _)| (index + 1).to_string()).collect();
    let positions = positions.join(", ");
    (!positions.is_empty()).then(|| format!(" cbindgen:postfix=MILEPOST_NONNULL({positions})"))
}

/// Sentences for the doc comment of a function, from its parameters
fn contract(kind: Kind, parameters: &[Parameter]) -> Vec<String> {
    let mut sentences = Vec::new();
    let receiver = parameters.first().filter(|first| is_handle(&first.type_name));
    match (kind, receiver) {
        (Kind::Free, _) => {
            sentences.push("Does nothing for NULL, and for a handle that is in use.".into())
        }
        (Kind::Callback, _) => sentences.push("Threads: the thread of the callback only.".into()),
        (Kind::Ordinary, Some(first))
            if first.type_name.starts_with("*const") && !first.optional =>
        {
            sentences.push("Threads: any number concurrently.".into());
        }
        (Kind::Ordinary, Some(first)) if !first.optional => {
            sentences.push(format!("Threads: one at a time for each `{}`.", first.name));
        }
        (Kind::Ordinary, _) => sentences.push("Threads: any number concurrently.".into()),
        (Kind::Constant, _) => {}
    }
    let created: Vec<String> = parameters
        .iter()
        .filter_map(|parameter| {
            let handle = parameter.type_name.strip_prefix("*mut *mut ")?;
            (handle != "milepost_error").then(|| format!("`{}` by `{handle}_free`", parameter.name))
        })
        .collect();
    if !created.is_empty() {
        sentences.push(format!("To free: {}.", created.join(", ")));
    }
    let optional: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.optional)
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    if !optional.is_empty() {
        sentences.push(format!("May be NULL: {}.", optional.join(", ")));
    }
    sentences
}

/// Whether a parameter of this type is an input handle: one pointer to an opaque type
fn is_handle(type_name: &str) -> bool {
    let target = type_name.strip_prefix("*const ").or_else(|| type_name.strip_prefix("*mut "));
    target.is_some_and(|name| {
        const PLAIN: [&str; 4] =
            ["milepost_archive", "milepost_hash", "milepost_storage", "milepost_sink"];
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
