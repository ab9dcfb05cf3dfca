//! The proof that crates need no `std`: they are built for a target that has none.
//!
//! Which crates these are, their manifests say by the category `no-std`.

use crate::packages::Packages;
use crate::shell::{cargo, run};
use crate::toolchain::{Toolchain, Wanted};

/// A target without an operating system and without `std`
pub(crate) const TARGET: &str = "wasm32v1-none";

/// Builds the crates without `std`, with their default features and without
pub(crate) fn build() -> Result<(), String> {
    let toolchain = Toolchain::find(Wanted::Library(TARGET))?;
    let packages = Packages::read()?.no_std_arguments()?;
    for features in ["", "--no-default-features"] {
        let mut command = cargo(&format!("build {packages} --target {TARGET} {features}"));
        toolchain.prepare(&mut command, "core,alloc");
        if toolchain == Toolchain::Debian {
            command.arg("--target-dir");
            command.arg(crate::shell::target()?.join(toolchain.target_name()));
        }
        run(&mut command)?;
    }
    Ok(())
}
