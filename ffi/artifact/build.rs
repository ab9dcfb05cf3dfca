//! Sets the soname of the shared library: a new one whenever the interface may have changed.
//!
//! Before version 1.0 that is every minor version, as `docs/C-API.md` states.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let major = variable("CARGO_PKG_VERSION_MAJOR");
    let minor = variable("CARGO_PKG_VERSION_MINOR");
    let version = if major == "0" { format!("0.{minor}") } else { major };
    // Only ELF libraries have a soname.
    if ["linux", "android", "freebsd", "netbsd", "openbsd"]
        .contains(&variable("CARGO_CFG_TARGET_OS").as_str())
    {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmilepost.so.{version}");
    }
}
