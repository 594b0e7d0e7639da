#[wigwag::main]
fn main() {}
