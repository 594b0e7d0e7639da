//! Checks that no crate of the product compiles or links C.
//!
//! A machine with only a Rust toolchain must be able to build wigwag. A package with a native library
//! declares it with `links`, or calls one of the known helper crates from its build script. Neither
//! may occur among the dependencies of any crate of the workspace, except test dependencies, and
//! except ring, which has the cryptography of TLS: the command has it and so does the lab, which is a
//! part of it, and each library only behind a feature, so that no program gets it without asking for it.

use std::collections::BTreeMap;

use crate::metadata::{DependencyKind, Metadata, Package};

/// Crates whose purpose is to compile, find or bind native code.
const HELPERS: &[&str] =
    &["autotools", "bindgen", "cc", "cmake", "cxx-build", "nasm-rs", "pkg-config", "vcpkg"];

/// The one package that may compile C.
const PERMITTED: &str = "ring";

/// The crates that may need it always: the command, and the lab, which is built into nothing else.
const COMMAND_CRATES: &[&str] = &["wigwag-cli", "wigwag-lab"];

/// Each package that would need a C toolchain, with a dependency path to it.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    let mut faults = BTreeMap::new();
    for (from, _) in metadata.members() {
        let closure = metadata.closure_around(from, PERMITTED);
        for id in closure.ids() {
            let Some(package) = metadata.packages.get(id) else {
                continue;
            };
            let path = || metadata.path_to(&closure, id);
            if let Some(library) = &package.links {
                let fault = || format!("`{}` links `{library}`: {}", package.name, path());
                faults.entry(id.to_owned()).or_insert_with(fault);
            } else if HELPERS.contains(&package.name.as_str()) {
                let fault = || format!("`{}` compiles or finds C: {}", package.name, path());
                faults.entry(id.to_owned()).or_insert_with(fault);
            }
        }
    }
    let mut faults: Vec<String> = faults.into_values().collect();
    faults.extend(unasked(metadata));
    faults
}

/// Each library that needs the permitted package without a feature for it.
fn unasked(metadata: &Metadata) -> Vec<String> {
    let mut faults = Vec::new();
    for (_, member) in metadata.members() {
        let needs = member.dependencies.iter().filter(|needed| {
            needed.kind != DependencyKind::Dev
                && !needed.optional
                && !COMMAND_CRATES.contains(&member.name.as_str())
        });
        for needed in needs {
            let of_name = |package: &&Package| package.name == needed.name && !package.member;
            let Some(id) = metadata.packages.iter().find(|(_, package)| of_name(package)) else {
                continue;
            };
            let closure = metadata.closure(id.0);
            let is_permitted = |id: &str| {
                metadata.packages.get(id).is_some_and(|package| package.name == PERMITTED)
            };
            if closure.ids().any(is_permitted) {
                let (ours, theirs) = (&member.name, &needed.name);
                faults.push(format!(
                    "`{ours}` needs `{theirs}`, which compiles C by way of `{PERMITTED}`: make it optional"
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the workspace itself.
    #[test]
    fn no_crate_of_the_product_compiles_or_links_c() {
        assert_eq!(faults(&Metadata::load().unwrap()), [""; 0]);
    }

    #[test]
    fn a_package_that_links_a_library_is_reported_once_with_the_path_to_it() {
        let metadata = Metadata::default()
            .with_member("net", &[("tls", DependencyKind::Normal)])
            .with_member("node", &[("net", DependencyKind::Normal)])
            .with_foreign("tls", &[])
            .with_links("tls", "ssl");
        assert_eq!(faults(&metadata), ["`tls` links `ssl`: net -> tls"]);
    }

    #[test]
    fn a_build_script_with_a_c_compiler_is_reported() {
        let metadata = Metadata::default()
            .with_member("net", &[("nettle", DependencyKind::Normal)])
            .with_foreign("nettle", &[("cc", DependencyKind::Build)])
            .with_foreign("cc", &[]);
        assert_eq!(faults(&metadata), ["`cc` compiles or finds C: net -> nettle -> cc"]);
    }

    /// The feature is on in the graph, as in the workspace, where the command asks for it.
    #[test]
    fn only_the_command_and_a_feature_may_need_the_permitted_package() {
        let workspace = || {
            Metadata::default()
                .with_foreign("rustls", &[("ring", DependencyKind::Normal)])
                .with_foreign("ring", &[("cc", DependencyKind::Build)])
                .with_foreign("cc", &[])
                .with_links("ring", "ring_core")
                .with_member("wigwag-cli", &[("rustls", DependencyKind::Normal)])
                .with_member("net", &[("rustls", DependencyKind::Normal)])
        };
        let needs = "`net` needs `rustls`, which compiles C by way of `ring`: make it optional";
        assert_eq!(faults(&workspace()), [needs]);
        assert_eq!(faults(&workspace().with_optional("net", "rustls")), [""; 0]);
        let other = workspace()
            .with_optional("net", "rustls")
            .with_member("wire", &[("cc", DependencyKind::Build)]);
        assert_eq!(faults(&other), ["`cc` compiles or finds C: wire -> cc"]);
    }

    #[test]
    fn a_compiler_that_only_tests_need_is_not_a_fault() {
        let metadata = Metadata::default()
            .with_member("net", &[("yardstick", DependencyKind::Dev)])
            .with_foreign("yardstick", &[("cc", DependencyKind::Build)])
            .with_foreign("cc", &[]);
        assert_eq!(faults(&metadata), [""; 0]);
    }
}
