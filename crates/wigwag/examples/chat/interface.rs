//! The messages between a room and its members. Both programs have this file.

use std::fmt;

use wigwag::Message;

/// A room to talk in, as its members see it.
#[wigwag::actor]
pub(crate) trait Room {
    /// Enters under `name`; the reply has the last lines that were said. The room tells `member` each
    /// line from then on, over the connection that the member has opened.
    fn join(&mut self, name: String, member: MemberRef) -> Result<Vec<String>, Refusal>;

    /// Says a line to all others.
    fn say(&mut self, name: String, text: String) -> Result<(), Refusal>;

    /// Leaves the room.
    fn leave(&mut self, name: String);
}

/// A member, as the room sees it.
#[wigwag::actor]
pub(crate) trait Member {
    /// Somebody else has said this line, entered, or left.
    fn hear(&mut self, line: String);
}

/// Why the room does not do what a member asks for. It travels as a part of the reply.
#[derive(Debug, PartialEq, Message)]
pub(crate) enum Refusal {
    /// Another member has this name.
    NameTaken,
    /// Nobody of that name has joined: the room may have been started anew.
    NotAMember,
    /// There are as many members as the room has places.
    RoomFull,
    /// The line has more bytes than the room accepts, which is the number.
    TooLong(u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NameTaken => f.write_str("another member has this name"),
            Refusal::NotAMember => f.write_str("nobody of this name is in the room"),
            Refusal::RoomFull => f.write_str("the room is full"),
            Refusal::TooLong(max) => write!(f, "the line is too long, {max} bytes are allowed"),
        }
    }
}

impl std::error::Error for Refusal {}
