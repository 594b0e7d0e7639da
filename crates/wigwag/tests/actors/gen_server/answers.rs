//! Answers that others give: another actor, a thread, somebody whose server has ended long ago.

use wigwag::{CallErrorKind, Responder, lifecycle::Alive};

use super::server::{ServerRef, apart, is_gone, server, soon};

/// Takes the answer out of the server, for whoever is to give it.
async fn taken(server: &ServerRef, number: u64) -> Responder<u64> {
    loop {
        let owed = server.visit(move |server| server.owed.remove(&number)).await.unwrap();
        if let Some(answer) = owed {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

/// gen_server_SUITE: reply_by_alias_with_payload. An answer is a value of its own: a plain thread
/// gives it, to an asker here and to one elsewhere.
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

/// gen_server_SUITE: reply_by_alias_with_payload, call. An answer that was taken along outlives its
/// server; it reaches its asker, whatever has become of the server.
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

/// gen_server_SUITE: call. An answer is owed once: to give another error is not possible, to lose it
/// is an error that the asker hears, and one that comes late is thrown away.
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
