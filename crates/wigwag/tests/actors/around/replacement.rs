//! Replacing the state or the behaviour of a live actor: its address and its mail stay.

use wigwag::{
    Actor, CallErrorKind, Node,
    lifecycle::{Alive, ReplaceError},
};

/// Behaviour that can be exchanged: any type with these methods.
trait Pricing: Send {
    fn price(&self, pieces: u64) -> u64;
}

struct Each(u64);

impl Pricing for Each {
    fn price(&self, pieces: u64) -> u64 {
        self.0 * pieces
    }
}

/// One piece in each `.0` pieces is free.
struct Free(u64);

impl Pricing for Free {
    fn price(&self, pieces: u64) -> u64 {
        pieces - pieces / self.0
    }
}

struct Shop {
    sold: u64,
    pricing: Box<dyn Pricing>,
}

#[wigwag::actor]
impl Shop {
    pub fn sell(&mut self, pieces: u64) -> u64 {
        self.sold += pieces;
        self.pricing.price(pieces)
    }

    pub fn sold(&self) -> u64 {
        self.sold
    }
}

fn shop() -> ShopRef {
    Shop { sold: 0, pricing: Box::new(Each(3)) }.spawn()
}

#[tokio::test]
async fn a_new_state_with_other_behaviour_handles_the_mail_that_waits() {
    let shop = shop();
    assert_eq!(shop.sell(10).ask().await.unwrap(), 30);
    let handle = shop.handle().unwrap();
    handle.suspend();
    let waits = shop.sell(10).try_ask().unwrap();
    let old = shop
        .replace(|old| Ok::<_, ()>(Shop { sold: old.sold, pricing: Box::new(Free(5)) }))
        .await
        .unwrap();
    assert_eq!((old.sold, old.pricing.price(10)), (10, 30));
    handle.resume();
    assert_eq!(waits.await.unwrap(), 8);
    assert_eq!(shop.sold().ask().await.unwrap(), 20);
    assert_eq!(shop.handle().unwrap(), handle, "it is the same actor");
}

#[tokio::test]
async fn a_conversion_that_fails_or_panics_leaves_the_old_state_running() {
    let shop = shop();
    shop.sell(10).ask().await.unwrap();
    let refused = shop.replace(|old| Err(format!("{} were sold", old.sold))).await;
    let Err(ReplaceError::Refused(why)) = refused else { panic!("it was not refused") };
    assert_eq!(why, "10 were sold");
    let panicked = shop.replace::<String>(|_| panic!("on purpose")).await.map(|_| ());
    let error = panicked.unwrap_err();
    assert!(matches!(&error, ReplaceError::Panicked(text) if text == "on purpose"), "{error}");
    assert_eq!(shop.sell(1).ask().await.unwrap(), 3);
    assert_eq!(shop.sold().ask().await.unwrap(), 11);
}

#[tokio::test]
async fn an_actor_that_is_not_reached_is_not_replaced() {
    let kind = |outcome: Result<Shop, ReplaceError<()>>| match outcome.map(|_| ()) {
        Err(ReplaceError::Unreached(error)) => error.kind,
        other => panic!("{other:?}"),
    };
    let new = |_: &Shop| Ok(Shop { sold: 0, pricing: Box::new(Each(1)) });
    let here = shop();
    let (service, client) = (Node::new(), Node::new());
    service.export("shop", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Shop>(&format!("{bound}/shop")).await.unwrap();
    assert_eq!(kind(there.replace(new).await), CallErrorKind::Remote);
    here.handle().unwrap().kill();
    assert_eq!(kind(here.replace(new).await), CallErrorKind::ActorStopped);
}
