//! Calls go before the answer that leads to their actor, and are handled in their order.

use std::time::Duration;

use wigwag::{Actor, Node, NodeOptions};

use super::{Desk, PATIENCE, client_of, gated, put, served};

#[tokio::test]
async fn calls_through_an_answer_are_sent_before_it_comes() {
    let (first, gate) = gated();
    let second = put(&first, "second").await;
    let third = put(&second, "third").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let piped = desk.find_later("second".to_owned()).pipe();
    // Nothing is answered yet, and there is room at once for what the channel may hold.
    for line in 0..10 {
        piped.note(&line.to_string()).try_tell().unwrap();
    }
    let counted = piped.note("asked").try_ask().unwrap();
    let behind = piped.find("third").pipe();
    behind.note("far").try_tell().unwrap();
    let lines = behind.lines().try_ask().unwrap();
    gate.add_permits(1);
    assert_eq!(counted.await.unwrap(), 11);
    assert_eq!(lines.await.unwrap(), ["far"]);
    let lines = (0..10).map(|line| line.to_string()).chain(["asked".to_owned()]);
    assert_eq!(second.lines().ask().await.unwrap(), lines.collect::<Vec<_>>());
    assert_eq!(third.lines().ask().await.unwrap(), ["far"]);
    // The channel stays when the answer has come.
    assert_eq!(piped.note("later").ask().await.unwrap(), 12);
    assert_eq!(behind.clone().note("later").ask().await.unwrap(), 2);
}

#[tokio::test]
async fn a_chain_is_written_in_one_line() {
    let first = Desk::default().spawn();
    let second = put(&first, "second").await;
    let third = put(&second, "third").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    for n in 1..=100 {
        let noted = desk.find("second").pipe().look_up("third").pipe().note("line").ask().await;
        assert_eq!(noted.unwrap(), n);
        assert_eq!(desk.only().pipe().only().pipe().lines().ask().await.unwrap().len() as u64, n);
    }
    assert_eq!(third.lines().ask().await.unwrap().len(), 100);
    // In a turn, all at once.
    let asked = wigwag::spawn(async move {
        let mut answers = Vec::new();
        for _ in 0..500 {
            let piped = desk.find("second").pipe().find("third").pipe();
            answers.push(piped.note("turn").into_ask());
        }
        let mut last = 0;
        for answer in answers {
            last = answer.await.unwrap();
        }
        last
    });
    assert_eq!(asked.await.unwrap(), 600);
}

/// More calls than the channel may hold wait for room, and stay in their order.
#[tokio::test]
async fn calls_beyond_the_credit_of_the_channel_wait() {
    let (first, gate) = gated();
    let second = put(&first, "second").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let piped = desk.find_later("second".to_owned()).pipe();
    let told = tokio::spawn(async move {
        for line in 0..20_000 {
            piped.note(&line.to_string()).tell().await.unwrap();
        }
        piped.note("last").ask().await.unwrap()
    });
    tokio::task::yield_now().await;
    gate.add_permits(1);
    assert_eq!(tokio::time::timeout(PATIENCE, told).await.unwrap().unwrap(), 20_001);
    let lines = second.lines().ask().await.unwrap();
    assert!(lines.iter().take(20_000).enumerate().all(|(at, line)| *line == at.to_string()));
}

#[tokio::test]
async fn an_actor_of_a_third_node_is_called_through_the_one_that_was_asked() {
    for relays in [true, false] {
        let third = Desk::default().spawn();
        let (_third_node, third_url) = served(&third).await;
        let first = Desk::default().spawn();
        let service = Node::with(NodeOptions::default().relay_references(relays));
        service.export("desk", &first).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let far = service.actor::<Desk>(&third_url).await.unwrap();
        first.put("third", far).ask().await.unwrap();
        let (_client, desk) = client_of(&format!("{bound}/desk")).await;
        let noted = desk.find("third").pipe().note("far").ask().await;
        if relays {
            assert_eq!(noted.unwrap(), 1);
        } else {
            let error = noted.unwrap_err().into_error();
            assert_eq!(error.kind, wigwag::CallErrorKind::NoSuchActor, "{error}");
            assert!(error.to_string().contains("does not relay"), "{error}");
        }
        assert_eq!(third.lines().ask().await.unwrap().len(), usize::from(relays));
    }
}

/// An actor with a bound for its mailbox is called through an answer as through its name.
#[tokio::test]
async fn a_bounded_actor_is_called_through_an_answer() {
    let (first, gate) = gated();
    let options = wigwag::ActorOptions::default().mailbox_calls(4);
    let second = Desk::default().spawn_with(options);
    first.put("second", second.clone()).ask().await.unwrap();
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let piped = desk.find_later("second".to_owned()).pipe();
    piped.note("before").tell().await.unwrap();
    gate.add_permits(1);
    for line in 0..1_000 {
        piped.note(&line.to_string()).tell().await.unwrap();
    }
    assert_eq!(piped.note("last").ask().await.unwrap(), 1_002);
}

/// The second answer is that of an actor of another process which had no room for the ask.
#[tokio::test]
async fn a_stream_goes_through_an_answer_that_leads_to_another_one() {
    let (here, gate) = gated();
    put(&here, "second").await.note("line").ask().await.unwrap();
    let (_service, url) = served(&here).await;
    let (_client, desk) = client_of(&url).await;
    let mut asked = Vec::new();
    while let Ok(answer) = desk.find_later("second".to_owned()).try_ask() {
        asked.push(answer);
    }
    let piped = desk.find_later("second".to_owned()).pipe();
    let near = Desk::default().spawn();
    near.put("piped", piped).ask().await.unwrap();
    let through = near.find("piped").pipe();
    // This call sees the first answer come, and waits for the second one.
    let waits = through.lines().timeout(Duration::from_millis(50)).ask();
    assert!(waits.await.is_err());
    let mut lines = through.each_line();
    let reading = tokio::spawn(async move { lines.next().await });
    tokio::task::yield_now().await;
    gate.add_permits(asked.len() + 1);
    for answer in asked {
        answer.await.unwrap();
    }
    let line = tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
    assert_eq!(line.unwrap().unwrap(), "line");
}
