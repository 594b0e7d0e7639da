//! The promises of a forwarder between two raw sockets.

use std::time::Duration;

use tokio::task::JoinHandle;
use wigwag_net::Address;
use wigwag_net::socket::raw::{self, End};
use wigwag_net::socket::{
    Bus, Forwarded, Forwarder, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, SocketErrorKind,
    Star, Sub, Surveyor,
};

use crate::payload::{LENGTHS, body, check};
use crate::{TestEnv, eventually, pause};

/// Runs a forwarder beside the test.
pub(crate) fn forwarding(front: impl Into<End>, back: impl Into<End>) -> JoinHandle<Forwarded> {
    let forwarder = Forwarder::between(front, back).expect("they are partners");
    tokio::spawn(async move { forwarder.run().await })
}

fn reflecting(socket: impl Into<End>) -> JoinHandle<Forwarded> {
    let forwarder = Forwarder::reflecting(socket).expect("it reflects");
    tokio::spawn(async move { forwarder.run().await })
}

/// Listens with both sockets.
macro_rules! listening {
    ($env:expr, $front:ty, $back:ty) => {{
        let (front, back) = (<$front>::new(), <$back>::new());
        let clients: Address =
            front.listen(&$env.named_address("front")).await.expect("listens").into();
        let workers: Address =
            back.listen(&$env.named_address("back")).await.expect("listens").into();
        let running = forwarding(&front, &back);
        (front, back, clients.to_string(), workers.to_string(), running)
    }};
}

/// Ten clients ask two workers through a forwarder, with bodies of every length; each client gets
/// its own reply.
pub async fn requests_and_replies_pass(env: &TestEnv) {
    let (front, _back, clients, workers, running) = listening!(env, raw::Rep, raw::Req);
    for _ in 0..2 {
        let rep = Rep::new();
        rep.dial(&workers).await.expect("dials");
        tokio::spawn(async move {
            while let Ok(question) = rep.recv().await {
                rep.send(question).await.expect("sent");
            }
        });
    }
    let mut asking = Vec::new();
    for who in 0..10 {
        let req = Req::new();
        req.dial(&clients).await.expect("dials");
        asking.push(tokio::spawn(async move {
            for (round, length) in LENGTHS.into_iter().enumerate() {
                let number = 100 * who + round;
                let reply = req.ask(body(number, length)).await.expect("a reply");
                check(&reply, number, length);
            }
        }));
    }
    for one in asking {
        one.await.expect("all its replies");
    }
    front.close().await;
    let counts = running.await.expect("no panic");
    assert_eq!((counts.forwarded, counts.dropped), (2 * 10 * LENGTHS.len() as u64, 0));
}

/// While the puller does not read, the pusher stops once the queues on the way are full. Then all
/// messages arrive in order.
pub async fn work_passes_in_order_and_a_full_end_stops_the_source(env: &TestEnv) {
    let (_front, _back, clients, workers, running) = listening!(env, raw::Pull, raw::Push);
    let (push, pull) = (Push::new(), Pull::new());
    push.dial(&clients).await.expect("dials");
    pull.dial(&workers).await.expect("dials");
    push.set_send_timeout(Some(Duration::from_millis(200)));
    let mut sent = 0;
    while push.send(body(sent, 20_000)).await.is_ok() {
        sent += 1;
        assert!(sent < 100_000, "the pusher is never stopped");
    }
    for number in 0..sent {
        check(&pull.recv().await.expect("a message"), number, 20_000);
    }
    push.set_send_timeout(None);
    push.send("the last one").await.expect("there is room again");
    assert_eq!(pull.recv().await.expect("a message"), "the last one");
    running.abort();
}

/// While no worker is connected, the forwarder takes no message, so none counts as received.
pub async fn no_message_is_taken_that_cannot_be_forwarded(env: &TestEnv) {
    let (front, back, clients, workers, running) = listening!(env, raw::Pull, raw::Push);
    let push = Push::new();
    push.dial(&clients).await.expect("dials");
    for number in 0..10 {
        push.send(format!("{number}")).await.expect("sent");
    }
    eventually(|| push.statistics().pipes_open == 1).await;
    pause().await;
    assert_eq!(front.statistics().counters.received, 0, "no worker could take it");
    let pull = Pull::new();
    pull.dial(&workers).await.expect("dials");
    for number in 0..10 {
        assert_eq!(pull.recv().await.expect("a message"), format!("{number}"));
    }
    // The worker leaves while the forwarder waits for work: the next message waits for another
    // worker.
    pull.close().await;
    eventually(|| back.statistics().pipes_open == 0).await;
    push.send("for another").await.expect("sent");
    pause().await;
    assert_eq!(front.statistics().counters.received, 10);
    let other = Pull::new();
    other.dial(&workers).await.expect("dials");
    assert_eq!(other.recv().await.expect("a message"), "for another");
    running.abort();
}

