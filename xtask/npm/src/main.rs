//! Makes the JavaScript glue of the npm package: `xtask-npm <module.wasm> <directory>`.
//!
//! Writes `module.wasm` without the sections that only wasm-bindgen reads, `glue.js`, and
//! `glue.d.ts` with its types. Glue has one instance in its variables; that of the target without
//! modules is a script, so it is put into a function, and each call of that makes another instance.
//! A crate of its own, because it takes a minute to build and most commands of `xtask` do not need
//! it. Leaves out optimising and bundling, which `bindings/js/build.js` does.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use wasm_bindgen_cli_support::Bindgen;

/// What the glue's script leaves its exports in
const GLOBAL: &str = "milepost";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [module, directory] => make(Path::new(module), Path::new(directory)),
        _ => Err("usage: xtask-npm <module.wasm> <directory>".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("xtask-npm: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn make(module: &Path, directory: &Path) -> Result<(), String> {
    let mut output = Bindgen::new()
        .input_path(module)
        .no_modules(true)
        .and_then(|bindgen| bindgen.no_modules_global(GLOBAL))
        .and_then(|bindgen| {
            bindgen.typescript(true).omit_default_module_path(true).generate_output()
        })
        .map_err(|error| format!("{}: {error:#}", module.display()))?;
    if output.snippets().values().any(|inline| !inline.is_empty())
        || !output.local_modules().is_empty()
    {
        return Err(format!("{}: brings JavaScript of its own", module.display()));
    }
    let glue = function(output.js());
    let types = declaration(output.ts().ok_or("no declarations")?);
    let wasm = output.wasm_mut().emit_wasm();
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for (name, bytes) in
        [("glue.js", glue.as_bytes()), ("glue.d.ts", types.as_bytes()), ("module.wasm", &wasm)]
    {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The glue's script as a function that gives out new glue with each call
fn function(script: &str) -> String {
    format!(
        "// Made by wasm-bindgen; every call gives glue for another instance.\n\
         export function glue() {{\n{script}\nreturn {GLOBAL};\n}}\n"
    )
}

/// The declarations of the script as those of its function
fn declaration(types: &str) -> String {
    format!(
        "// Made by wasm-bindgen, with the glue.\n\
         {types}\nexport function glue(): typeof {GLOBAL};\n"
    )
}
