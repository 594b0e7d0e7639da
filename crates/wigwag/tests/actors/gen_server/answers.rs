//! Answers given by others: another actor, a thread, or a task that outlives the server.

use wigwag::{CallErrorKind, Responder, lifecycle::Alive};

use super::server::{ServerRef, apart, is_gone, server, soon};

/// Takes a responder out of the server, so that another thread or task may answer.
async fn taken(server: &ServerRef, number: u64) -> Responder<u64> {
    loop {
        let owed = server.visit(move |server| server.owed.remove(&number)).await.unwrap();
        if let Some(answer) = owed {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

/// gen_server_SUITE: reply_by_alias_with_payload. A responder is a value: a plain thread answers
/// with it, to a caller in this process and to a remote one.
#[tokio::test]
async fn a_thread_may_give_an_answer() {
    let (local, _said) = server();
    let (_service, _client, there, _) = apart(&local).await;
    for (asker, number) in [(&local, 1), (&there, 2)] {
        let asked = soon(asker.owe(number).ask().sent()).await.unwrap();
        let answer = taken(&local, number).await;
        std::thread::spawn(move || answer.send(40 + number)).join().unwrap();
        assert_eq!(soon(asked).await.unwrap(), 40 + number);
    }
}

/// gen_server_SUITE: reply_by_alias_with_payload, call. A responder outlives its server; the answer
/// reaches its caller even after the server has ended.
#[tokio::test]
async fn an_answer_outlives_its_server() {
    let (local, _said) = server();
    let (_service, _client, there, _) = apart(&local).await;
    for (asker, number) in [(&local, 1), (&there, 2)] {
        let asked = soon(asker.owe(number).ask().sent()).await.unwrap();
        let answer = taken(&local, number).await;
        if number == 2 {
            local.handle().unwrap().kill();
            is_gone(&local).await;
        }
        answer.send(number);
        assert_eq!(soon(asked).await.unwrap(), number);
    }
}

/// gen_server_SUITE: call. A responder is used once: a second error cannot be sent, a dropped
/// responder is an error to the caller, and a late answer is discarded.
#[tokio::test]
async fn a_lost_answer_is_told_and_a_late_one_is_not() {
    let (server, _said) = server();
    let asked = server.owe(1).try_ask().unwrap();
    drop(taken(&server, 1).await);
    assert_eq!(soon(asked).await.unwrap_err().kind, CallErrorKind::ReplyDropped);
    let asked = server.owe(2).try_ask().unwrap();
    taken(&server, 2).await.fail(5, "not today");
    let error = soon(asked).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Application(0x8005));
    assert_eq!(error.detail.as_deref(), Some("not today"));
    let asked = server.owe(3).try_ask().unwrap();
    let late = taken(&server, 3).await;
    assert!(late.is_wanted());
    drop(asked);
    assert!(!late.is_wanted());
    late.send(3);
    assert_eq!(server.number(4).ask().await.unwrap(), 4);
}
