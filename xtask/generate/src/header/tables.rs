//! Tables for the adversarial C programs: every function, with the form of each parameter.
//!
//! The programs know how a parameter of each form can be wrong; the tables list which function has
//! which. So a new function is tested as soon as it exists, and one with a parameter of an unknown
//! form is an error.

use super::{Function, Kind, Parameter};

/// A signed transfer of a test network
pub const TRANSACTION: &str = concat!(
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2",
    "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03",
    "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
);

/// A proof of no outcome, whose one header has zeros only
pub const PROOF: &str = concat!(
    r#"{"transaction_hash":"11111111111111111111111111111111","#,
    r#""block_hash":"GDWDcUvyMhfDhpaWFACcQhsLia3TqR4ugNnE7iiA7LXP","outcomes":[],"#,
    r#""headers":[{"prev_block_hash":"11111111111111111111111111111111","#,
    r#""inner_rest_hash":"11111111111111111111111111111111","inner_lite":{"height":0,"#,
    r#""epoch_id":"11111111111111111111111111111111","#,
    r#""next_epoch_id":"11111111111111111111111111111111","#,
    r#""prev_state_root":"11111111111111111111111111111111","#,
    r#""outcome_root":"11111111111111111111111111111111","timestamp_nanosec":"0","#,
    r#""next_bp_hash":"11111111111111111111111111111111","#,
    r#""block_merkle_root":"11111111111111111111111111111111"}}]}"#
);

/// The block of that header
pub const PROOF_BLOCK: &str = "GDWDcUvyMhfDhpaWFACcQhsLia3TqR4ugNnE7iiA7LXP";

/// Form of a parameter, in the constants of the programs
struct Form {
    name: &'static str,
    handle: String,
    /// Size of what is written, as a C expression
    size: String,
}

/// Constant of a handle type in the programs: `ENGINE` for `milepost_engine`
fn handle_constant(type_name: &str) -> Option<String> {
    const HANDLES: [&str; 12] = [
        "archive_status",
        "chain_status",
        "endpoint",
        "engine",
        "error",
        "import_summary",
        "json",
        "message_builder",
        "request",
        "response",
        "settings",
        "transaction",
    ];
    let name = type_name.strip_prefix("milepost_")?;
    HANDLES.contains(&name).then(|| name.to_uppercase())
}

fn form(parameter: &Parameter) -> Option<Form> {
    let plain = |name| Some(Form { name, handle: "NO_HANDLE".into(), size: "0".into() });
    let name = &parameter.name;
    let pointer = match parameter.type_name.as_str() {
        "*const u8" => return plain("BYTES"),
        "*const milepost_row" => return plain("ROWS"),
        "*const milepost_hash" => return plain("HASH"),
        "*const milepost_storage" => return plain("STORAGE"),
        "*const milepost_archive" => return plain("ARCHIVE"),
        "*mut milepost_sink" => return plain("SINK"),
        "milepost_create_fn" => return plain("FACTORY"),
        "milepost_archive_create_fn" => return plain("ARCHIVE_FACTORY"),
        "*mut c_void" => return plain("CONTEXT"),
        "usize" if name.ends_with("_len") => return plain("LENGTH"),
        "usize" if name == "index" => return plain("INDEX"),
        "i32" | "u64" | "u32" | "milepost_milestone_t" => return plain("NUMBER"),
        "milepost_setting_t" | "milepost_response_kind_t" => return plain("CHOICE"),
        pointer => pointer,
    };
    if let Some(handle) = pointer.strip_prefix("*mut *mut ").and_then(handle_constant) {
        return Some(Form { name: "OUTPUT_HANDLE", handle, size: "sizeof(void *)".into() });
    }
    let target = pointer.strip_prefix("*const ").or_else(|| pointer.strip_prefix("*mut "));
    if let Some(handle) = target.and_then(handle_constant) {
        return Some(Form { name: "HANDLE", handle, size: "0".into() });
    }
    let target = pointer.strip_prefix("*mut ")?;
    let name = if is_sized(target) { "SIZED_OUTPUT" } else { "OUTPUT" };
    let size = format!("sizeof({})", c_type(target)?);
    Some(Form { name, handle: "NO_HANDLE".into(), size })
}