/// The forwarder takes every topic, and each subscriber filters for itself.
pub async fn published_values_pass(env: &TestEnv) {
    let (front, back, publishers, subscribers, running) = listening!(env, raw::Sub, raw::Pub);
    let publisher = Pub::new();
    publisher.dial(&publishers).await.expect("dials");
    let subs = [Sub::new(), Sub::new()];
    for (sub, topic) in subs.iter().zip(["wind", ""]) {
        sub.subscribe(topic).expect("a topic");
        sub.dial(&subscribers).await.expect("dials");
    }
    eventually(|| front.statistics().pipes_open == 1 && back.statistics().pipes_open == 2).await;
    for message in ["rain/1", "wind/2", "wind/3"] {
        publisher.send(message).await.expect("sent");
    }
    for message in ["wind/2", "wind/3"] {
        assert_eq!(subs[0].recv().await.expect("its topic"), message);
    }
    for message in ["rain/1", "wind/2", "wind/3"] {
        assert_eq!(subs[1].recv().await.expect("everything"), message);
    }
    back.close().await;
    assert_eq!(running.await.expect("no panic").forwarded, 3);
}

/// All respondents behind the forwarder get the survey, and all answers come back.
pub async fn surveys_pass(env: &TestEnv) {
    let (front, back, surveyors, respondents, running) =
        listening!(env, raw::Respondent, raw::Surveyor);
    let surveyor = Surveyor::new();
    surveyor.set_survey_time(Some(Duration::from_secs(30)));
    surveyor.dial(&surveyors).await.expect("dials");
    let mut answering = Vec::new();
    for number in 0..3_u8 {
        let respondent = Respondent::new();
        respondent.dial(&respondents).await.expect("dials");
        answering.push(tokio::spawn(async move {
            while respondent.recv().await.is_ok() {
                respondent.send(vec![number]).await.expect("sent");
            }
        }));
    }
    eventually(|| front.statistics().pipes_open == 1 && back.statistics().pipes_open == 3).await;
    for _ in 0..5 {
        surveyor.send("who?").await.expect("sent");
        let mut heard = Vec::new();
        for _ in 0..3 {
            heard.push(surveyor.recv().await.expect("an answer")[0]);
        }
        heard.sort_unstable();
        assert_eq!(heard, [0, 1, 2]);
    }
    running.abort();
    answering.iter().for_each(JoinHandle::abort);
}

/// Both versions of pair, both ways at once.
pub async fn pairs_pass_both_ways(env: &TestEnv) {
    macro_rules! talk {
        ($pair:ty, $raw:ty) => {{
            let (front, back, one, other, running) = listening!(env, $raw, $raw);
            let (left, right) = (<$pair>::new(), <$pair>::new());
            left.dial(&one).await.expect("dials");
            right.dial(&other).await.expect("dials");
            for number in 0..500_u32 {
                left.send(number.to_be_bytes()).await.expect("sent");
                right.send(number.to_be_bytes()).await.expect("sent");
            }
            for number in 0..500_u32 {
                assert_eq!(left.recv().await.expect("a message")[..], number.to_be_bytes());
                assert_eq!(right.recv().await.expect("a message")[..], number.to_be_bytes());
            }
            front.close().await;
            let counts = running.await.expect("no panic");
            assert_eq!((counts.forwarded, counts.dropped), (1000, 0));
            // A dropped socket would free its address later, and the next round needs it.
            back.close().await;
        }};
    }
    talk!(Pair, raw::Pair);
    talk!(Pair0, raw::Pair0);
}

/// A message on one bus reaches every socket of the other bus and none of its own, because a bus
/// has no hops.
pub async fn a_bus_passes_to_the_other_bus(env: &TestEnv) {
    let (front, back, one, other, running) = listening!(env, raw::Bus, raw::Bus);
    let (left, beside) = (Bus::new(), Bus::new());
    let rights = [Bus::new(), Bus::new()];
    for bus in [&left, &beside] {
        bus.dial(&one).await.expect("dials");
    }
    for bus in &rights {
        bus.dial(&other).await.expect("dials");
    }
    eventually(|| front.statistics().pipes_open == 2 && back.statistics().pipes_open == 2).await;
    left.send("from the left").await.expect("sent");
    for bus in &rights {
        assert_eq!(bus.recv().await.expect("a message"), "from the left");
    }
    rights[0].send("from the right").await.expect("sent");
    for bus in [&left, &beside] {
        assert_eq!(bus.recv().await.expect("a message"), "from the right");
    }
    for bus in [&left, &beside, &rights[0], &rights[1]] {
        assert!(matches!(bus.try_recv().expect_err("no more").kind, SocketErrorKind::Empty));
    }
    running.abort();
}

