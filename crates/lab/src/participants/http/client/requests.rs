//! Requests in many shapes: the order, the case and the length of their headers are drawn, so that
//! a server finds the token by its name or not at all.

use crate::figures::statistics::SplitMix64;

/// Shapes of the request that is asked most: enough that their lengths differ, few enough for a
/// cache.
const SHAPES: usize = 64;

/// A request with room for a token.
struct Shape {
    bytes: Vec<u8>,
    token_at: usize,
}

/// Requests that are ready but for their tokens.
pub(super) struct Shapes(Vec<Shape>);

impl Shapes {
    pub(super) fn new(random: &mut SplitMix64) -> Shapes {
        Shapes((0..SHAPES).map(|_| Shape::of("/", "HTTP/1.1", random)).collect())
    }

    /// Writes `GET /` with `token`, in the form that `choice` selects. No allocation.
    pub(super) fn document(&mut self, choice: u64, token: [u8; 8]) -> &[u8] {
        let at = (choice % SHAPES as u64) as usize;
        self.0[at].with(token)
    }
}

/// `GET` of a path that no server has.
pub(super) fn unknown(token: [u8; 8], random: &mut SplitMix64) -> Vec<u8> {
    let path = format!("/{:08x}", random.draw() as u32);
    Shape::of(&path, "HTTP/1.1", random).with(token).to_vec()
}

/// `GET /` as HTTP/1.0 has it.
pub(super) fn old(token: [u8; 8], random: &mut SplitMix64) -> Vec<u8> {
    Shape::of("/", "HTTP/1.0", random).with(token).to_vec()
}

/// A token as it is sent.
pub(super) fn written(token: u32) -> [u8; 8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    std::array::from_fn(|at| DIGITS[(token >> (28 - 4 * at) & 15) as usize])
}

impl Shape {
    fn of(path: &str, version: &str, random: &mut SplitMix64) -> Shape {
        let pick =
            |random: &mut SplitMix64, words: [&'static str; 3]| words[(random.draw() % 3) as usize];
        let token = pick(random, ["Token: ", "token: ", "TOKEN:"]);
        let agent = "lab".repeat((random.draw() % 12) as usize + 1);
        let mut fields = [
            format!("{}127.0.0.1\r\n", pick(random, ["Host: ", "host: ", "Host:"])),
            format!("{token}????????\r\n"),
            format!("User-Agent: {agent}\r\n"),
            format!("Accept: {}\r\n", pick(random, ["*/*", "application/json", "text/*, */*"])),
        ];
        random.shuffle(&mut fields);
        let bytes = format!("GET {path} {version}\r\n{}\r\n", fields.concat()).into_bytes();
        // The only question marks are those of the token.
        let token_at = bytes.iter().position(|byte| *byte == b'?').unwrap_or(0);
        Shape { bytes, token_at }
    }

    fn with(&mut self, token: [u8; 8]) -> &[u8] {
        self.bytes[self.token_at..self.token_at + token.len()].copy_from_slice(&token);
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_where_its_header_is() {
        let mut random = SplitMix64::new(1);
        let mut shapes = Shapes::new(&mut random);
        let mut lengths = Vec::new();
        for choice in 0..SHAPES as u64 {
            let text = String::from_utf8(shapes.document(choice, written(0xab)).to_vec()).unwrap();
            assert!(text.starts_with("GET / HTTP/1.1\r\n") && text.ends_with("\r\n\r\n"));
            let line = text.lines().find(|line| line.to_lowercase().starts_with("token:"));
            assert!(line.unwrap().ends_with("000000ab"), "{text}");
            lengths.push(text.len());
        }
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() > 10, "{lengths:?}");
        assert!(unknown(written(1), &mut random).starts_with(b"GET /"));
        assert!(old(written(1), &mut random).windows(8).any(|some| some == b"HTTP/1.0"));
    }
}
