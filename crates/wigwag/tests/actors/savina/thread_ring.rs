//! Thread ring: 100 actors in a ring pass one message along, 100,000 hops. Checks that the message
//! visits each of them equally often, and that the ring, whose members keep each other alive, can
//! be taken apart by a message of its own.

use tokio::sync::oneshot;
use wigwag::{Actor, Local};

use super::{Alive, run};

const ACTORS: u64 = 100;
const HOPS: u64 = 100_000;

struct Member {
    next: Option<MemberRef>,
    hops: u64,
    _alive: Alive,
}

/// The channel for the count of every member's hops when the ring ends.
type Done = Local<oneshot::Sender<Vec<u64>>>;

#[wigwag::actor]
impl Member {
    pub fn link(&mut self, next: MemberRef) {
        self.next = Some(next);
    }

    pub fn hop(&mut self, left: u64, done: Done) {
        self.hops += 1;
        let Some(next) = &self.next else { panic!("the ring is closed") };
        if left > 1 {
            next.hop(left - 1, done).try_tell().unwrap();
        } else {
            next.end(Vec::new(), done).try_tell().unwrap();
        }
    }

    /// Drops the reference to the next member, and tells it to do likewise.
    pub fn end(&mut self, mut counts: Vec<u64>, done: Done) {
        counts.push(self.hops);
        match self.next.take() {
            Some(next) if (counts.len() as u64) < ACTORS => {
                next.end(counts, done).try_tell().unwrap();
            }
            _ => done.0.send(counts).unwrap(),
        }
    }
}

#[test]
fn thread_ring() {
    run(async |alive| {
        let member = |_| Member { next: None, hops: 0, _alive: alive.clone() }.spawn();
        let ring: Vec<MemberRef> = (0..ACTORS).map(member).collect();
        for (one, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            one.link(next.clone()).tell().await.unwrap();
        }
        let (done, ended) = oneshot::channel();
        ring[0].hop(HOPS, Local(done)).tell().await.unwrap();
        drop(ring);
        assert_eq!(ended.await.unwrap(), vec![HOPS / ACTORS; ACTORS as usize]);
    });
}
