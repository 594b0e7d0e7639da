//! Actors that ask each other in a circle.

use wigwag::{Actor, CallErrorKind, This};

use super::desk::within;

/// Asks its neighbour, from a future beside the mailbox or from a handler that holds the actor.
#[derive(Default)]
struct Neighbour {
    other: Option<NeighbourRef>,
}

#[wigwag::actor]
impl Neighbour {
    pub fn meet(&mut self, other: Option<NeighbourRef>) {
        self.other = other;
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&mut self, this: &This<Self>, hops: u64) -> impl Future<Output = u64> {
        // The future holds a reference to its own actor, which may be the only one by then.
        let (other, this) = (self.other.clone().unwrap(), this.reference());
        async move {
            let hops = match hops {
                0 => 0,
                hops => other.held_up(hops - 1).ask().await.unwrap_or(1000),
            };
            drop(this);
            hops + 1
        }
    }

    pub async fn held_up(&mut self, hops: u64) -> u64 {
        let other = self.other.clone().unwrap();
        let asked = match hops {
            0 => return 0,
            hops if hops % 2 == 0 => other.held_up(hops - 1).ask().await,
            hops => other.beside(hops - 1).ask().await,
        };
        match asked {
            Ok(hops) => hops + 1,
            Err(error) if error.error().kind == CallErrorKind::CallCycle => 500,
            Err(_) => 2000,
        }
    }
}

#[tokio::test]
async fn a_circle_through_a_future_is_answered_and_one_without_is_refused() {
    let (first, second) = (Neighbour::default().spawn(), Neighbour::default().spawn());
    first.meet(Some(second.clone())).ask().await.unwrap();
    second.meet(Some(first.clone())).ask().await.unwrap();
    // first.beside → second.held_up → first.beside → second: it is held up, and is not asked again.
    assert_eq!(within(first.beside(2).ask()).await.unwrap(), 3);
    // first.held_up → second.held_up → first.beside, which cannot begin: a circle.
    assert_eq!(within(first.held_up(2).ask()).await.unwrap(), 501);
    let told = first.beside(2).try_ask().unwrap();
    assert_eq!(within(told).await.unwrap(), 3);
    second.meet(None).ask().await.unwrap();
    first.meet(None).ask().await.unwrap();
}