/// Two stars become one: all sockets but the sender receive the message, once.
pub async fn a_star_passes_to_all_sockets(env: &TestEnv) {
    let (front, back, one, other, running) = listening!(env, raw::Star, raw::Star);
    let stars = [Star::new(), Star::new(), Star::new(), Star::new()];
    for (number, star) in stars.iter().enumerate() {
        let address = if number < 2 { &one } else { &other };
        star.dial(address).await.expect("dials");
    }
    eventually(|| front.statistics().pipes_open == 2 && back.statistics().pipes_open == 2).await;
    stars[0].send("hello").await.expect("sent");
    for star in &stars[1..] {
        assert_eq!(star.recv().await.expect("a message"), "hello");
    }
    pause().await;
    for star in &stars {
        assert!(matches!(star.try_recv().expect_err("no more").kind, SocketErrorKind::Empty));
    }
    running.abort();
}

/// A reflected bus or star sends to all peers but the origin; a reflected pair with many peers
/// sends back to the origin.
pub async fn reflectors_send_out_of_the_socket_that_received(env: &TestEnv) {
    macro_rules! meet {
        ($end:ty, $middle:expr) => {{
            let address = $middle.listen(&env.address()).await.expect("listens").to_string();
            let running = reflecting(&$middle);
            let ends = [<$end>::new(), <$end>::new()];
            for end in &ends {
                end.dial(&address).await.expect("dials");
            }
            eventually(|| $middle.statistics().pipes_open == 2).await;
            (ends, running)
        }};
    }
    let middle = raw::Bus::new();
    let (ends, running) = meet!(Bus, middle);
    ends[0].send("hello").await.expect("sent");
    assert_eq!(ends[1].recv().await.expect("a message"), "hello");
    assert!(ends[0].try_recv().is_err());
    middle.close().await;
    assert_eq!(running.await.expect("no panic").forwarded, 1);

    let middle = raw::Star::new();
    let (ends, running) = meet!(Star, middle);
    ends[1].send("hello").await.expect("sent");
    assert_eq!(ends[0].recv().await.expect("a message"), "hello");
    middle.close().await;
    assert_eq!(running.await.expect("no panic").forwarded, 1);

    let middle = raw::PairMany::new();
    let (ends, running) = meet!(Pair, middle);
    for (end, said) in ends.iter().zip(["mine", "yours"]) {
        end.send(said).await.expect("sent");
    }
    for (end, said) in ends.iter().zip(["mine", "yours"]) {
        assert_eq!(end.recv().await.expect("its own"), said);
    }
    middle.close().await;
    assert_eq!(running.await.expect("no panic").forwarded, 2);
}

/// A client asks and leaves; its reply is dropped and counted, and the other clients are served.
pub async fn a_client_that_leaves_costs_only_its_reply(env: &TestEnv) {
    let (front, _back, clients, workers, running) = listening!(env, raw::Rep, raw::Req);
    let rep = Rep::new();
    rep.dial(&workers).await.expect("dials");
    let (leaving, staying) = (Req::new(), Req::new());
    leaving.dial(&clients).await.expect("dials");
    staying.dial(&clients).await.expect("dials");
    leaving.send("I leave").await.expect("sent");
    assert_eq!(rep.recv().await.expect("a request"), "I leave");
    leaving.close().await;
    eventually(|| front.statistics().pipes_open == 1).await;
    rep.send("too late").await.expect("sent");
    staying.send("I stay").await.expect("sent");
    assert_eq!(rep.recv().await.expect("a request"), "I stay");
    rep.send("good").await.expect("sent");
    assert_eq!(staying.recv().await.expect("a reply"), "good");
    assert_eq!(front.statistics().counters.dropped_pipe_gone, 1);
    front.close().await;
    let counts = running.await.expect("no panic");
    assert_eq!((counts.forwarded, counts.dropped), (4, 1));
}

/// Closing or dropping either socket ends the forwarder; the other socket stays open.
pub async fn a_forwarder_ends_with_either_socket(env: &TestEnv) {
    let (front, _back, ..) = &listening!(env, raw::Rep, raw::Req);
    front.close().await;
    for side in 0..3 {
        let (front, back) = (raw::Pull::new(), raw::Push::new());
        let address = back.listen(&env.named_address(&format!("{side}"))).await.expect("listens");
        let running = forwarding(&front, &back);
        tokio::task::yield_now().await;
        assert!(!running.is_finished());
        match side {
            0 => front.close().await,
            1 => back.close().await,
            _ => drop(front),
        }
        assert_eq!(running.await.expect("no panic"), Forwarded::default());
        if side != 1 {
            let pull = Pull::new();
            pull.dial(&address.to_string()).await.expect("the other one is open");
        }
    }
}
