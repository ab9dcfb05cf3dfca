//! The packages of the workspace: which owns a file, and which features each has.
//!
//! Read from `cargo metadata`, so that a folder that moves or is added needs no change here. Leaves
//! out packages of other people and the workspace of the node's crates.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::shell::{cargo, output, root};

/// A package of the workspace
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its folder from the root of the repository, with a slash at the end
    folder: String,
    /// Features, without the default ones and those that need `std`
    features: Vec<String>,
    /// Whether it may be published
    is_published: bool,
}

/// The feature whose dependency has no form without `std`
const NEEDS_STD: &str = "simd-base64";

/// All packages of the workspace
#[derive(Debug)]
pub(crate) struct Packages(Vec<Package>);

impl Packages {
    /// Asks cargo for the packages
    pub(crate) fn read() -> Result<Self, String> {
        let metadata = output(&mut cargo("metadata --no-deps --format-version 1"))?;
        Self::parse(&metadata, root())
    }

    /// Reads what `cargo metadata` prints of a workspace in the folder `root`
    fn parse(metadata: &str, root: &Path) -> Result<Self, String> {
        let metadata: Value = serde_json::from_str(metadata)
            .map_err(|error| format!("the output of `cargo metadata`: {error}"))?;
        let folder = |path: &Path| {
            let inside = path.strip_prefix(root).ok()?.to_str()?;
            Some(format!("{}/", inside.replace('\\', "/")))
        };
        let package = |package: &Value| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            let features = package["features"].as_object()?.keys();
            let is_single = |name: &&String| !["default", NEEDS_STD].contains(&&name[..]);
            Some(Package {
                name: package["name"].as_str()?.to_owned(),
                folder: folder(manifest.parent()?)?,
                features: features.filter(is_single).cloned().collect(),
                // What is not published may go into an empty list of registries.
                is_published: package["publish"].is_null(),
            })
        };
        let packages = metadata["packages"].as_array().map(|all| all.iter().map(package));
        let packages: Option<Vec<Package>> = packages.and_then(Iterator::collect);
        packages
            .map(Self)
            .ok_or_else(|| "`cargo metadata` prints no packages below here".to_owned())
    }

    /// The package that a file belongs to: the one with the deepest folder around it
    pub(crate) fn owner(&self, file: &str) -> Option<&Package> {
        let around = self.0.iter().filter(|package| file.starts_with(&package.folder));
        around.max_by_key(|package| package.folder.len())
    }

    /// The names of those that are published
    pub(crate) fn published(&self) -> BTreeSet<&str> {
        let published = self.0.iter().filter(|package| package.is_published);
        published.map(|package| &package.name[..]).collect()
    }

    /// The engine: packages whose library is built without `std`, each with its features
    ///
    /// # Errors
    ///
    /// When there is no such package.
    pub(crate) fn no_std(&self) -> Result<Vec<(&str, Vec<&str>)>, String> {
        let is_no_std = |package: &&Package| {
            let library = root().join(&package.folder).join("src/lib.rs");
            let text = fs::read_to_string(library).unwrap_or_default();
            text.lines().any(|line| line == "#![no_std]")
        };
        let found: Vec<_> = self
            .0
            .iter()
            .filter(is_no_std)
            .map(|package| {
                (&package.name[..], package.features.iter().map(String::as_str).collect())
            })
            .collect();
        if found.is_empty() { Err("no crate has `#![no_std]`".into()) } else { Ok(found) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [
        {"name": "engine", "manifest_path": "/r/core/Cargo.toml",
            "features": {"default": ["a"], "a": [], "simd-base64": []}},
        {"name": "server", "manifest_path": "/r/node/server/Cargo.toml", "features": {}},
        {"name": "tests", "manifest_path": "/r/tests/Cargo.toml", "features": {}},
        {"name": "seeds", "manifest_path": "/r/tests/seeds/Cargo.toml", "features": {},
            "publish": []}
    ]}"#;

    pub(crate) fn packages() -> Packages {
        Packages::parse(METADATA, Path::new("/r")).unwrap()
    }

    #[test]
    fn a_file_belongs_to_the_deepest_package_around_it() {
        let packages = packages();
        let owner = |file| packages.owner(file).map(|package| &package.name[..]);
        assert_eq!(owner("tests/seeds/src/lib.rs"), Some("seeds"));
        assert_eq!(owner("tests/vectors/manifest.json"), Some("tests"));
        assert_eq!(owner("core/Cargo.toml"), Some("engine"));
        assert_eq!((owner("README.md"), owner("corelib/a.rs")), (None, None));
    }

    #[test]
    fn features_that_are_checked_by_themselves_need_no_std() {
        assert_eq!(packages().0[0].features, ["a"]);
    }

    #[test]
    fn what_has_no_registry_is_not_published() {
        let packages = packages();
        assert!(packages.published().contains("tests"));
        assert!(!packages.published().contains("seeds"));
    }

    #[test]
    fn other_output_is_an_error() {
        for text in ["", "{}", r#"{"packages": [{"name": "a"}]}"#] {
            assert!(Packages::parse(text, Path::new("/r")).is_err(), "{text}");
        }
        // A package outside of the root is none of the repository.
        assert!(Packages::parse(METADATA, Path::new("/other")).is_err());
    }

    #[test]
    fn the_packages_of_this_repository_are_found() {
        let packages = Packages::read().unwrap();
        let own = packages.owner("xtask/src/main.rs").unwrap();
        assert_eq!(own.name, "xtask");
        let engine = packages.no_std().unwrap();
        let (_, features) = engine.iter().find(|(name, _)| *name == "milepost").unwrap();
        assert!(features.contains(&"archive"), "{features:?}");
    }
}
