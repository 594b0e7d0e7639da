//! The output of `cargo metadata`, parsed into a small graph.
//!
//! The graph has packages, and edges for normal, build and test dependencies. The checks take it as
//! an argument, so that their tests can pass an artificial one.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::workspace;

/// The target for which edges are resolved, which is that of CI.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Whether a dependency is needed to run, to build or to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

/// A dependency as a package's `Cargo.toml` declares it, by package name.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
    /// It is there only with a feature of the package.
    pub(crate) optional: bool,
}

/// A resolved dependency, with target and features applied.
#[derive(Debug)]
pub(crate) struct Edge {
    /// The package it leads to: a key of [`Metadata::packages`].
    pub(crate) to: String,
    pub(crate) kind: DependencyKind,
}

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The folder that contains `Cargo.toml`.
    pub(crate) directory: PathBuf,
    /// True for a package of this workspace.
    pub(crate) member: bool,
    /// The native library that the package declares with `links`, if any.
    pub(crate) links: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) edges: Vec<Edge>,
}

impl Package {
    /// The name of the package's folder, which is the name of the crate in the map.
    pub(crate) fn folder(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The graph of packages, keyed by cargo's package id.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// The folder that cargo builds into.
    pub(crate) target: PathBuf,
    pub(crate) packages: BTreeMap<String, Package>,
}

/// The packages reachable from one package, each with its predecessor on a shortest path.
pub(crate) struct Closure {
    came_from: BTreeMap<String, Option<String>>,
}

impl Metadata {
    /// Runs `cargo metadata`. Fails if cargo fails or if its output has an unexpected form.
    pub(crate) fn load() -> Result<Metadata, String> {
        let arguments = ["metadata", "--format-version", "1", "--filter-platform", TARGET];
        let output = workspace::cargo(&arguments)
            .output()
            .map_err(|error| format!("cargo metadata did not start: {error}"))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("cargo metadata failed: {}", stderr.trim()));
        }
        let value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
        Metadata::parse(&value)
            .ok_or_else(|| "cargo metadata printed an unexpected form of JSON".to_owned())
    }

    fn parse(value: &Value) -> Option<Metadata> {
        let members: Vec<&str> = strings(value.get("workspace_members")?)?;
        let mut packages = BTreeMap::new();
        for package in value.get("packages")?.as_array()? {
            let id = package.get("id")?.as_str()?;
            packages.insert(id.to_owned(), parse_package(package, members.contains(&id))?);
        }
        for node in value.get("resolve")?.get("nodes")?.as_array()? {
            let package = packages.get_mut(node.get("id")?.as_str()?)?;
            package.edges = parse_edges(node)?;
        }
        let target = PathBuf::from(value.get("target_directory")?.as_str()?);
        Some(Metadata { target, packages })
    }

    /// The workspace's own packages, sorted by folder name.
    pub(crate) fn members(&self) -> Vec<(&str, &Package)> {
        let mut members: Vec<(&str, &Package)> = self
            .packages
            .iter()
            .filter(|(_, package)| package.member)
            .map(|(id, package)| (id.as_str(), package))
            .collect();
        members.sort_by_key(|(_, package)| package.folder());
        members
    }

    pub(crate) fn member_in(&self, folder: &str) -> Option<(&str, &Package)> {
        self.members().into_iter().find(|(_, package)| package.folder() == folder)
    }

    /// All packages that are compiled for `from`, itself included, without test dependencies.
    pub(crate) fn closure(&self, from: &str) -> Closure {
        self.closure_around(from, "")
    }

    /// [`closure`](Self::closure) without what is only there for the package `avoided`, and without
    /// that.
    pub(crate) fn closure_around(&self, from: &str, avoided: &str) -> Closure {
        let mut came_from = BTreeMap::from([(from.to_owned(), None)]);
        let mut queue = VecDeque::from([from.to_owned()]);
        while let Some(id) = queue.pop_front() {
            let Some(package) = self.packages.get(&id) else {
                continue;
            };
            for edge in package.edges.iter().filter(|edge| edge.kind != DependencyKind::Dev) {
                let is_avoided =
                    self.packages.get(&edge.to).is_some_and(|package| package.name == avoided);
                if !is_avoided && !came_from.contains_key(&edge.to) {
                    came_from.insert(edge.to.clone(), Some(id.clone()));
                    queue.push_back(edge.to.clone());
                }
            }
        }
        Closure { came_from }
    }

    /// The path to `to` as package names, for error messages: `net -> tokio -> mio`.
    pub(crate) fn path_to(&self, closure: &Closure, to: &str) -> String {
        let mut names = Vec::new();
        let mut at = Some(to);
        while let Some(id) = at {
            names.push(self.packages.get(id).map_or(id, |package| package.name.as_str()));
            at = closure.came_from.get(id).and_then(Option::as_deref);
        }
        names.reverse();
        names.join(" -> ")
    }
}

impl Closure {
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.came_from.keys().map(String::as_str)
    }
}

