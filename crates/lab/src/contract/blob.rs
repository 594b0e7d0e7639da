//! The long messages of the cell `blob`: each is its payload again and again.

/// Bytes of a message: 16 MiB with its head, whatever that takes.
pub(crate) const BYTES: usize = 16 * 1024 * 1024 - 64;

/// Messages that are sent at least: 256 MiB.
pub(crate) const LEAST: u64 = 16;

/// The message with this payload.
pub(crate) fn of(payload: u32) -> Vec<u8> {
    payload.to_le_bytes().repeat(BYTES / 4)
}

/// The payload of a message of which every byte is right.
pub(crate) fn payload(bytes: &[u8]) -> Option<u32> {
    let (words, rest) = bytes.as_chunks::<4>();
    let first = words.first()?;
    let is_right =
        bytes.len() == BYTES && rest.is_empty() && words.iter().all(|word| word == first);
    is_right.then(|| u32::from_le_bytes(*first))
}
