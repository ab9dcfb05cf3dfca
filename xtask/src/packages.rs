//! The packages of the workspace: which owns a file, and which depend on which.
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
    /// Folders of packages that it depends on, also for its tests and its build script
    dependencies: Vec<String>,
    /// Whether it may be published
    is_published: bool,
}

/// All packages of the workspace
#[derive(Debug)]
pub(crate) struct Packages(Vec<Package>);

impl Packages {
    /// Asks cargo for the packages
    pub(crate) fn read() -> Result<Self, String> {
        let metadata = output(&mut cargo("metadata --no-deps --format-version 1"))?;
        Self::parse(&metadata, &root())
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
            let paths = package["dependencies"].as_array()?.iter();
            let paths = paths.filter_map(|it| folder(Path::new(it["path"].as_str()?)));
            Some(Package {
                name: package["name"].as_str()?.to_owned(),
                folder: folder(manifest.parent()?)?,
                dependencies: paths.collect(),
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

    /// The names of all packages
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.0.iter().map(|package| &package.name[..]).collect()
    }

    /// The names of those that are published
    pub(crate) fn published(&self) -> BTreeSet<&str> {
        let published = self.0.iter().filter(|package| package.is_published);
        published.map(|package| &package.name[..]).collect()
    }

    /// These packages and all that depend on one of them, directly or not
    pub(crate) fn with_dependents<'packages>(
        &'packages self,
        names: &BTreeSet<&'packages str>,
    ) -> BTreeSet<&'packages str> {
        let mut found = names.clone();
        loop {
            let before = found.len();
            let folders: Vec<&String> = self
                .0
                .iter()
                .filter(|package| found.contains(&package.name[..]))
                .map(|package| &package.folder)
                .collect();
            let uses = |package: &&Package| {
                package.dependencies.iter().any(|folder| folders.contains(&folder))
            };
            let new: Vec<&str> =
                self.0.iter().filter(uses).map(|package| &package.name[..]).collect();
            found.extend(new);
            if found.len() == before {
                return found;
            }
        }
    }

    /// `-p NAME` for every package whose library is built without `std`
    pub(crate) fn no_std_arguments(&self) -> Result<String, String> {
        let is_no_std = |package: &&Package| {
            let library = root().join(&package.folder).join("src/lib.rs");
            let text = fs::read_to_string(library).unwrap_or_default();
            text.lines().any(|line| line == "#![no_std]")
        };
        let names: BTreeSet<&str> =
            self.0.iter().filter(is_no_std).map(|package| &package.name[..]).collect();
        if names.is_empty() {
            Err("no crate has `#![no_std]`".into())
        } else {
            Ok(arguments(&names))
        }
    }
}

/// `-p NAME` for each of these
pub(crate) fn arguments(names: &BTreeSet<&str>) -> String {
    names.iter().map(|name| format!("-p {name}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const METADATA: &str = r#"{"packages": [
        {"name": "engine", "manifest_path": "/r/core/Cargo.toml", "dependencies": [
            {"name": "serde", "path": null, "kind": null},
            {"name": "chain", "path": "/r/chain", "kind": "dev"}]},
        {"name": "chain", "manifest_path": "/r/chain/Cargo.toml", "dependencies": [
            {"name": "engine", "path": "/r/core", "kind": null}]},
        {"name": "server", "manifest_path": "/r/server/Cargo.toml", "dependencies": [
            {"name": "store", "path": "/r/store"}]},
        {"name": "store", "manifest_path": "/r/store/Cargo.toml", "dependencies": [
            {"name": "engine", "path": "/r/core"}]},
        {"name": "tests", "manifest_path": "/r/tests/Cargo.toml", "dependencies": []},
        {"name": "seeds", "manifest_path": "/r/tests/seeds/Cargo.toml", "dependencies": [],
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
    fn dependents_are_found_over_any_number_of_arrows() {
        let packages = packages();
        let of = |name: &'static str| packages.with_dependents(&BTreeSet::from([name]));
        assert_eq!(of("server"), BTreeSet::from(["server"]));
        assert_eq!(of("store"), BTreeSet::from(["server", "store"]));
        // The dependency of its tests makes a circle.
        assert_eq!(of("chain"), BTreeSet::from(["chain", "engine", "server", "store"]));
        assert_eq!(arguments(&of("store")), "-p server -p store");
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
        assert!(packages.no_std_arguments().unwrap().contains("-p milepost"));
        let on_the_engine = packages.with_dependents(&BTreeSet::from(["milepost"]));
        assert!(on_the_engine.contains("milepost-server"), "{on_the_engine:?}");
    }
}
