//! The options of `#[message(…)]`, and the numbers of variants.

#[derive(wigwag::Message)]
#[message(json)]
struct Unknown(u8);

#[derive(wigwag::Message)]
struct Field(#[message(skip)] u8);

#[derive(wigwag::Message)]
struct Two(#[message(serde, with = "module")] u8);

const SECOND: isize = 2;

#[derive(wigwag::Message)]
enum Number {
    Minus = -1,
    Second = SECOND,
    Large = 4_294_967_296,
}

#[derive(wigwag::Message)]
#[repr(u64)]
enum After {
    Last = 4_294_967_295,
    TooLarge,
}

fn main() {}
