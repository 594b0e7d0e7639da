//! A chat room. It prints its address, and ends when its standard input does (Ctrl-D).
//!
//! ```console
//! $ cargo run --example chat_room tcp://127.0.0.1:7010
//! tcp://127.0.0.1:7010/room
//! $ cargo run --example chat_member tcp://127.0.0.1:7010/room anna
//! ```
//!
//! Members call the room; the room never calls them. A member asks for the next line, and the room
//! answers when there is one, so members need no address of their own.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::time::Duration;

use interface::{Refusal, RoomInterface};
use wigwag::{Actor, Interface, Node, NodeOptions, Responder};

/// Members that the room has places for.
const MEMBERS_MAX: usize = 100;

/// Lines that wait for one member. One that falls further behind has to join again.
const UNREAD_MAX: usize = 1_000;

/// The longest line.
const TEXT_BYTES_MAX: usize = 4_096;

// The actor has the calls of the trait, with the same names, arguments and replies.
const _: () = assert!(Room::SCHEMA.hash == RoomInterface::SCHEMA.hash);

#[derive(Default)]
struct Room {
    members: HashMap<String, Member>,
}

#[derive(Default)]
struct Member {
    unread: VecDeque<String>,
    /// The right to answer the member's `hear`, while there is nothing to hear.
    waiting: Option<Responder<Result<String, Refusal>>>,
}

impl Member {
    /// Hands the member a line, at once or when it asks. False if too many wait already.
    fn hear(&mut self, line: &str) -> bool {
        if let Some(answer) = self.waiting.take().filter(Responder::is_wanted) {
            answer.send(Ok(line.to_owned()));
        } else {
            self.unread.push_back(line.to_owned());
        }
        self.unread.len() <= UNREAD_MAX
    }
}

#[wigwag::actor]
impl Room {
    pub fn join(&mut self, name: String) -> Result<(), Refusal> {
        match self.members.get(&name) {
            // The member of this name waits for a line, so it lives.
            Some(Member { waiting: Some(answer), .. }) if answer.is_wanted() => {
                Err(Refusal::NameTaken)
            }
            None if self.members.len() >= MEMBERS_MAX => Err(Refusal::RoomFull),
            _ => {
                self.members.insert(name, Member::default());
                Ok(())
            }
        }
    }

    pub fn say(&mut self, name: String, text: String) -> Result<(), Refusal> {
        if !self.members.contains_key(&name) {
            return Err(Refusal::NotAMember);
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(Refusal::TooLong(TEXT_BYTES_MAX as u64));
        }
        let line = format!("{name}: {text}");
        self.members.retain(|other, member| *other == name || member.hear(&line));
        Ok(())
    }

    /// The reply is that of `answer`, which is no argument of the call.
    pub fn hear(&mut self, name: String, answer: Responder<Result<String, Refusal>>) {
        let Some(member) = self.members.get_mut(&name) else {
            return answer.send(Err(Refusal::NotAMember));
        };
        match member.unread.pop_front() {
            Some(line) => answer.send(Ok(line)),
            None => member.waiting = Some(answer),
        }
    }

    pub fn leave(&mut self, name: String) {
        self.members.remove(&name);
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:0".to_owned());
    // The name of a member that died is free after this time.
    let node = Node::with(NodeOptions::default().keep_sessions(Duration::from_secs(10)));
    node.export("room", &Room::default().spawn())?;
    let bound = node.listen(&address).await?;
    println!("{bound}/room");

    let end_of_input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tokio::task::spawn_blocking(end_of_input).await??;
    Ok(())
}
