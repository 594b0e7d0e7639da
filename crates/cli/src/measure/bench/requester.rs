//! Clients that send one request at a time each, and compare every reply with its request.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use wigwag::{Bytes, sp::SocketError};
use wigwag_lab::digest::{SentDigest, SequenceDigest, Verified};
use wigwag_lab::times::Times;

use super::payload::{Stamp, Stamper};
use super::seconds::Seconds;
use crate::socket::Socket;

/// Settings that all clients of a run share.
#[derive(Clone)]
pub(super) struct RequestPlan {
    /// Bytes of a request.
    pub(super) size: usize,
    /// The expected reply to every request; `None` expects an echo of the request.
    pub(super) expect: Option<Bytes>,
    /// Time limit for one reply.
    pub(super) deadline: Duration,
    /// The time at which clients stop, however many requests they have sent.
    pub(super) until: Option<Instant>,
    pub(super) seed: u64,
    pub(super) begun: Instant,
}

/// Results of one client, or of all clients together.
#[derive(Default)]
pub(super) struct RequestResults {
    pub(super) verified: Verified,
    pub(super) times: Times,
    pub(super) seconds: Seconds,
    pub(super) reply_bytes: u64,
    /// Why the first client that stopped early did so.
    pub(super) trouble: Option<String>,
}

/// Runs one client per socket, each with its share of `count` requests, until all have finished or
/// `stop` is set.
pub(super) async fn ask_all(
    sockets: Vec<Socket>,
    count: Option<u64>,
    plan: &RequestPlan,
    stop: &watch::Receiver<bool>,
) -> RequestResults {
    let clients = sockets.len() as u64;
    let mut tasks = JoinSet::new();
    for (number, socket) in (0..).zip(sockets) {
        let share = count.map(|count| count / clients + u64::from(number < count % clients));
        let client = Client::new(number as u32, plan.clone());
        tasks.spawn(client.run(socket, share, stop.clone()));
    }
    let mut all = RequestResults::default();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(one) => all.add(one),
            Err(error) => all.trouble = all.trouble.take().or(Some(error.to_string())),
        }
    }
    all
}

impl RequestResults {
    fn add(&mut self, other: RequestResults) {
        self.verified = self.verified + other.verified;
        self.times.add(&other.times);
        self.seconds.add(&other.seconds);
        self.reply_bytes += other.reply_bytes;
        self.trouble = self.trouble.take().or(other.trouble);
    }
}

struct Client {
    plan: RequestPlan,
    number: u32,
    stamper: Stamper,
    seen: SequenceDigest,
    /// Replies that match no request of this client.
    wrong: u64,
    /// Second and later replies to one request.
    doubled: u64,
    results: RequestResults,
}

impl Client {
    fn new(number: u32, plan: RequestPlan) -> Client {
        let stamper = Stamper::new(number, plan.size, plan.seed);
        let (seen, results) = (SequenceDigest::new(1), RequestResults::default());
        Client { plan, number, stamper, seen, wrong: 0, doubled: 0, results }
    }

    async fn run(
        mut self,
        socket: Socket,
        share: Option<u64>,
        stop: watch::Receiver<bool>,
    ) -> RequestResults {
        let mut stop = stop;
        while share.is_none_or(|share| self.stamper.sent.count < share) {
            if self.plan.until.is_some_and(|until| Instant::now() >= until) || *stop.borrow() {
                break;
            }
            let before = self.stamper.sent;
            let (stamp, request) = self.stamper.stamp();
            let begun = Instant::now();
            let reply = tokio::select! {
                reply = tokio::time::timeout(self.plan.deadline, exchange(&socket, request)) => reply,
                _ = stop.wait_for(|stop| *stop) => {
                    // Interrupted: this request does not count, because its reply is not awaited.
                    self.stamper.sent = before;
                    break;
                }
            };
            match reply {
                Ok(Ok(reply)) => self.check(stamp, &reply, begun),
                Ok(Err(error)) => return self.abort(error.kind.to_string()),
                Err(_) => {
                    let limit = self.plan.deadline;
                    return self.abort(format!("no reply arrived within {limit:?}"));
                }
            }
        }
        let statistics = socket.statistics();
        if statistics.counters.resent == 0 {
            // The socket drops and counts a second reply to a request, so only the count shows it.
            self.doubled = statistics.counters.dropped_late;
        }
        socket.close().await;
        self.finish()
    }

