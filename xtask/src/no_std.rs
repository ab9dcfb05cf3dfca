//! The proof that the engine needs no `std`: it is built for a target that has none.

use crate::shell::{cargo, run};
use crate::toolchain::{Toolchain, Wanted};

/// A target without an operating system and without `std`
const TARGET: &str = "wasm32v1-none";

/// Builds the engine without `std`, with its default features and without
pub(crate) fn build() -> Result<(), String> {
    let toolchain = Toolchain::find(Wanted::Library(TARGET))?;
    for features in ["", "--no-default-features"] {
        let mut command = cargo(&format!("build -p milepost --target {TARGET} {features}"));
        toolchain.prepare(&mut command, "core,alloc");
        if toolchain == Toolchain::Debian {
            command.arg("--target-dir").arg(format!("target/{}", toolchain.target_name()));
        }
        run(&mut command)?;
    }
    Ok(())
}
