//! Gives the shared library its name, which programs ask for: a new one whenever the interface may have changed.
//!
//! Before version 1.0 that is every minor version, as `docs/C-API.md` says.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(name).unwrap_or_default();
    let (major, minor) = (part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
    let version = if major == "0" { format!("0.{minor}") } else { major };
    // Where libraries are ELF files; elsewhere their names are the installer's to give.
    if ["linux", "android", "freebsd", "netbsd", "openbsd"]
        .contains(&part("CARGO_CFG_TARGET_OS").as_str())
    {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmilepost.so.{version}");
    }
}
