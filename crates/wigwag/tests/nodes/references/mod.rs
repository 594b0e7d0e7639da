//! References to actors as arguments and replies, between two nodes and over a third one.

mod callbacks;
mod cuts;
mod held;
mod kept;
mod lifetime;
mod limits;
mod links;
mod monitors;
mod third;

use std::time::Duration;

use tokio::sync::mpsc;
use wigwag::{Actor, Message, Node, NodeOptions};

/// The longest wait for what comes at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// The record of a member: each text that it has heard, and at last `None`.
type Heard = mpsc::UnboundedReceiver<Option<String>>;

/// An actor that is told.
pub(crate) struct Member {
    name: String,
    heard: mpsc::UnboundedSender<Option<String>>,
}

#[wigwag::actor]
impl Member {
    pub fn heard(&mut self, text: String) {
        let _ = self.heard.send(Some(text));
    }

    pub fn name(&self) -> String {
        self.name.clone()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.heard.send(None);
    }
}

pub(crate) fn member(name: &str) -> (MemberRef, Heard) {
    let (heard, events) = mpsc::unbounded_channel();
    (Member { name: name.to_owned(), heard }.spawn(), events)
}

/// The next text that a member has heard; `None` if it has ended.
pub(crate) async fn next(heard: &mut Heard) -> Option<String> {
    tokio::time::timeout(PATIENCE, heard.recv()).await.unwrap().unwrap()
}

/// A reference within other values.
#[derive(Message)]
pub(crate) struct Badge {
    pub(crate) number: u32,
    pub(crate) member: Option<MemberRef>,
}

/// An actor that keeps references.
#[derive(Default)]
pub(crate) struct Room {
    members: Vec<MemberRef>,
}

#[wigwag::actor]
impl Room {
    /// Welcomes a member before it returns, without waiting.
    pub fn join(&mut self, member: MemberRef) -> u64 {
        member.heard("welcome".to_owned()).try_tell().unwrap();
        self.members.push(member);
        self.members.len() as u64
    }

    pub fn join_all(&mut self, badges: Vec<Badge>, last: Option<MemberRef>) -> u64 {
        let members = badges.into_iter().filter_map(|badge| badge.member).chain(last);
        self.members.extend(members);
        self.members.len() as u64
    }

    pub async fn say(&mut self, text: String) -> u64 {
        for member in &self.members {
            member.heard(text.clone()).tell().await.unwrap();
        }
        self.members.len() as u64
    }

    pub fn members(&self) -> Vec<MemberRef> {
        self.members.clone()
    }

    pub fn leave_all(&mut self) {
        self.members.clear();
    }

    /// Greets one who does not stay.
    pub async fn greet(&mut self, member: MemberRef) {
        member.heard("hello".to_owned()).tell().await.unwrap();
    }

    /// Is never answered.
    pub async fn sleep(&self) {
        std::future::pending().await
    }
}

/// A node that exports a room, the room, and its address.
pub(crate) async fn room_at(address: &str) -> (Node, RoomRef, String) {
    let (service, room) = (Node::new(), Room::default().spawn());
    service.export("room", &room).unwrap();
    let bound = service.listen(address).await.unwrap();
    (service, room, format!("{bound}/room"))
}

pub(crate) fn node() -> Node {
    Node::with(NodeOptions::default())
}
