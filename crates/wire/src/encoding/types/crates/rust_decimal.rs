//! Decimal numbers.

use ::rust_decimal::Decimal;

use crate::encoding::types::text::put_text;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// A text such as `"-12.50"`: it keeps all digits, and every language has a decimal type that reads
/// it, whereas a float would change the value. A whole number is read too.
impl Encode for Decimal {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_text(out, self);
    }
}

impl<'a> Decode<'a> for Decimal {
    fn decode(reader: &mut Reader<'a>) -> Result<Decimal, DecodeError> {
        if !matches!(reader.peek(), Some(0xA0..=0xBF | 0xD9..=0xDB)) {
            return i128::decode(reader).and_then(|whole| {
                Decimal::try_from_i128_with_scale(whole, 0).map_err(|_| out_of_range())
            });
        }
        // Digits that the type cannot hold are refused, not rounded.
        Decimal::from_str_exact(<&str>::decode(reader)?).map_err(|_| out_of_range())
    }
}

fn out_of_range() -> DecodeError {
    DecodeError::OutOfRange { expected: "a decimal number" }
}