    /// Ends the client early, for example after a timeout. Requests without a reply count as lost.
    fn abort(mut self, why: String) -> RequestResults {
        self.results.trouble = Some(why);
        self.finish()
    }

    fn check(&mut self, stamp: Stamp, reply: &[u8], begun: Instant) {
        let now = Instant::now();
        self.results.times.take(now - begun);
        self.results.seconds.count(now - self.plan.begun);
        self.results.reply_bytes += reply.len() as u64;
        let replied = match &self.plan.expect {
            Some(expect) => (reply == expect).then_some(stamp),
            None => Stamp::read(reply, self.plan.size).filter(|it| it.sender == self.number),
        };
        match replied {
            Some(replied) => self.seen.accept(0, replied.sequence, replied.value),
            None => self.wrong += 1,
        }
    }

    fn finish(self) -> RequestResults {
        let mut verified = verdict(&self.seen, self.stamper.sent, self.wrong);
        verified.received += self.doubled;
        verified.duplicated += self.doubled;
        RequestResults { verified, ..self.results }
    }
}

/// The verdict on one sender's messages, of which `wrong` were received as something else.
fn verdict(seen: &SequenceDigest, sent: SentDigest, wrong: u64) -> Verified {
    let mut verified = seen.verdict_against(&[sent]);
    verified.received += wrong;
    verified.corrupt += wrong;
    verified.lost = verified.lost.saturating_sub(wrong);
    verified
}

async fn exchange(socket: &Socket, request: Bytes) -> Result<Bytes, SocketError> {
    match socket {
        Socket::Req(req) => req.ask(request).await,
        pair => {
            pair.send(request).await?;
            pair.recv().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(expect: Option<&'static str>) -> Client {
        let plan = RequestPlan {
            size: 32,
            expect: expect.map(Bytes::from),
            deadline: Duration::from_secs(1),
            until: None,
            seed: 1,
            begun: Instant::now(),
        };
        Client::new(0, plan)
    }

    /// Sends three requests to `peer` and returns the six counts of the verdict.
    fn counts(peer: impl Fn(usize, &[Bytes]) -> Bytes) -> [u64; 6] {
        let mut client = client(None);
        let mut requests = Vec::new();
        for at in 0..3 {
            let (stamp, request) = client.stamper.stamp();
            requests.push(request);
            let reply = peer(at, &requests);
            client.check(stamp, &reply, Instant::now());
        }
        client.finish().verified.to_words()
    }

    #[test]
    fn an_echo_is_verified_and_any_other_reply_is_detected() {
        assert_eq!(counts(|at, requests| requests[at].clone()), [3, 3, 0, 0, 0, 0]);
        // The first reply three times: two duplicates, two lost.
        assert_eq!(counts(|_, requests| requests[0].clone()), [3, 3, 2, 2, 0, 0]);
        let garbage = |_: usize, _: &[Bytes]| Bytes::from_static(b"pong");
        assert_eq!(counts(garbage), [3, 3, 0, 0, 0, 3]);
        let truncated = |at: usize, requests: &[Bytes]| requests[at].slice(..31);
        assert_eq!(counts(truncated), [3, 3, 0, 0, 0, 3]);
    }

    #[test]
    fn a_fixed_reply_is_compared_with_the_expected_one() {
        let mut client = client(Some("pong"));
        for reply in [b"pong", b"ping"] {
            let (stamp, _) = client.stamper.stamp();
            client.check(stamp, reply, Instant::now());
        }
        assert_eq!(client.finish().verified.to_words(), [2, 2, 0, 0, 0, 1]);
    }
}
