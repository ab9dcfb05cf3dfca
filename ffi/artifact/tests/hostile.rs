//! Everything wrong that C can do to the interface, at every function.
//!
//! What there is to call is written from the sources of the library, so a new function is tried as
//! soon as it is there, and one whose parameters are of no known kind fails the test.

mod c;

use core::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use milepost_header::{Function, Kind, Parameter, read};
use milepost_tests::vectors;

/// A signed transfer of a test network
const TRANSACTION: &str = concat!(
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2",
    "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03",
    "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
);

/// The vector whose scene is played over a storage that misbehaves
const VECTOR: &str = "wait-reached-final";

/// The name of a handle in the program: `ENGINE` of `milepost_engine`
fn handle(kind: &str) -> Option<String> {
    const HANDLES: [&str; 10] = [
        "answer",
        "desk",
        "engine",
        "error",
        "exchange",
        "ingest",
        "ingested",
        "message",
        "settings",
        "transaction",
    ];
    let name = kind.strip_prefix("milepost_")?;
    HANDLES.contains(&name).then(|| name.to_uppercase())
}

/// What kind of parameter it is, which handle, and the size of what it writes, in C
fn classify(function: &Function, place: usize) -> (&'static str, String, String) {
    let Parameter { name, kind, .. } = &function.parameters[place];
    let none = || ("NO_HANDLE".to_owned(), "0".to_owned());
    let (what, (handle, size)) = match kind.as_str() {
        "*const u8" => ("BYTES", none()),
        "*const milepost_row" => ("ROWS", none()),
        "*const milepost_hash" => ("HASH", none()),
        "*const milepost_storage" => ("STORAGE", none()),
        "*mut milepost_sink" => ("SINK", none()),
        "milepost_make_fn" => ("MAKER", none()),
        "*mut c_void" => ("CONTEXT", none()),
        "usize" if name.ends_with("_len") => ("LENGTH", none()),
        "usize" if name == "index" => ("INDEX", none()),
        "u64" | "u32" => ("NUMBER", none()),
        "milepost_setting_t" | "milepost_resume_t" => ("CHOICE", none()),
        pointer => {
            let out = pointer.strip_prefix("*mut *mut ").and_then(handle);
            let used = pointer.strip_prefix("*const ").or_else(|| pointer.strip_prefix("*mut "));
            match (out, used.and_then(handle), pointer.strip_prefix("*mut ")) {
                (Some(handle), ..) => ("OUT_HANDLE", (handle, "sizeof(void *)".into())),
                (None, Some(handle), _) => ("HANDLE", (handle, "0".into())),
                (None, None, Some(plain)) => {
                    ("OUT", ("NO_HANDLE".into(), format!("sizeof({})", in_c(plain))))
                }
                _ => panic!("{}({name}: {kind}) is of no known kind", function.name),
            }
        }
    };
    (what, handle, size)
}

/// A type of Rust, in C
fn in_c(kind: &str) -> String {
    if let Some(inner) = kind.strip_prefix("*const ") {
        return format!("const {} *", in_c(inner));
    }
    if let Some(inner) = kind.strip_prefix("*mut ") {
        return format!("{} *", in_c(inner));
    }
    match kind {
        "c_void" => "void",
        "u8" => "uint8_t",
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        ours if ours.starts_with("milepost_") => ours,
        unknown => panic!("{unknown} is no type of the interface"),
    }
    .to_owned()
}

