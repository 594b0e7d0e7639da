//! One PUB or PUSH and several peers: async calls on a runtime of one thread, as in the examples of
//! wigwag's documentation. The timers of the runtime have milliseconds, so a thread of its own says
//! when the next message is due.

use std::future::pending;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use wigwag::sp::{Pub, Pull, Push, QueueLength, Sub};

use super::{Receives, Sends};
use crate::contract::fan_out::{Arrival, Receipts, Source, Stamp};
use crate::contract::{
    Failure, Orders, PayloadDraws, exit_when_input_ends, print_line, wait_for_go,
};
use crate::participants::wigwag::paced::tell_when_due;

/// Greetings and marks are sent so often.
const EVERY: Duration = Duration::from_millis(1);

pub(crate) fn send(orders: &Orders) -> Result<(), Failure> {
    let queue = QueueLength::new(orders.queue)?;
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        if orders.cell.starts_with("pub") {
            let publisher = Pub::new();
            publisher.set_send_queue(queue);
            let listener = publisher.listen("tcp://127.0.0.1:0").await?;
            send_all(&publisher, &listener.address().to_string(), orders).await
        } else {
            let push = Push::new();
            push.set_send_queue(queue);
            let listener = push.listen("tcp://127.0.0.1:0").await?;
            send_all(&push, &listener.address().to_string(), orders).await
        }
    })
}

async fn send_all(socket: &impl Sends, bound: &str, orders: &Orders) -> Result<(), Failure> {
    let port = bound.rsplit(':').next().unwrap_or_default();
    print_line(&format!("READY {port}"))?;
    let go = spawn_blocking(wait_for_go);
    while !go.is_finished() {
        socket.send_message(Stamp::GREETING.to_message(orders.size)).await?;
        sleep(EVERY).await;
    }
    go.await??;
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut source = Source::begin(orders);
    let due = tell_when_due(source.schedule());
    loop {
        while let Some(number) = source.next_due() {
            let stamp = Stamp { number, payload: draws.next(), due: source.due(number) };
            socket.send_message(stamp.to_message(orders.size)).await?;
        }
        if source.is_done(orders) {
            break;
        }
        due.notified().await;
    }
    drop(due);
    print_line(&source.to_json().to_string())?;
    exit_when_input_ends();
    loop {
        socket.send_message(Stamp::END.to_message(orders.size)).await?;
        sleep(EVERY).await;
    }
}

pub(crate) fn receive(orders: &Orders) -> Result<(), Failure> {
    let address = format!("tcp://127.0.0.1:{}", orders.port);
    let queue = QueueLength::new(orders.queue)?;
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        if orders.cell.starts_with("pub") {
            let mut sockets = Vec::new();
            for _ in 0..orders.receivers {
                let subscriber = Sub::new();
                subscriber.set_receive_queue(queue);
                subscriber.subscribe("")?;
                subscriber.dial(&address).await?;
                sockets.push(subscriber);
            }
            receive_all(sockets, orders).await
        } else {
            let mut sockets = Vec::new();
            for _ in 0..orders.receivers {
                let pull = Pull::new();
                pull.set_receive_queue(queue);
                pull.dial(&address).await?;
                sockets.push(pull);
            }
            receive_all(sockets, orders).await
        }
    })
}

/// A task for each socket. READY means that each of them is connected, because it was greeted.
async fn receive_all<S>(sockets: Vec<S>, orders: &Orders) -> Result<(), Failure>
where
    S: Receives + Send + Sync + 'static,
{
    let (greeted, mut greetings) = channel(orders.receivers);
    let tasks: Vec<_> = sockets
        .into_iter()
        .map(|socket| wigwag::spawn(take_all(socket, orders.clone(), greeted.clone())))
        .collect();
    for _ in 0..orders.receivers {
        greetings.recv().await.ok_or("a receiver ended before it was greeted")?;
    }
    exit_when_input_ends();
    print_line("READY")?;
    let (mut all, mut open) = (Vec::new(), Vec::new());
    for task in tasks {
        let (receipts, socket) = task.await??;
        all.push(receipts);
        // It stays open until the input ends.
        open.push(socket);
    }
    print_line(&Receipts::account(&all).to_string())?;
    pending().await
}

async fn take_all<S: Receives>(
    socket: S,
    orders: Orders,
    greeted: Sender<()>,
) -> Result<(Receipts, S), Failure> {
    let mut receipts = Receipts::new(&orders);
    let mut is_first = true;
    loop {
        let arrival = receipts.take(&socket.receive().await?);
        if std::mem::take(&mut is_first) {
            greeted.send(()).await?;
        }
        if arrival == Arrival::End {
            return Ok((receipts, socket));
        }
        if orders.work_us > 0 {
            sleep(Duration::from_micros(orders.work_us)).await;
        }
    }
}
