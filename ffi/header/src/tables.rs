//! What the hostile programs in C call: every function, with what is known of its parameters.
//!
//! The programs know how each kind of parameter can be wrong; the tables say which function has
//! which. So a new function is tried as soon as it is there, and one with a parameter of no known
//! kind is refused.

use crate::{Function, Kind, Parameter};

/// A signed transfer of a test network
pub const TRANSACTION: &str = concat!(
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2",
    "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03",
    "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
);

/// What is known of one parameter, in the words of the programs
struct Known {
    what: &'static str,
    handle: String,
    /// The size of what is written, in C
    size: String,
}

/// The name of a handle in the programs: `ENGINE` of `milepost_engine`
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

fn known(parameter: &Parameter) -> Option<Known> {
    let plain = |what| Some(Known { what, handle: "NO_HANDLE".into(), size: "0".into() });
    let name = &parameter.name;
    let pointer = match parameter.kind.as_str() {
        "*const u8" => return plain("BYTES"),
        "*const milepost_row" => return plain("ROWS"),
        "*const milepost_hash" => return plain("HASH"),
        "*const milepost_storage" => return plain("STORAGE"),
        "*mut milepost_sink" => return plain("SINK"),
        "milepost_make_fn" => return plain("MAKER"),
        "*mut c_void" => return plain("CONTEXT"),
        "usize" if name.ends_with("_len") => return plain("LENGTH"),
        "usize" if name == "index" => return plain("INDEX"),
        "u64" | "u32" => return plain("NUMBER"),
        "milepost_setting_t" | "milepost_resume_t" => return plain("CHOICE"),
        pointer => pointer,
    };
    if let Some(handle) = pointer.strip_prefix("*mut *mut ").and_then(handle) {
        return Some(Known { what: "OUT_HANDLE", handle, size: "sizeof(void *)".into() });
    }
    let used = pointer.strip_prefix("*const ").or_else(|| pointer.strip_prefix("*mut "));
    if let Some(handle) = used.and_then(handle) {
        return Some(Known { what: "HANDLE", handle, size: "0".into() });
    }
    let size = format!("sizeof({})", in_c(pointer.strip_prefix("*mut ")?)?);
    Some(Known { what: "OUT", handle: "NO_HANDLE".into(), size })
}

/// A type of Rust, in C
fn in_c(kind: &str) -> Option<String> {
    if let Some(inner) = kind.strip_prefix("*const ") {
        return Some(format!("const {} *", in_c(inner)?));
    }
    if let Some(inner) = kind.strip_prefix("*mut ") {
        return Some(format!("{} *", in_c(inner)?));
    }
    let name = match kind {
        "c_void" => "void",
        "u8" => "uint8_t",
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        ours if ours.starts_with("milepost_") => ours,
        _ => return None,
    };
    Some(name.to_owned())
}

/// The tables that the programs include
///
/// `checked` says whether the library tells handles that were freed.
///
/// # Errors
///
/// A parameter or a handle of no known kind: whoever adds one says here how it is tried.
pub fn tables(functions: &[Function], checked: bool) -> Result<String, String> {
    let mut tables = Tables::default();
    for function in functions {
        match function.kind {
            Kind::Constant => {}
            Kind::Free => tables.free(function)?,
            Kind::Ordinary | Kind::Callback => tables.call(function)?,
        }
    }
    let Tables { adapters, calls, freeings } = tables;
    let checked = i32::from(checked);
    Ok(format!(
        "#define CHECKED {checked}\n#define TRANSACTION_BASE64 \"{TRANSACTION}\"\n\n{adapters}\n\
         static const function FUNCTIONS[] = {{\n{calls}}};\n\n\
         static const freeing FREEINGS[] = {{\n{freeings}}};\n"
    ))
}

#[derive(Default)]
struct Tables {
    /// What makes each function one of a few forms
    adapters: String,
    calls: String,
    freeings: String,
}

impl Tables {
    fn free(&mut self, function: &Function) -> Result<(), String> {
        let name = &function.name;
        let freed = function.parameters.first().and_then(|it| it.kind.strip_prefix("*mut "));
        let kind = freed.ok_or_else(|| format!("{name} frees nothing"))?;
        let handle = handle(kind).ok_or_else(|| format!("{kind} is no known handle"))?;
        self.adapters +=
            &format!("static void free_{name}(void *it) {{ {name}(({kind} *)it); }}\n");
        self.freeings += &format!("    {{\"{name}\", {handle}, free_{name}}},\n");
        Ok(())
    }

    fn call(&mut self, function: &Function) -> Result<(), String> {
        let name = &function.name;
        let mut arguments = Vec::new();
        self.adapters += &format!("static const parameter PARAMETERS_{name}[] = {{\n");
        for (place, parameter) in function.parameters.iter().enumerate() {
            let stranger = || format!("{name}({}) is of no known kind", parameter.name);
            let Known { what, handle, size } = known(parameter).ok_or_else(stranger)?;
            let kind = in_c(&parameter.kind).ok_or_else(stranger)?;
            let member = match what {
                "MAKER" => "make",
                _ if kind.ends_with('*') => "pointer",
                _ => "number",
            };
            arguments.push(format!("({kind})slots[{place}].{member}"));
            let (parameter, optional) = (&parameter.name, i32::from(parameter.optional));
            self.adapters +=
                &format!("    {{\"{parameter}\", {what}, {handle}, {optional}, {size}}},\n");
        }
        let (arguments, len) = (arguments.join(", "), function.parameters.len());
        self.adapters += &format!(
            "}};\nstatic milepost_status_t call_{name}(const slot *slots) {{ return {name}({arguments}); }}\n"
        );
        let callback = i32::from(function.kind == Kind::Callback);
        self.calls +=
            &format!("    {{\"{name}\", call_{name}, PARAMETERS_{name}, {len}, {callback}}},\n");
        Ok(())
    }
}
