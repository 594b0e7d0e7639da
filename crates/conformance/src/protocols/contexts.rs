//! The promises of contexts: many independent exchanges on one socket.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use wigwag_net::socket::{Pub, Rep, Req, Respondent, SocketErrorKind, Sub, Surveyor};
use wigwag_sp::limits::CONTEXTS_MAX;

use crate::{TestEnv, eventually, pause};

async fn joined(env: &TestEnv, req: Req) -> (Req, Rep) {
    let rep = Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens");
    req.dial(&address.to_string()).await.expect("dials");
    (req, rep)
}

/// A hundred contexts ask over one connection and four answer; each gets the reply to its own
/// question.
pub async fn many_questions_at_once_each_get_their_own_answer(env: &TestEnv) {
    let (req, rep) = joined(env, Req::new()).await;
    for _ in 0..4 {
        let worker = rep.context().expect("a context");
        tokio::spawn(async move {
            while let Ok(question) = worker.recv().await {
                // Lets other replies overtake this one.
                tokio::task::yield_now().await;
                let reply = [b"re ".as_slice(), &question].concat();
                worker.send(reply).await.expect("sent");
            }
        });
    }
    let asking = (0..100).map(|who| {
        let context = req.context().expect("a context");
        tokio::spawn(async move {
            for round in 0..20 {
                let question = format!("{who}/{round}");
                let reply = context.ask(question.clone()).await.expect("a reply");
                assert_eq!(reply, format!("re {question}"));
            }
        })
    });
    let asking: Vec<_> = asking.collect();
    for one in asking {
        one.await.expect("all its replies");
    }
    assert_eq!(req.statistics().pipes_opened, 1);
    assert_eq!(req.statistics().counters.received, 2000);
    assert_eq!(req.statistics().counters.dropped(), 0);
}

/// One of two contexts is dropped with its question; the reply to it counts as late, and the other
/// context gets its reply.
pub async fn a_dropped_context_cancels_its_question(env: &TestEnv) {
    let (req, rep) = joined(env, Req::new()).await;
    let (kept, dropped) = (req.context().expect("one"), req.context().expect("two"));
    dropped.send("dropped").await.expect("sent");
    kept.send("kept").await.expect("sent");
    let workers = [rep.context().expect("one"), rep.context().expect("two")];
    let mut taken = Vec::new();
    for worker in &workers {
        taken.push(worker.recv().await.expect("a question"));
    }
    assert_eq!(taken, ["dropped", "kept"]);
    drop(dropped);
    for (worker, question) in workers.iter().zip(taken) {
        worker.send(question).await.expect("sent");
    }
    assert_eq!(kept.recv().await.expect("a reply"), "kept");
    let counters = req.statistics().counters;
    assert_eq!((counters.cancelled, counters.dropped_late), (1, 1));
}