/// The tables that the program includes
fn tables(functions: &[Function]) -> String {
    let mut adapters = String::new();
    let mut table = String::from("static const function FUNCTIONS[] = {\n");
    let mut freeings = String::from("static const freeing FREEINGS[] = {\n");
    let put = |text: &mut String, line: core::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a string takes all");
    };
    for function in functions {
        let name = &function.name;
        match function.kind {
            Kind::Constant => {}
            Kind::Free => {
                let kind = function.parameters[0].kind.strip_prefix("*mut ").expect("a handle");
                let handle = handle(kind).unwrap_or_else(|| panic!("{kind} is no known handle"));
                put(
                    &mut adapters,
                    format_args!("static void free_{name}(void *it) {{ {name}(({kind} *)it); }}"),
                );
                put(&mut freeings, format_args!("    {{\"{name}\", {handle}, free_{name}}},"));
            }
            Kind::Ordinary | Kind::Callback => {
                let mut arguments = Vec::new();
                put(&mut adapters, format_args!("static const parameter PARAMETERS_{name}[] = {{"));
                for (place, parameter) in function.parameters.iter().enumerate() {
                    let (what, handle, size) = classify(function, place);
                    let (kind, optional) = (in_c(&parameter.kind), i32::from(parameter.optional));
                    let member = match what {
                        "MAKER" => "make",
                        _ if kind.ends_with('*') => "pointer",
                        _ => "number",
                    };
                    arguments.push(format!("({kind})slots[{place}].{member}"));
                    let parameter = &parameter.name;
                    put(
                        &mut adapters,
                        format_args!(
                            "    {{\"{parameter}\", {what}, {handle}, {optional}, {size}}},"
                        ),
                    );
                }
                let (arguments, len) = (arguments.join(", "), function.parameters.len());
                put(&mut adapters, format_args!("}};"));
                put(
                    &mut adapters,
                    format_args!(
                        "static milepost_status_t call_{name}(const slot *slots) {{ return {name}({arguments}); }}"
                    ),
                );
                let callback = i32::from(function.kind == Kind::Callback);
                put(
                    &mut table,
                    format_args!(
                        "    {{\"{name}\", call_{name}, PARAMETERS_{name}, {len}, {callback}}},"
                    ),
                );
            }
            other => panic!("{name}: {other:?} is of no known kind"),
        }
    }
    let checked = i32::from(cfg!(debug_assertions));
    format!(
        "#define CHECKED {checked}\n#define TRANSACTION_BASE64 \"{TRANSACTION}\"\n\n\
         {adapters}\n{table}}};\n\n{freeings}}};\n"
    )
}

/// Runs a program; what it counted
fn attack(program: &str, arguments: &[PathBuf]) -> Vec<usize> {
    let directory = tempfile::tempdir().expect("a place for the program");
    let source = read(&c::root()).expect("the sources can be read");
    write(&directory.path().join("functions.inc"), &tables(&source.functions));
    let source = c::root().join("tests/c").join(program);
    let program = c::program(&source, directory.path());
    let output = c::run(Command::new(program).args(arguments));
    println!("{output}");
    let last = output.lines().last().expect("a line that sums up");
    last.split(' ').filter_map(|word| word.parse().ok()).collect()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn every_wrong_call_is_told_by_a_status() {
    let functions = read(&c::root()).expect("the sources can be read").functions;
    let called = |function: &&Function| !matches!(function.kind, Kind::Free | Kind::Constant);
    let [calls, wrong, tried] = attack("hostile.c", &[])[..] else {
        panic!("three numbers are counted")
    };
    assert_eq!((wrong, tried), (0, functions.iter().filter(called).count()));
    assert!(calls > 1_000, "only {calls} calls were made");
}

#[test]
fn a_storage_may_misbehave_at_any_call() {
    // A transaction whose receipts make others, until all is final.
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == VECTOR).expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let directory = tempfile::tempdir().expect("a place for the request");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let arguments: Vec<PathBuf> = [request].into_iter().chain(scene.blocks.clone()).collect();
    let [calls, wrong, places] = attack("storms.c", &arguments)[..] else {
        panic!("three numbers are counted")
    };
    assert_eq!(wrong, 0);
    assert!(calls > 100 && places > 8, "{calls} calls at {places} places were tried");
}

#[test]
#[should_panic(expected = "is of no known kind")]
fn a_parameter_that_nobody_knows_fails() {
    let mut functions = read(&c::root()).expect("the sources can be read").functions;
    functions[0].parameters[0].kind = "*const milepost_stranger".into();
    tables(&functions);
}
