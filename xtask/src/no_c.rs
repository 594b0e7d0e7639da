//! Nothing in the product compiles or links C.
//!
//! A machine with a Rust toolchain and nothing else must be able to build wigwag. A package that
//! brings a foreign library says so with `links`, or it calls one of the known helpers from its
//! build script; neither may occur in what is compiled for any crate of the workspace. What only
//! the tests need is left out.

use std::collections::BTreeMap;

use crate::metadata::Metadata;

/// Crates whose purpose is to compile, find or bind foreign code.
const HELPERS: &[&str] =
    &["autotools", "bindgen", "cc", "cmake", "cxx-build", "nasm-rs", "pkg-config", "vcpkg"];

/// Each package that would need a C toolchain, with one way that leads to it.
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

    /// The promise itself, for the workspace as it is.
    #[test]
    fn no_crate_of_the_product_compiles_or_links_c() {
        assert_eq!(faults(&Metadata::load().unwrap()), [""; 0]);
    }

    #[test]
    fn a_package_that_links_a_library_is_found_once_with_the_way_to_it() {
        let metadata = Metadata::default()
            .with_member("net", &[("tls", DependencyKind::Normal)])
            .with_member("node", &[("net", DependencyKind::Normal)])
            .with_foreign("tls", &[])
            .with_links("tls", "ssl");
        assert_eq!(faults(&metadata), ["`tls` links `ssl`: net -> tls"]);
    }

    #[test]
    fn a_build_script_with_a_c_compiler_is_found() {
        let metadata = Metadata::default()
            .with_member("net", &[("ring", DependencyKind::Normal)])
            .with_foreign("ring", &[("cc", DependencyKind::Build)])
            .with_foreign("cc", &[]);
        assert_eq!(faults(&metadata), ["`cc` compiles or finds C: net -> ring -> cc"]);
    }

    #[test]
    fn a_compiler_that_only_tests_need_is_no_fault() {
        let metadata = Metadata::default()
            .with_member("net", &[("yardstick", DependencyKind::Dev)])
            .with_foreign("yardstick", &[("cc", DependencyKind::Build)])
            .with_foreign("cc", &[]);
        assert_eq!(faults(&metadata), [""; 0]);
    }
}
