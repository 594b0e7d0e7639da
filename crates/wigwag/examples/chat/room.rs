//! A chat room. It prints its address, and ends when its standard input does (Ctrl-D).
//!
//! ```console
//! $ cargo run --example chat_room tcp://127.0.0.1:7010
//! tcp://127.0.0.1:7010/room
//! $ cargo run --example chat_member tcp://127.0.0.1:7010/room anna
//! ```
//!
//! A member hands the room a reference to an actor of its own, by which the room calls it back: the
//! member needs no address. The room monitors these actors, so it notices a member that leaves, and
//! one that vanishes.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::time::Duration;

use interface::{MemberRef, Refusal, RoomInterface};
use wigwag::lifecycle::{Down, Monitor};
use wigwag::{Actor, Interface, Life, Node, NodeOptions, Reason, This};

/// Members that the room has places for.
const MEMBERS_MAX: usize = 100;

/// Lines that a newcomer is shown.
const HISTORY_LINES: usize = 20;

/// The longest line.
const TEXT_BYTES_MAX: usize = 4_096;

/// A member whose process has vanished leaves the room after this time.
const VANISHED_AFTER: Duration = Duration::from_secs(3);

// The actor has the calls of the trait, with the same names, arguments and replies.
const _: () = assert!(Room::SCHEMA.hash == RoomInterface::SCHEMA.hash);

#[derive(Default)]
struct Room {
    members: HashMap<String, (MemberRef, Monitor)>,
    history: VecDeque<String>,
}

impl Room {
    /// Tells a line to all members but `author`. A member that takes no more lines now misses this one.
    fn tell_others(&mut self, author: &str, line: String) {
        for (name, (member, _)) in &self.members {
            if name != author {
                // A member that has ended is removed when its monitor says so.
                let _ = member.hear(line.clone()).try_tell();
            }
        }
        self.history.push_back(line);
        if self.history.len() > HISTORY_LINES {
            self.history.pop_front();
        }
    }
}

#[wigwag::actor(life)]
impl Room {
    pub fn join(
        &mut self,
        name: String,
        member: MemberRef,
        this: &This<Self>,
    ) -> Result<Vec<String>, Refusal> {
        if self.members.contains_key(&name) {
            return Err(Refusal::NameTaken);
        }
        if self.members.len() >= MEMBERS_MAX {
            return Err(Refusal::RoomFull);
        }
        let monitor = this.monitor_ref(&member).map_err(|_| Refusal::RoomFull)?;
        let history = self.history.iter().cloned().collect();
        self.tell_others(&name, format!("* {name} is here"));
        self.members.insert(name, (member, monitor));
        Ok(history)
    }

    pub fn say(&mut self, name: String, text: String) -> Result<(), Refusal> {
        if !self.members.contains_key(&name) {
            return Err(Refusal::NotAMember);
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(Refusal::TooLong(TEXT_BYTES_MAX as u64));
        }
        self.tell_others(&name, format!("{name}: {text}"));
        Ok(())
    }

    pub fn leave(&mut self, name: String) {
        if self.members.remove(&name).is_some() {
            self.tell_others(&name, format!("* {name} has left"));
        }
    }
}

impl Life for Room {
    fn down(&mut self, _: &This<Room>, down: Down) {
        let is_it = |(_, member): &(&String, &(MemberRef, Monitor))| member.1 == down.monitor;
        let Some(name) = self.members.iter().find(is_it).map(|(name, _)| name.clone()) else {
            return;
        };
        self.members.remove(&name);
        let how = match down.reason {
            Reason::Unreachable(_) => "has vanished",
            _ => "has left",
        };
        self.tell_others(&name, format!("* {name} {how}"));
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:0".to_owned());
    let node = Node::with(NodeOptions::default().keep_sessions(VANISHED_AFTER));
    node.export("room", &Room::default().spawn())?;
    let bound = node.listen(&address).await?;
    println!("{bound}/room");

    let end_of_input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tokio::task::spawn_blocking(end_of_input).await??;
    Ok(())
}
