//! A member of a chat room: says the lines of its standard input, and prints what others say. It
//! leaves at the end of its input (Ctrl-D), and comes back when the room is started anew.
//!
//! `cargo run --example chat_member tcp://127.0.0.1:7010/room anna`; see `room.rs`.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::error::Error;
use std::pin::pin;

use interface::{Refusal, RoomInterface, RoomRef};
use tokio::sync::mpsc;
use wigwag::{AskError, CallErrorKind, Node};

type Outcome = Result<(), Box<dyn Error>>;

#[wigwag::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: chat_member ADDRESS NAME".into());
    };
    let node = Node::new();
    // The reference outlives the room: after a restart it leads to the next one.
    let room = node.actor::<RoomInterface>(&address).reconnecting().await?;
    room.join(name.clone()).ask().await??;
    println!("{name} is in the room");

    let mut typed = typed();
    // Somebody may say something in an hour, so this ask has no limit.
    let mut hearing = pin!(room.hear(name.clone()).without_limit().ask());
    loop {
        tokio::select! {
            text = typed.recv() => match text {
                Some(text) => say(&room, &name, text).await?,
                None => break,
            },
            heard = &mut hearing => {
                match heard {
                    Ok(Ok(line)) => println!("{line}"),
                    Ok(Err(Refusal::NotAMember)) => come_back(&room, &name).await?,
                    Ok(Err(refusal)) => return Err(refusal.into()),
                    Err(error) if was_lost(&error) => println!("the room is out of reach"),
                    Err(error) => return Err(error.into_error().into()),
                }
                hearing.set(room.hear(name.clone()).without_limit().ask());
            }
        }
    }
    room.leave(name).tell().await?;
    Ok(())
}

/// Says a line, in whichever room there is now. Each failure says whether it may have been heard.
async fn say(room: &RoomRef, name: &str, text: String) -> Outcome {
    loop {
        match room.say(name.to_owned(), text.clone()).ask().await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Refusal::NotAMember)) => come_back(room, name).await?,
            Ok(Err(refusal)) => {
                println!("not said: {refusal}");
                return Ok(());
            }
            Err(error) if error.error().kind == CallErrorKind::NotDelivered => {}
            Err(error) if was_lost(&error) => {
                println!("perhaps not said: {text}");
                return Ok(());
            }
            Err(error) => return Err(error.into_error().into()),
        }
    }
}

/// Joins the room that was started anew. It knows nothing of the members of the one before.
async fn come_back(room: &RoomRef, name: &str) -> Outcome {
    match room.join(name.to_owned()).ask().await {
        // This room is gone as well, and the next one will say so.
        Err(error) if was_lost(&error) => {}
        joined => {
            joined??;
            println!("{name} is back in the room");
        }
    }
    Ok(())
}

/// True if the call went down with its session. The next call waits for the next room.
fn was_lost<M>(error: &AskError<M>) -> bool {
    matches!(error.error().kind, CallErrorKind::NotDelivered | CallErrorKind::Unknown)
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
