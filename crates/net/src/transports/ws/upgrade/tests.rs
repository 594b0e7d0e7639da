use super::*;

#[test]
fn the_end_of_a_head_is_found_wherever_its_bytes_are_divided() {
    let bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nbehind";
    let head = bytes.len() - b"behind".len();
    for first in 0..head {
        let mut searched = 0;
        assert_eq!(end_of_head(&bytes[..first], &mut searched), None, "{first} bytes");
        assert_eq!(end_of_head(bytes, &mut searched), Some(head), "behind {first} bytes");
    }
    let mut searched = 0;
    let found = (0..=head).find_map(|length| end_of_head(&bytes[..length], &mut searched));
    assert_eq!(found, Some(head), "byte by byte");
}
