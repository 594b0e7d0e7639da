//! Ping-pong: two actors send one message to and fro, 40,000 times. Checks that each of them has
//! received as many as the other has sent.

use tokio::sync::oneshot;
use wigwag::{Actor, Local};

use super::{Alive, run};

const PINGS: u32 = 40_000;

struct Ping {
    pong: PongRef,
    left: u32,
    done: Option<oneshot::Sender<()>>,
    _alive: Alive,
}

#[wigwag::actor]
impl Ping {
    pub fn start(&mut self, me: PingRef, done: Local<oneshot::Sender<()>>) {
        self.done = Some(done.0);
        self.pong(me);
    }

    pub fn pong(&mut self, me: PingRef) {
        if self.left > 0 {
            self.left -= 1;
            self.pong.ping(me).try_tell().unwrap();
        } else if let Some(done) = self.done.take() {
            done.send(()).unwrap();
        }
    }
}

struct Pong {
    pings: u32,
    _alive: Alive,
}

#[wigwag::actor]
impl Pong {
    pub fn ping(&mut self, from: PingRef) {
        self.pings += 1;
        from.pong(from.clone()).try_tell().unwrap();
    }

    pub fn pings(&self) -> u32 {
        self.pings
    }
}

#[test]
fn ping_pong() {
    run(async |alive| {
        let pong = Pong { pings: 0, _alive: alive.clone() }.spawn();
        let ping = Ping { pong: pong.clone(), left: PINGS, done: None, _alive: alive }.spawn();
        let (done, ended) = oneshot::channel();
        ping.start(ping.clone(), Local(done)).tell().await.unwrap();
        ended.await.unwrap();
        assert_eq!(pong.pings().ask().await.unwrap(), PINGS);
    });
}
