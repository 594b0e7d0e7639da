//! MessagePack for types of other crates; each file needs the feature of its crate's name.
//!
//! Types of two crates that mean the same have the same form, so that each end may use its own. Only
//! values are used: nothing here asks a clock.

#[cfg(any(feature = "chrono", feature = "time"))]
mod calendar;
#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
#[cfg(feature = "serde_json")]
mod serde_json;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "uuid")]
mod uuid;

#[cfg(all(
    test,
    feature = "chrono",
    feature = "rust_decimal",
    feature = "serde_json",
    feature = "time",
    feature = "uuid"
))]
mod tests;
