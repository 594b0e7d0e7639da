//! The command `wigwag`.
fn main() {}
