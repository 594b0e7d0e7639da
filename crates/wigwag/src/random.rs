//! Unguessable ids.

/// 128 random bits from the operating system.
///
/// # Panics
/// If the operating system has no randomness to give; no id would be safe then.
pub(crate) fn id() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    u128::from_le_bytes(bytes)
}
