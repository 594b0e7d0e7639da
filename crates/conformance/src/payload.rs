//! Message bodies of which each byte can be checked.

/// Body lengths around each threshold of the implementation: empty, the copy limit, the share
/// limit, the write and read sizes, and odd lengths between them.
pub const LENGTHS: [usize; 18] = [
    0, 1, 7, 8, 9, 100, 1023, 1024, 1025, 16_383, 16_384, 65_535, 65_536, 65_537, 131_072, 262_143,
    262_145, 300_000,
];

/// A body of `length` bytes that differs from those of other numbers and lengths.
pub fn body(number: usize, length: usize) -> Vec<u8> {
    let mut state = (number as u64) << 32 | length as u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // The step of a well-known multiplicative generator: cheap, and without repetition.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&state.to_be_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Checks `bytes` against [`body`], without printing 300,000 bytes when they differ.
pub fn check(bytes: &[u8], number: usize, length: usize) {
    assert_eq!(bytes.len(), length, "message {number}");
    assert!(
        bytes == body(number, length),
        "message {number} of {length} bytes is not what was sent"
    );
}
