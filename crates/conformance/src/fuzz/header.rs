//! The first eight bytes of a stream: accepted bytes are a header, byte for byte, of a partner.

use wigwag_wire::{Header, HeaderError, ProtocolNumber};

use crate::fuzz::{Verdict, ensure};

/// A bound above all named protocol numbers.
const NUMBERS_END: u16 = 0x700;

/// Checks the reader of headers.
pub fn check(input: &[u8]) -> Verdict {
    check_with(Header::parse, input)
}

/// Checks any reader of headers.
pub fn check_with(parse: impl Fn([u8; 8]) -> Result<Header, HeaderError>, input: &[u8]) -> Verdict {
    let Some((bytes, _)) = input.split_first_chunk::<8>() else {
        return Ok(());
    };
    let parsed = parse(*bytes);
    let is_header = bytes.starts_with(b"\0SP\0") && bytes.ends_with(&[0, 0]);
    ensure(parsed.is_ok() == is_header, || format!("{bytes:02x?} gives {parsed:?}"))?;
    if let Ok(header) = parsed {
        ensure(header.to_bytes() == *bytes, || format!("{header:?} is not {bytes:02x?}"))?;
    }
    for number in 0..NUMBERS_END {
        let ours = ProtocolNumber(number);
        let Some(partner) = ours.partner() else { continue };
        let taken = Header::expect_partner(ours, *bytes).is_ok();
        let is_partner = *bytes == Header { protocol: partner }.to_bytes();
        ensure(taken == is_partner, || format!("{ours} takes {bytes:02x?}: {taken}"))?;
    }
    Ok(())
}

/// The headers of all named protocols.
pub fn seeds() -> Vec<Vec<u8>> {
    let numbers = (0..NUMBERS_END).map(ProtocolNumber).filter(|number| number.name().is_some());
    numbers.map(|protocol| Header { protocol }.to_bytes().to_vec()).collect()
}
