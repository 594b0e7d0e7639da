//! The proofs of shared keys.

use wigwag_link::opening::shared_key::{Proof, Prover};

use super::*;

/// The node that has sent this HELLO.
fn sender_of(hello: &[u8]) -> Identity {
    let mut reader = Opening::listen(stranger());
    assert!(matches!(reader.receive(hello), Ok(Step::Send(_))), "it is a HELLO");
    *reader.peer().expect("its HELLO was read")
}

#[test]
fn proofs_of_shared_keys_are_as_in_the_vectors() {
    let file = load("shared_key.json");
    let bytes = |value: &Value| from_hex(text(value));
    let hellos = ["dialer_hello", "listener_hello"].map(|name| bytes(&file[name]));
    let [dialer, listener] = [&hellos[0], &hellos[1]].map(|hello| sender_of(hello));
    let (dialer, hello) = Opening::dial(dialer, 7);
    assert_eq!(hello.as_slice(), hellos[0]);
    let (mut dialer, mut listener) =
        (dialer.with_keys(true), Opening::listen(listener).with_keys(true));
    listener.receive(&hellos[0]).expect("a HELLO");
    dialer.receive(&hellos[1]).expect("a HELLO");
    for vector in list(&file, "vectors") {
        let [name, binding] = ["name", "binding"].map(|field| bytes(&vector[field]));
        for (by, field) in [(Prover::Dialer, "dialer"), (Prover::Listener, "listener")] {
            let fields: &Value = &vector[field];
            for side in [&dialer, &listener] {
                let covered =
                    side.proof_covers(by, &name, &binding).expect("both HELLOs are known");
                assert_eq!(covered.as_slice(), bytes(&fields["covered"]), "{vector}");
            }
            let hash = bytes(&fields["proof"]).try_into().expect("32 bytes");
            let proof = Proof { key: name.clone(), hash };
            assert_eq!(Opening::proof(&proof).as_slice(), bytes(&fields["hex"]), "{vector}");
            let reader = if by == Prover::Dialer { &mut listener } else { &mut dialer };
            assert_eq!(reader.receive(&bytes(&fields["hex"])), Ok(Step::Proved(proof)), "{vector}");
        }
    }
}
