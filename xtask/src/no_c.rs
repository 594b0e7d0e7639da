//! Checks that no crate of the product compiles or links C.
//!
//! A machine with only a Rust toolchain must be able to build wigwag. A package with a native library
//! declares it with `links`, or calls one of the known helper crates from its build script. Neither
//! may occur among the dependencies of any crate of the workspace, except test dependencies.

use std::collections::BTreeMap;

use crate::metadata::Metadata;

/// Crates whose purpose is to compile, find or bind native code.
const HELPERS: &[&str] =
    &["autotools", "bindgen", "cc", "cmake", "cxx-build", "nasm-rs", "pkg-config", "vcpkg"];

/// Each package that would need a C toolchain, with a dependency path to it.
pub(crate) fn faults(metadata: &Metadata) -> Vec<String> {
    let mut faults = BTreeMap::new();
    for (from, _) in metadata.members() {
        let closure = metadata.closure(from);
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
    faults.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::DependencyKind;

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
            .with_member("net", &[("ring", DependencyKind::Normal)])
            .with_foreign("ring", &[("cc", DependencyKind::Build)])
            .with_foreign("cc", &[]);
        assert_eq!(faults(&metadata), ["`cc` compiles or finds C: net -> ring -> cc"]);
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
