//! Tells of other shapes than number and payload: one number, two methods in turn, texts, structs
//! and long blocks.
//!
//! A message of any shape carries its number and its payload, so the account is that of `tell`.

use crate::workload::Cell;

/// The arguments of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One number of 64 bits.
    Word,
    /// Number and payload, by two methods in turn.
    Methods,
    /// A text of 100 letters.
    Text,
    /// A text of 100 letters, as an item of a stream.
    Stream,
    /// Texts in a stream that is an argument of a call.
    Upload,
    /// A struct of a number, a text, two tags and a float.
    Struct,
    /// A vector of so many KiB.
    Vec {
        /// Of 1,024 bytes.
        kib: u32,
    },
    /// Shared bytes, so many KiB.
    Bytes {
        /// Of 1,024 bytes.
        kib: u32,
    },
}

/// Where a message is sent from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A task of the participant's own kind.
    Own,
    /// A task of Tokio that the participant did not start.
    Task,
    /// A plain thread.
    Thread,
}

/// Bytes of a text.
const TEXT_BYTES: u64 = 100;
/// The lengths of blocks: the longest is below the 64 KiB at which systems as a rule take another way.
const BLOCKS_KIB: [u32; 3] = [1, 16, 60];

/// One number from everywhere, the other shapes from a task of the participant's own kind.
pub(crate) fn cells() -> impl Iterator<Item = Cell> {
    let words = [Origin::Own, Origin::Task, Origin::Thread].map(|from| (Shape::Word, from));
    let others = [Shape::Methods, Shape::Text, Shape::Stream, Shape::Upload, Shape::Struct];
    let blocks = BLOCKS_KIB
        .map(|kib| Shape::Vec { kib })
        .into_iter()
        .chain(BLOCKS_KIB.map(|kib| Shape::Bytes { kib }));
    let own = others.into_iter().chain(blocks).map(|shape| (shape, Origin::Own));
    words.into_iter().chain(own).map(|(shape, from)| Cell::Shape { shape, from })
}

/// As the tables name the cell.
pub(crate) fn name(shape: Shape, from: Origin) -> String {
    let what = match shape {
        Shape::Word => "u64".to_owned(),
        Shape::Methods => "two methods".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Stream => return "stream".to_owned(),
        Shape::Upload => return "upload".to_owned(),
        Shape::Struct => "struct".to_owned(),
        Shape::Vec { kib } => format!("vec {kib} KiB"),
        Shape::Bytes { kib } => format!("bytes {kib} KiB"),
    };
    match from {
        Origin::Own => format!("tell, {what}"),
        Origin::Task => format!("tell, {what}, task"),
        Origin::Thread => format!("tell, {what}, thread"),
    }
}

impl Shape {
    /// The order for a client of remote; of others than [`Shape::Word`] there is one origin.
    pub(crate) fn order(self, from: Origin) -> &'static str {
        match (self, from) {
            (Shape::Word, Origin::Own) => "u64",
            (Shape::Word, Origin::Task) => "u64-task",
            (Shape::Word, Origin::Thread) => "u64-thread",
            (Shape::Methods, _) => "methods",
            (Shape::Text, _) => "text",
            (Shape::Stream, _) => "stream",
            (Shape::Upload, _) => "upload",
            (Shape::Struct, _) => "struct",
            (Shape::Vec { .. }, _) => "vec",
            (Shape::Bytes { .. }, _) => "bytes",
        }
    }

    /// The length of a block, which is ordered.
    pub(crate) fn block_bytes(self) -> Option<u64> {
        match self {
            Shape::Vec { kib } | Shape::Bytes { kib } => Some(u64::from(kib) * 1_024),
            _ => None,
        }
    }

    /// Bytes that a message has on the wire at the least: nobody compresses here.
    pub(crate) fn wire_bytes(self) -> u64 {
        match self {
            Shape::Text | Shape::Stream | Shape::Upload => TEXT_BYTES,
            _ => self.block_bytes().unwrap_or(super::PAYLOAD_BYTES),
        }
    }

    /// Messages that a run has at the most: as many as of `tell`, and of blocks so many that the
    /// bytes stay within a hundred gigabytes.
    pub(crate) fn messages_max(self) -> u64 {
        self.block_bytes().map_or(100_000_000, |bytes| 100_000_000_000 / bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::contract::role::REMOTE_CELLS;

    #[test]
    fn every_shape_has_a_name_of_its_own_and_an_order_that_there_is() {
        let mut names = BTreeSet::new();
        for cell in cells() {
            let Cell::Shape { shape, from } = cell else { panic!("{cell:?}") };
            assert!(REMOTE_CELLS.contains(&shape.order(from)), "{cell:?}");
            assert!(names.insert(name(shape, from)), "{cell:?}");
        }
        assert_eq!(names.len(), 14);
    }
}
