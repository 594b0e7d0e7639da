//! Known-bad participants of counter, remote and sp, which must be found out. Each has one fault, and
//! none shares code with the checks.

pub(super) mod counter;
pub(super) mod inside;
pub(super) mod pingpong;
pub(super) mod due;
pub(super) mod sp;
pub(super) mod fan_out;

use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, ready_and_go, ready_until_input_ends, senders,
};

/// The interval of messages to which the fault is applied.
const ONE_IN: u64 = 1_000;

/// Number and payload.
type Message = (u64, u32);

/// Sends what a sender with the fault `name` sends of `count` messages.
fn faulty(
    name: &str,
    count: u64,
    mut draws: PayloadDraws,
    mut send: impl FnMut(Message) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut held = None;
    let mut before = (0, 0);
    for number in 0..count {
        let message = (number, draws.next());
        let bad = number % ONE_IN == ONE_IN - 1;
        match name {
            "broken-drop" if bad => {}
            "broken-double" if bad => {
                send(message)?;
                send(message)?;
            }
            // The count is right, but one message is sent twice and another never.
            "broken-mask" if bad => send((number, before.1))?,
            // All changes go in one direction: a sum does not tell of those that cancel each other out.
            "broken-wrong" if bad => send((number, message.1.wrapping_add(1)))?,
            "broken-reorder" if bad && number + 1 < count => held = Some(message),
            _ => send(message)?,
        }
        if !bad && let Some(late) = held.take() {
            send(late)?;
        }
        before = message;
    }
    Ok(())
}

pub(super) fn count(name: &str, orders: &Orders) -> Result<(), Failure> {
    match name {
        "broken-mute" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "broken-rubbish" => print_line("Hello, I am up and running!")?,
        _ => {}
    }
    ready_and_go()?;
    match name {
        "broken-crash" => return Err("something went very wrong".into()),
        "broken-hang" => loop {
            thread::sleep(Duration::from_secs(1));
        },
        "broken-fork" => {
            let mut left = Command::new("sleep");
            left.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            left.spawn()?;
        }
        _ => {}
    }
    let each = orders.messages / u64::from(orders.senders);
    // The participant that claims more does a tenth of it.
    let quota = if name == "broken-claim" { each / 10 } else { each };
    let (tell, told) = sync_channel::<(usize, Message)>(1_024);
    for sender in 0..orders.senders {
        let (tell, name) = (tell.clone(), name.to_owned());
        let draws = PayloadDraws::of(orders.seed, sender);
        thread::spawn(move || {
            // Refused only when the counter has ended, which does not matter here.
            let _ =
                faulty(&name, quota, draws, |message| Ok(tell.send((sender as usize, message))?));
        });
    }
    drop(tell);
    let (mut total, mut tallies) = (0, vec![Tally::default(); orders.senders as usize]);
    for (sender, (number, payload)) in told {
        total += orders.amount;
        tallies[sender].take(number, payload);
    }
    let mut account = json!({ "total": total, "senders": senders(&tallies) });
    if name == "broken-claim" {
        account["total"] = (orders.messages * orders.amount).into();
        for sender in account["senders"].as_array_mut().into_iter().flatten() {
            sender["count"] = each.into();
        }
    }
    Ok(print_line(&account.to_string())?)
}

pub(super) fn serve(name: &str, orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (stream, _) = listener.accept()?;
    let mut stream = BufReader::new(stream);
    let (mut tally, mut message) = (Tally::default(), [0; 12]);
    while stream.read_exact(&mut message).is_ok() {
        let [a, b, c, d, e, f, g, h, payload @ ..] = message;
        let number = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        tally.take(number, u32::from_le_bytes(payload));
    }
    if name == "broken-seed" {
        // The orders contain the seed, from which it makes up what it should have received.
        let [_, _, _, _, _, _, _, _, seed @ ..] = message;
        let mut draws = PayloadDraws::of(u32::from_le_bytes(seed), 0);
        tally = Tally::default();
        (0..orders.messages).for_each(|number| tally.take(number, draws.next()));
    }
    let mut account = json!({ "senders": senders(&[tally]) });
    if name == "broken-unread" {
        // The orders contain the number of messages, which it reports.
        account["senders"][0]["count"] = orders.messages.into();
    }
    print_line(&account.to_string())?;
    loop {
        thread::park();
    }
}

pub(super) fn drive(name: &str, orders: &Orders) -> Result<(), Failure> {
    let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
    ready_and_go()?;
    let mut writer = BufWriter::new(&stream);
    let draws = PayloadDraws::of(orders.seed, 0);
    // Counted when it is sent, and never sent.
    let quota = if name == "broken-unread" { 1 } else { orders.messages };
    let mut send = |(number, payload): Message| {
        writer.write_all(&number.to_le_bytes())?;
        Ok(writer.write_all(&payload.to_le_bytes())?)
    };
    match name {
        "broken-seed" => send((0, orders.seed))?,
        _ => faulty(name, quota, draws, send)?,
    }
    writer.flush()?;
    stream.shutdown(Shutdown::Write)?;
    Ok(print_line(&json!({ "sent": orders.messages }).to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(name: &str, seed: u32) -> u64 {
        let mut sum = 0;
        let add = |(_, payload): Message| {
            sum += u64::from(payload);
            Ok(())
        };
        faulty(name, 4 * ONE_IN, PayloadDraws::of(seed, 0), add).expect("nothing fails");
        sum
    }

    #[test]
    fn changed_messages_change_the_sum_with_every_seed() {
        for seed in 0..64 {
            assert_ne!(sum("broken-wrong", seed), sum("", seed), "seed {seed}");
        }
    }
}