/// The future of an ask is dropped before its reply arrives: its question is not resent, while the
/// older, unanswered question of another context is.
pub async fn a_dropped_ask_is_not_asked_again(env: &TestEnv) {
    let resending = Req::with_resend(Some(Duration::from_millis(20)));
    let (req, rep) = joined(env, resending).await;
    let (given_up, patient) = (req.context().expect("one"), req.context().expect("two"));
    patient.send("patient").await.expect("sent");
    {
        let mut asking = pin!(given_up.ask("given up"));
        poll_fn(|context| {
            assert!(asking.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    }
    assert_eq!(req.statistics().counters.cancelled, 1);
    let mut seen = Vec::new();
    while seen.iter().filter(|question| **question == "patient").count() < 3 {
        seen.push(rep.recv().await.expect("a question"));
    }
    let others = seen.iter().filter(|question| **question == "given up").count();
    assert!(others <= 1, "it was asked once, or taken back before it left: {others}");
    rep.send("at last").await.expect("sent");
    assert_eq!(patient.recv().await.expect("a reply"), "at last");
    let nothing = given_up.recv().await.expect_err("it was given up");
    assert!(matches!(nothing.kind, SocketErrorKind::NothingAsked), "{nothing}");
}

/// Two surveys run at once: each gets its own answers, and the end of one does not end the other.
pub async fn surveys_run_side_by_side(env: &TestEnv) {
    let surveyor = Surveyor::new();
    let address = surveyor.listen(&env.address()).await.expect("listens");
    let respondent = Respondent::new();
    respondent.dial(&address.to_string()).await.expect("dials");
    eventually(|| surveyor.statistics().pipes_open == 1).await;
    let (short, long) = (surveyor.context().expect("one"), surveyor.context().expect("two"));
    short.set_survey_time(Some(Duration::from_millis(20)));
    long.set_survey_time(None);
    long.send("long").await.expect("sent");
    short.send("short").await.expect("sent");
    let answering = [respondent.context().expect("one"), respondent.context().expect("two")];
    for context in &answering {
        context.recv().await.expect("a survey");
    }
    let over = short.recv().await.expect_err("nobody answers in time");
    assert!(matches!(over.kind, SocketErrorKind::SurveyOver), "{over}");
    answering[1].send("too late").await.expect("sent");
    answering[0].send("in time").await.expect("sent");
    assert_eq!(long.recv().await.expect("an answer"), "in time");
    eventually(|| surveyor.statistics().counters.dropped_late == 1).await;
}

/// Three subscribers with topics of their own share one connection; a subscriber that does not read
/// loses only its own messages.
pub async fn each_context_receives_its_own_topics(env: &TestEnv) {
    const MANY: usize = 5000;
    let sub = Sub::new();
    let address = sub.listen(&env.address()).await.expect("listens");
    let contexts = [sub.context().expect("one"), sub.context().expect("two")];
    let [wind, unread] = &contexts;
    sub.subscribe("end").expect("a topic");
    wind.subscribe("wind").expect("a topic");
    unread.subscribe("").expect("a topic");
    let publisher = Arc::new(Pub::new());
    publisher.dial(&address.to_string()).await.expect("dials");
    eventually(|| publisher.statistics().pipes_open == 1).await;
    for number in 0..MANY {
        publisher.send(format!("wind {number}")).await.expect("sent");
        publisher.send("rain").await.expect("sent");
        assert_eq!(wind.recv().await.expect("its topic"), format!("wind {number}"));
    }
    publisher.send("end").await.expect("sent");
    assert_eq!(sub.recv().await.expect("its topic"), "end");
    assert!(matches!(sub.try_recv().expect_err("no more").kind, SocketErrorKind::Empty));
    assert_eq!(publisher.statistics().counters.dropped(), 0, "nobody was stopped");
    let missed = sub.statistics().counters.dropped_overflow;
    let mut heard = 0;
    while unread.try_recv().is_ok() {
        heard += 1;
    }
    assert_eq!(heard + missed, 2 * MANY as u64 + 1);
    assert!(missed > 0, "its queue is bounded");
}

/// A context beyond the limit is refused, a dropped context makes room, and calls of the contexts
/// of a closed socket fail.
pub async fn contexts_are_bounded_and_end_with_their_socket(env: &TestEnv) {
    let (req, _rep) = joined(env, Req::new()).await;
    let mut contexts: Vec<_> =
        (0..CONTEXTS_MAX).map(|_| req.context().expect("a context")).collect();
    let refused = req.context().err().expect("one too many");
    assert!(matches!(refused.kind, SocketErrorKind::TooManyContexts), "{refused}");
    contexts.truncate(2);
    let waiting = req.context().expect("there is room again");
    let waiting = tokio::spawn(async move { waiting.ask("nobody answers").await });
    while req.statistics().counters.sent == 0 {
        pause().await;
    }
    drop(req);
    let ended = waiting.await.expect("no panic").expect_err("closed");
    assert!(matches!(ended.kind, SocketErrorKind::Closed), "{ended}");
    let ended = contexts[0].send("x").await.expect_err("closed");
    assert!(matches!(ended.error.kind, SocketErrorKind::Closed));
}