fn parse_package(value: &Value, member: bool) -> Option<Package> {
    let manifest = Path::new(value.get("manifest_path")?.as_str()?);
    let mut dependencies = Vec::new();
    for entry in value.get("dependencies")?.as_array()? {
        let name = entry.get("name")?.as_str()?.to_owned();
        let optional = entry.get("optional").and_then(Value::as_bool).unwrap_or_default();
        dependencies.push(Dependency { name, kind: parse_kind(entry.get("kind")?)?, optional });
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    Some(Package {
        name: text("name")?.to_owned(),
        description: text("description").unwrap_or_default().to_owned(),
        directory: manifest.parent()?.to_path_buf(),
        member,
        links: text("links").map(str::to_owned),
        dependencies,
        edges: Vec::new(),
    })
}

fn parse_edges(node: &Value) -> Option<Vec<Edge>> {
    let mut edges = Vec::new();
    for dependency in node.get("deps")?.as_array()? {
        let to = dependency.get("pkg")?.as_str()?;
        for entry in dependency.get("dep_kinds")?.as_array()? {
            edges.push(Edge { to: to.to_owned(), kind: parse_kind(entry.get("kind")?)? });
        }
    }
    Some(edges)
}

fn parse_kind(value: &Value) -> Option<DependencyKind> {
    match value.as_str() {
        None => Some(DependencyKind::Normal),
        Some("build") => Some(DependencyKind::Build),
        Some("dev") => Some(DependencyKind::Dev),
        Some(_) => None,
    }
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Artificial workspaces for the tests of the checks.
#[cfg(test)]
pub(crate) mod made_up {
    use super::*;

    impl Metadata {
        /// Adds a member in `crates/FOLDER` with these dependencies. Ids are names here.
        pub(crate) fn with_member(
            self,
            folder: &str,
            needs: &[(&str, DependencyKind)],
        ) -> Metadata {
            self.with(folder, true, needs)
        }

        /// Adds a crate from a registry.
        pub(crate) fn with_foreign(self, name: &str, needs: &[(&str, DependencyKind)]) -> Metadata {
            self.with(name, false, needs)
        }

        pub(crate) fn with_links(mut self, name: &str, library: &str) -> Metadata {
            let package = self.packages.get_mut(name).expect("added before");
            package.links = Some(library.to_owned());
            self
        }

        /// Puts a dependency of `name` behind a feature.
        pub(crate) fn with_optional(mut self, name: &str, needed: &str) -> Metadata {
            let package = self.packages.get_mut(name).expect("added before");
            for dependency in package.dependencies.iter_mut().filter(|one| one.name == needed) {
                dependency.optional = true;
            }
            self
        }

        fn with(mut self, name: &str, member: bool, needs: &[(&str, DependencyKind)]) -> Metadata {
            let dependency = |&(name, kind): &(&str, DependencyKind)| Dependency {
                name: name.into(),
                kind,
                optional: false,
            };
            let edge = |&(to, kind): &(&str, DependencyKind)| Edge { to: to.into(), kind };
            let package = Package {
                name: name.to_owned(),
                description: format!("What {name} is."),
                directory: Path::new("crates").join(name),
                member,
                links: None,
                dependencies: needs.iter().map(dependency).collect(),
                edges: needs.iter().map(edge).collect(),
            };
            self.packages.insert(name.to_owned(), package);
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_cargo_is_parsed_into_packages_and_edges() {
        let value = serde_json::json!({
            "target_directory": "/w/target",
            "workspace_members": ["a 1"],
            "packages": [
                { "id": "a 1", "name": "a", "description": "first", "links": null,
                  "manifest_path": "/w/crates/alpha/Cargo.toml",
                  "dependencies": [{ "name": "b", "kind": "dev" }] },
                { "id": "b 1", "name": "b", "description": null, "links": "z",
                  "manifest_path": "/r/b/Cargo.toml", "dependencies": [] },
            ],
            "resolve": { "nodes": [
                { "id": "a 1", "deps": [
                    { "pkg": "b 1", "dep_kinds": [{ "kind": null }, { "kind": "dev" }] }] },
                { "id": "b 1", "deps": [] },
            ] },
        });
        let metadata = Metadata::parse(&value).unwrap();
        let (id, a) = metadata.member_in("alpha").unwrap();
        assert_eq!((id, a.dependencies[0].kind), ("a 1", DependencyKind::Dev));
        assert_eq!(
            a.edges.iter().map(|edge| edge.kind).collect::<Vec<_>>(),
            [DependencyKind::Normal, DependencyKind::Dev]
        );
        assert_eq!(metadata.packages["b 1"].links.as_deref(), Some("z"));
        assert_eq!(metadata.members().len(), 1);
    }

    #[test]
    fn output_of_another_form_is_refused() {
        assert!(Metadata::parse(&serde_json::json!({ "packages": [] })).is_none());
    }

    #[test]
    fn a_closure_follows_build_edges_but_not_test_edges() {
        let metadata = Metadata::default()
            .with_member("a", &[("b", DependencyKind::Normal), ("t", DependencyKind::Dev)])
            .with_foreign("b", &[("c", DependencyKind::Build)])
            .with_foreign("c", &[])
            .with_foreign("t", &[]);
        let closure = metadata.closure("a");
        assert_eq!(closure.ids().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(metadata.path_to(&closure, "c"), "a -> b -> c");
    }
}
