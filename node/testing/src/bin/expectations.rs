//! Writes the vectors that hold on any chain into the program, or checks that they are there:
//! `expectations write|check`.

#![expect(unused_crate_dependencies, reason = "those of the library")]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use milepost_tests::declare::Declarations;

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("server");
    let file = folder.join("src/conformance/expectations.json");
    let expectations = Declarations::new().expectations();
    let result = match env::args().nth(1).as_deref() {
        Some("write") => fs::write(&file, expectations).map_err(|error| error.to_string()),
        Some("check") => match fs::read_to_string(&file) {
            Ok(text) if text == expectations => Ok(()),
            Ok(_) => Err("differs from the declarations; run `cargo xtask vectors`".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        _ => Err("usage: expectations write|check".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}
