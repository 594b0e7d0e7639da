//! Transports from outside of `net`: the toy of the guide, that of the example `exec`, and handles
//! that the application opened.

use crate::{configured, handed, piped, toy};

wigwag_conformance::transport_conformance!(toy_transport, crate::others::toy_address());
wigwag_conformance::protocol_conformance!(toy_protocols, crate::others::toy_address());
wigwag_conformance::transport_conformance!(piped_transport, crate::others::piped_address());
wigwag_conformance::protocol_conformance!(piped_protocols, crate::others::piped_address());
wigwag_conformance::transport_conformance!(handed_transport, crate::others::handed_address());
wigwag_conformance::protocol_conformance!(handed_protocols, crate::others::handed_address());

fn toy_address() -> &'static str {
    toy::make_known();
    "toy://{name}"
}

fn piped_address() -> &'static str {
    piped::make_known();
    "piped://{name}"
}

fn handed_address() -> &'static str {
    handed::make_known();
    "handed://{name}"
}

/// `tls+tcp://`, whose ends get their certificates.
pub(crate) fn certified_address() -> &'static str {
    configured::make_known();
    "certified+tcp://127.0.0.1:0"
}

/// `wss://`, whose ends get their certificates.
pub(crate) fn certified_ws_address() -> &'static str {
    configured::make_known();
    "certified+wss://127.0.0.1:0/path"
}

/// `ipc://` that does not move to shared memory.
pub(crate) fn socket_ipc_address() -> &'static str {
    configured::make_known();
    "socket+ipc://{dir}/socket"
}

/// The guide contains the source of the toy.
#[test]
fn the_guide_has_the_toy_that_was_tested() {
    let guide = include_str!("../../../../docs/transports.md");
    let toy = include_str!("toy/mod.rs");
    assert!(guide.contains(toy), "docs/transports.md and tests/promises/toy/mod.rs differ");
}
