//! `#[wigwag::actor(local)]`: an actor that is never exported takes and answers values of any type
//! that can be moved to another thread.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;

use wigwag::lifecycle::Alive;
use wigwag::{Actor, CallErrorKind, Life, Node, Reason, Responder, This, Yield};

/// A type without an encoding, which cannot even be cloned.
#[derive(Debug, PartialEq)]
struct Token(u32);

/// A generic one.
struct Held<T>(T);

type Job = Box<dyn FnOnce(&mut u32) -> Token + Send>;

#[derive(Default)]
struct Workshop {
    count: u32,
    waiting: Vec<Responder<Token>>,
    ended: Option<mpsc::Sender<&'static str>>,
}

#[wigwag::actor(life, local)]
impl Workshop {
    pub fn run(&mut self, job: Job) -> Token {
        job(&mut self.count)
    }

    pub fn dynamic(
        &mut self,
        job: Box<dyn FnOnce() -> Option<Token> + Send + 'static>,
    ) -> Option<Token> {
        job()
    }

    pub fn report_to(&mut self, ended: mpsc::Sender<&'static str>) {
        self.ended = Some(ended);
    }

    pub fn named(&self, name: &str, bytes: &[u8], fixed: &'static str) -> String {
        format!("{name} {} {fixed}", bytes.len())
    }

    pub async fn later(&mut self, token: Token) -> Result<Held<Token>, Token> {
        tokio::task::yield_now().await;
        if token.0 == 0 { Err(token) } else { Ok(Held(token)) }
    }

    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn beside(&mut self, key: u32, token: Token) -> impl Future<Output = (u32, Token)> {
        async move {
            tokio::task::yield_now().await;
            (key, token)
        }
    }

    pub fn wait(&mut self, answer: Responder<Token>) {
        self.waiting.push(answer);
    }

    pub fn release(&mut self, this: &This<Self>) {
        for answer in self.waiting.drain(..) {
            answer.send(Token(this.reference().clone().as_ref().target().len() as u32));
        }
    }

    pub fn tokens(&self, most: u32, mut items: Yield<Token>) {
        tokio::spawn(async move {
            for number in 0..most {
                if items.send(Token(number)).await.is_err() {
                    return;
                }
            }
            items.finish();
        });
    }
}

impl Life for Workshop {
    async fn stopped(&mut self, _: &This<Workshop>, _: &Reason) {
        if let Some(ended) = self.ended.take() {
            ended.send("ended").unwrap();
        }
    }
}

#[tokio::test]
async fn arguments_and_replies_of_a_local_actor_need_no_encoding() {
    let shop = Workshop::default().spawn();
    let job = |by: u32| -> Job {
        Box::new(move |count| {
            *count += by;
            Token(*count)
        })
    };
    assert_eq!(shop.run(job(2)).ask().await.unwrap(), Token(2));
    shop.run(job(3)).receipt().await.unwrap().await;
    assert_eq!(shop.run(job(1)).urgent().ask().await.unwrap(), Token(6));
    assert_eq!(shop.dynamic(Box::new(|| Some(Token(9)))).ask().await.unwrap(), Some(Token(9)));
    assert_eq!(shop.named("a", &[1, 2], "b").ask().await.unwrap(), "a 2 b");
    assert!(matches!(shop.later(Token(1)).ask().await, Ok(Ok(Held(Token(1))))));
    assert!(matches!(shop.later(Token(0)).ask().await, Ok(Err(Token(0)))));
    assert_eq!(shop.beside(1, Token(4)).ask().await.unwrap(), (1, Token(4)));
    let mut answers = shop.pipeline::<Token, u32>(4).unwrap();
    for number in 0..4 {
        answers.push(shop.run(job(0)), number).await.unwrap();
    }
    for number in 0..4 {
        let (value, answer) = answers.answer().await.unwrap();
        assert_eq!((value, answer.unwrap()), (number, Token(6)));
    }
}

#[tokio::test]
async fn a_local_actor_answers_later_and_with_streams() {
    let shop = Workshop::default().spawn();
    let waiting = shop.wait().try_ask().unwrap();
    shop.release().tell().await.unwrap();
    assert_eq!(waiting.await.unwrap(), Token("Workshop".len() as u32));
    let (mut tokens, mut next) = (shop.tokens(20).ahead(4), 0);
    while let Some(token) = tokens.next().await {
        assert_eq!(token.unwrap(), Token(next));
        next += 1;
    }
    assert_eq!(next, 20);
}

#[tokio::test]
async fn an_argument_may_be_any_channel() {
    let shop = Workshop::default().spawn();
    let (sender, receiver) = mpsc::channel();
    shop.report_to(sender).ask().await.unwrap();
    let handle = shop.handle().unwrap();
    handle.stop();
    handle.ended().await;
    assert_eq!(receiver.recv(), Ok("ended"));
}

/// An actor that another process reaches under a name.
struct Other;

#[wigwag::actor]
impl Other {
    pub fn run(&self, number: u32) -> u32 {
        number
    }
}

#[tokio::test]
async fn a_call_by_a_local_interface_to_another_process_is_refused() {
    let (service, client) = (Node::new(), Node::new());
    service.export("other", &Other.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Workshop>(&format!("{bound}/other")).await.unwrap();
    let error = there.run(Box::new(|_| Token(0))).ask().await.unwrap_err().into_error();
    assert_eq!(error.kind, CallErrorKind::NotSerializable);
}