/// Whether a structure may grow: its first member is the size that the caller knows
fn is_sized(type_name: &str) -> bool {
    const SIZED: [&str; 7] = [
        "milepost_call",
        "milepost_type_mismatches",
        "milepost_outcome",
        "milepost_output",
        "milepost_rpc_error",
        "milepost_transaction_status",
        "milepost_verification",
    ];
    type_name.ends_with("_view") || SIZED.contains(&type_name)
}

/// Translates a Rust type to C
fn c_type(type_name: &str) -> Option<String> {
    if let Some(inner) = type_name.strip_prefix("*const ") {
        return Some(format!("const {} *", c_type(inner)?));
    }
    if let Some(inner) = type_name.strip_prefix("*mut ") {
        return Some(format!("{} *", c_type(inner)?));
    }
    let name = match type_name {
        "c_void" => "void",
        "u8" => "uint8_t",
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        exported if exported.starts_with("milepost_") => exported,
        _ => return None,
    };
    Some(name.to_owned())
}

/// Generates the tables that the programs include
///
/// `checked` is whether the library detects freed handles.
///
/// # Errors
///
/// A parameter or a handle of an unknown form: this module has to learn how to test it.
pub fn tables(functions: &[Function], checked: bool) -> Result<String, String> {
    let mut tables = Tables::default();
    for function in functions {
        match function.kind {
            Kind::Constant => {}
            Kind::Free => tables.add_destructor(function)?,
            Kind::Ordinary | Kind::Callback => tables.add_function(function)?,
        }
    }
    let Tables { adapters, functions, destructors } = tables;
    let checked = i32::from(checked);
    Ok(format!(
        "#define CHECKED {checked}\n#define TRANSACTION_BASE64 \"{TRANSACTION}\"\n\
         #define PROOF {PROOF:?}\n#define PROOF_BLOCK \"{PROOF_BLOCK}\"\n\n{adapters}\n\
         static const function FUNCTIONS[] = {{\n{functions}}};\n\n\
         static const destructor DESTRUCTORS[] = {{\n{destructors}}};\n"
    ))
}

#[derive(Default)]
struct Tables {
    /// Wrappers that give all functions one signature
    adapters: String,
    functions: String,
    destructors: String,
}

impl Tables {
    fn add_destructor(&mut self, function: &Function) -> Result<(), String> {
        let name = &function.name;
        let freed = function.parameters.first();
        let freed = freed.and_then(|parameter| parameter.type_name.strip_prefix("*mut "));
        let freed = freed.ok_or_else(|| format!("{name} does not take a handle"))?;
        let handle = handle_constant(freed).ok_or_else(|| format!("unknown handle {freed}"))?;
        self.adapters +=
            &format!("static void free_{name}(void *handle) {{ {name}(({freed} *)handle); }}\n");
        self.destructors += &format!("    {{\"{name}\", {handle}, free_{name}}},\n");
        Ok(())
    }

    fn add_function(&mut self, function: &Function) -> Result<(), String> {
        let name = &function.name;
        let mut arguments = Vec::new();
        self.adapters += &format!("static const parameter PARAMETERS_{name}[] = {{\n");
        for (index, parameter) in function.parameters.iter().enumerate() {
            let unknown = || format!("{name}: parameter {} has an unknown form", parameter.name);
            let Form { name: form, handle, size } = form(parameter).ok_or_else(unknown)?;
            let c_type = c_type(&parameter.type_name).ok_or_else(unknown)?;
            let member = match form {
                "FACTORY" => "create",
                "ARCHIVE_FACTORY" => "create_archive",
                _ if c_type.ends_with('*') => "pointer",
                _ => "number",
            };
            arguments.push(format!("({c_type})arguments[{index}].{member}"));
            let (parameter, optional) = (&parameter.name, i32::from(parameter.optional));
            self.adapters +=
                &format!("    {{\"{parameter}\", {form}, {handle}, {optional}, {size}}},\n");
        }
        let (arguments, len) = (arguments.join(", "), function.parameters.len());
        self.adapters += &format!(
            "}};\nstatic milepost_status_t call_{name}(const argument *arguments) {{ \
             return {name}({arguments}); }}\n"
        );
        let callback = i32::from(function.kind == Kind::Callback);
        self.functions +=
            &format!("    {{\"{name}\", call_{name}, PARAMETERS_{name}, {len}, {callback}}},\n");
        Ok(())
    }
}
