//! The cells within one process: `slow`, `local ask`, `bounce`, `ring`, `spawn` and `1000 actors`, as
//! tasks with a bounded channel each.

use std::env;

use peer_common::{
    Asker, CHANNEL_MESSAGES_MAX, Here, Hop, Payloads, Place, Result, Roll, Seen, order,
    ready_and_wait_for_go, say, say_and_stay, work,
};
use tokio::sync::{mpsc, oneshot};

/// Plays the cell that was ordered; false if it is the plain counter.
pub async fn play() -> Result<bool> {
    match env::var("CELL").as_deref() {
        Ok("slow") => slow().await?,
        Ok("ask") => ask().await?,
        Ok("bounce" | "ring") => ring().await?,
        Ok("spawn") => spawn().await?,
        Ok("actors") => actors().await?,
        _ => return Ok(false),
    }
    Ok(true)
}

struct Count {
    amount: u64,
    number: u64,
    sender: u32,
    payload: u32,
}

async fn slow() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, draws) = (order::<u64>("MESSAGES")? / u64::from(senders), order("WORK")?);
    let (inbox, mut messages) = mpsc::channel(CHANNEL_MESSAGES_MAX);
    let counter = tokio::spawn(async move {
        let (mut total, mut worked, mut seen) = (0_u64, 0_u64, Seen::new(senders as usize));
        while let Some(Count { amount, number, sender, payload }) = messages.recv().await {
            total += amount;
            seen.accept(sender, number, payload);
            worked = worked.wrapping_add(work(draws, payload));
        }
        let seen = seen.account();
        format!(r#"{{"total": {total}, {seen}, "worked": "{worked}"}}"#)
    });
    ready_and_wait_for_go()?;
    for sender in 0..senders {
        let inbox = inbox.clone();
        tokio::spawn(async move {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                inbox.send(Count { amount, number, sender, payload }).await?;
            }
            Ok::<(), mpsc::error::SendError<Count>>(())
        });
    }
    drop(inbox);
    say_and_stay(&counter.await?)
}

/// Number, payload, and the way back.
type Ask = (u64, u32, oneshot::Sender<u64>);

async fn ask() -> Result<()> {
    let (asks, mut asker) = (order::<u64>("MESSAGES")?, Asker::new(order("SEED")?));
    let (inbox, mut messages) = mpsc::channel::<Ask>(CHANNEL_MESSAGES_MAX);
    let answerer = tokio::spawn(async move {
        let mut seen = Seen::new(1);
        while let Some((number, payload, reply)) = messages.recv().await {
            seen.accept(0, number, payload);
            // An asker that is gone needs no answer.
            let _ = reply.send(number + u64::from(payload));
        }
        seen
    });
    ready_and_wait_for_go()?;
    let asking = tokio::spawn(async move {
        for _ in 0..asks {
            let (number, payload) = asker.ask();
            let (reply, answer) = oneshot::channel();
            inbox.send((number, payload, reply)).await.map_err(|_| "the answerer is gone")?;
            asker.hold(answer.await?);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(asker)
    });
    let asker = asking.await??;
    say(&asker.account(&answerer.await?))
}

async fn ring() -> Result<()> {
    let (places, seed) = (Place::all()?, order("SEED")?);
    let (first, mut incoming) = mpsc::channel::<(u64, u32)>(CHANNEL_MESSAGES_MAX);
    let (done, mut ended) = mpsc::channel(1);
    let last = places.len() - 1;
    let mut tasks = Vec::new();
    for (at, mut place) in places.into_iter().enumerate() {
        let (mut next, following) = mpsc::channel(CHANNEL_MESSAGES_MAX);
        if at == last {
            next = first.clone();
        }
        let (mut messages, done) = (std::mem::replace(&mut incoming, following), done.clone());
        tasks.push(tokio::spawn(async move {
            while let Some((number, value)) = messages.recv().await {
                match place.pass(number, value) {
                    // Refused when the next one has ended, which is after the last hop.
                    Hop::On(number, value) => drop(next.send((number, value)).await),
                    Hop::End(value) => {
                        let _ = done.send(value).await;
                        break;
                    }
                }
            }
            place
        }));
    }
    ready_and_wait_for_go()?;
    first.send((0, seed)).await.map_err(|_| "the ring has ended")?;
    drop(first);
    let value = ended.recv().await.ok_or("the ring has ended")?;
    let mut places = Vec::new();
    for task in tasks {
        places.push(task.await?);
    }
    say(&Place::account(value, places))
}

async fn spawn() -> Result<()> {
    let (actors, seed) = (order::<u64>("MESSAGES")?, order("SEED")?);
    ready_and_wait_for_go()?;
    let (enter, mut entered) = mpsc::channel(CHANNEL_MESSAGES_MAX);
    let one = |number| {
        let (inbox, mut messages) = mpsc::channel::<u32>(CHANNEL_MESSAGES_MAX);
        let enter = enter.clone();
        tokio::spawn(async move {
            let mut told = 0;
            while let Some(payload) = messages.recv().await {
                told += 1;
                // Refused when the roll has ended, and then nobody wants to know.
                let _ = enter.send(Here { number, told, payload }).await;
            }
        });
        inbox
    };
    let all: Vec<_> = (0..actors).map(one).collect();
    let teller = tokio::spawn(async move {
        for (inbox, payload) in all.iter().zip(Payloads::new(seed, 0)) {
            // An actor that has ended is missed in the account.
            let _ = inbox.send(payload).await;
        }
        all
    });
    let mut roll = Roll::default();
    while let Some(here) = entered.recv().await {
        if roll.enter(here) == actors {
            break;
        }
    }
    let _alive = teller.await?;
    say_and_stay(&roll.account())
}

/// Which actor a message goes to follows from its payload.
async fn actors() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, actors) =
        (order::<u64>("MESSAGES")? / u64::from(senders), order::<usize>("ACTORS")?);
    let (inboxes, counters): (Vec<_>, Vec<_>) = (0..actors)
        .map(|_| {
            let (inbox, mut messages) = mpsc::channel(CHANNEL_MESSAGES_MAX);
            let counter = tokio::spawn(async move {
                let (mut total, mut seen) = (0_u64, Seen::new(senders as usize));
                while let Some(Count { amount, number, sender, payload }) = messages.recv().await {
                    total += amount;
                    seen.accept(sender, number, payload);
                }
                (total, seen)
            });
            (inbox, counter)
        })
        .unzip();
    ready_and_wait_for_go()?;
    for sender in 0..senders {
        let inboxes = inboxes.clone();
        tokio::spawn(async move {
            let mut numbers = vec![0; actors];
            for payload in Payloads::new(seed, sender).take(each as usize) {
                let at = payload as usize % actors;
                let number = numbers[at];
                inboxes[at].send(Count { amount, number, sender, payload }).await?;
                numbers[at] += 1;
            }
            Ok::<(), mpsc::error::SendError<Count>>(())
        });
    }
    drop(inboxes);
    let (mut total, mut all) = (0, Vec::new());
    for counter in counters {
        let (of_one, seen) = counter.await?;
        total += of_one;
        all.push(seen);
    }
    let seen = Seen::of_all(all).account();
    say(&format!(r#"{{"total": {total}, {seen}}}"#))
}
