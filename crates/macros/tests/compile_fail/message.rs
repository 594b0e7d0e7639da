//! Types that cannot be arguments.

#[derive(wigwag::Message)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(wigwag::Message)]
union Either {
    number: u32,
    float: f32,
}

fn main() {}
