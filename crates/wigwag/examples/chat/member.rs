//! A member of a chat room: says the lines of its standard input, and prints what others say. It
//! leaves at the end of its input (Ctrl-D), and comes back when the room is started anew.
//!
//! `cargo run --example chat_member tcp://127.0.0.1:7010/room anna`; see `room.rs`.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::error::Error;

use interface::{MemberRef, Refusal, RoomInterface, RoomRef};
use tokio::sync::mpsc;
use wigwag::session::SessionChange;
use wigwag::{Actor, AskError, CallErrorKind, Node};

type Outcome = Result<(), Box<dyn Error>>;

/// The actor that the room calls back.
struct Screen;

#[wigwag::actor]
impl Screen {
    pub fn hear(&mut self, line: String) {
        println!("{line}");
    }
}

#[wigwag::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: chat_member ADDRESS NAME".into());
    };
    let node = Node::new();
    let mut events = node.session_events();
    // The reference outlives the room: after a restart it leads to the next one.
    let room = node.actor::<RoomInterface>(&address).reconnecting().await?;
    let screen = MemberRef::from(&Screen.spawn());
    join(&room, &name, &screen, "in").await?;

    let mut typed = typed();
    loop {
        tokio::select! {
            text = typed.recv() => match text {
                Some(text) => say(&room, &name, text).await?,
                None => break,
            },
            event = events.next() => match event.map(|event| event.what) {
                Some(SessionChange::Ended { .. }) => println!("the room is out of reach"),
                // The room was started anew, and knows nothing of the members of the one before.
                Some(SessionChange::Reattached { .. }) => {
                    match join(&room, &name, &screen, "back in").await {
                        // This room is gone as well, and the next one will say so.
                        Err(error) if is_lost(&*error) => {}
                        joined => joined?,
                    }
                }
                _ => {}
            },
        }
    }
    room.leave(name).tell().await?;
    Ok(())
}

async fn join(room: &RoomRef, name: &str, screen: &MemberRef, how: &str) -> Outcome {
    let joined = room.join(name.to_owned(), screen.clone()).ask().await;
    for line in joined.map_err(AskError::into_error)?? {
        println!("{line}");
    }
    println!("{name} is {how} the room");
    Ok(())
}

/// Says a line. Each failure says whether it may have been heard.
async fn say(room: &RoomRef, name: &str, text: String) -> Outcome {
    let said = room.say(name.to_owned(), text.clone()).ask().await;
    match said.map_err(AskError::into_error) {
        Ok(Ok(())) => {}
        // The room was started anew, and this member is about to join it.
        Ok(Err(refusal @ (Refusal::NotAMember | Refusal::TooLong(_)))) => {
            println!("not said: {refusal}");
        }
        Ok(Err(refusal)) => return Err(refusal.into()),
        Err(error) if error.kind == CallErrorKind::NotDelivered => println!("not said: {text}"),
        Err(error) if error.kind == CallErrorKind::Unknown => println!("perhaps not said: {text}"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// True if a call went down with its session.
fn is_lost(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<wigwag::CallError>().map(|error| &error.kind);
    matches!(kind, Some(CallErrorKind::NotDelivered | CallErrorKind::Unknown))
}

/// The lines of standard input. A thread reads them, because such a read cannot be given up.
fn typed() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}
