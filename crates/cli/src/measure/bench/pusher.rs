//! Clients that push messages to `wigwag bench serve`, which verifies them and reports the counts.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use wigwag_lab::digest::{SentDigest, Verified};

use super::control::{self, ControlReply, ControlRequest};
use super::payload::Stamper;
use super::seconds::Seconds;
use crate::exit::{Code, Failed};
use crate::socket::Socket;

/// Time limit for the service's verdict. Messages in flight fill at most the socket buffers of two
/// kernels.
const ACCOUNT_TIME: Duration = Duration::from_secs(60);

/// The address of a run at the service.
pub(super) struct PushTarget {
    run: u64,
    pub(super) address: String,
}

/// The service's verdict on a run.
pub(super) struct PushResults {
    pub(super) verified: Verified,
    pub(super) seconds: Seconds,
}

/// Requests an address to push to; `None` if the peer only echoes.
pub(super) async fn target(
    control: &Socket,
    url: &str,
    clients: usize,
    size: usize,
    limit: Duration,
) -> Result<Option<PushTarget>, Failed> {
    let request = control::write(&ControlRequest::Pull { clients, size });
    let Socket::Req(req) = control else { return Ok(None) };
    let reply = tokio::time::timeout(limit, req.ask(request)).await.map_err(|_| {
        let what = format!("no reply arrived within {limit:?}");
        let hint = "check that something answers there: wigwag bench serve, or an echo";
        Failed::with_hint(Code::NoAnswer, &what, url, hint)
    })??;
    match control::read(&reply) {
        Some(ControlReply::Pull { run, address }) => {
            Ok(Some(PushTarget { run, address: reachable(url, &address) }))
        }
        Some(ControlReply::Refused { why }) => {
            let what = format!("the service refused the run: {why}");
            Err(Failed::with_hint(
                Code::Refused,
                &what,
                url,
                "use fewer clients or smaller messages",
            ))
        }
        _ => Ok(None),
    }
}

/// Pushes through every socket its share of `count` messages until all are sent, `until` is reached
/// or `stop` is set, then asks the service for the verdict.
pub(super) async fn push_all(
    control: &Socket,
    target: &PushTarget,
    sockets: Vec<Socket>,
    plan: PushPlan,
    stop: &watch::Receiver<bool>,
) -> Result<PushResults, Failed> {
    let clients = sockets.len() as u64;
    let mut tasks = JoinSet::new();
    for (number, socket) in (0..).zip(sockets) {
        let share = plan.count.map(|count| count / clients + u64::from(number < count % clients));
        let stamper = Stamper::new(number as u32, plan.size, plan.seed);
        let digest = push(socket, stamper, share, plan, stop.clone());
        tasks.spawn(async move {
            digest.await.map(|(digest, socket)| (number as usize, digest, socket))
        });
    }
    let mut sent = vec![SentDigest::default(); clients as usize];
    // The sockets stay open until the verdict, so that queued messages are still written.
    let mut open = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        let (number, digest, socket) =
            ended.map_err(|error| Failed::new(Code::Internal, error))??;
        sent[number] = digest;
        open.push(socket);
    }
    let request = control::write(&ControlRequest::Account { run: target.run, sent });
    let Socket::Req(req) = control else { return Err(missing_account(&target.address)) };
    let reply = tokio::time::timeout(ACCOUNT_TIME, req.ask(request)).await;
    let reply = reply.map_err(|_| missing_account(&target.address))??;
    match control::read(&reply) {
        Some(ControlReply::Account { verified, seconds }) => Ok(PushResults {
            verified: Verified::from_words(verified),
            seconds: Seconds::from_vec(seconds),
        }),
        _ => Err(missing_account(&target.address)),
    }
}

/// Settings of a run.
#[derive(Clone, Copy)]
pub(super) struct PushPlan {
    pub(super) size: usize,
    pub(super) count: Option<u64>,
    pub(super) until: Option<Instant>,
    /// Time limit for one send.
    pub(super) deadline: Duration,
    pub(super) seed: u64,
}

async fn push(
    socket: Socket,
    mut stamper: Stamper,
    share: Option<u64>,
    plan: PushPlan,
    mut stop: watch::Receiver<bool>,
) -> Result<(SentDigest, Socket), Failed> {
    while share.is_none_or(|share| stamper.sent.count < share) {
        if plan.until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
        let before = stamper.sent;
        let (_, message) = stamper.stamp();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {
                stamper.sent = before;
                break;
            }
            sent = tokio::time::timeout(plan.deadline, socket.send(message)) => {
                sent.map_err(|_| send_timeout(plan.deadline))??;
            }
        }
    }
    Ok((stamper.sent, socket))
}

fn send_timeout(limit: Duration) -> Failed {
    let what = format!("there was no room for a message within {limit:?}");
    Failed::with_hint(
        Code::NoAnswer,
        &what,
        "bench throughput",
        "look at the service, and run again",
    )
}

/// The address as this process reaches it: a wildcard host is replaced by the host of `url`.
fn reachable(url: &str, address: &str) -> String {
    let port = address.strip_prefix("tcp://0.0.0.0:").or(address.strip_prefix("tcp://[::]:"));
    match (port, url.rsplit_once(':')) {
        (Some(port), Some((host, _))) => format!("{host}:{port}"),
        _ => address.to_owned(),
    }
}

fn missing_account(at: &str) -> Failed {
    let what = "the service did not report the verdict on the messages";
    Failed::with_hint(Code::NoAnswer, what, at, "look at the service, and run again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_host_is_replaced_by_the_dialed_host() {
        let reachable = |address| reachable("tcp://10.0.0.1:7001", address);
        assert_eq!(reachable("tcp://0.0.0.0:41234"), "tcp://10.0.0.1:41234");
        assert_eq!(reachable("tcp://[::]:41234"), "tcp://10.0.0.1:41234");
        assert_eq!(reachable("tcp://127.0.0.1:5"), "tcp://127.0.0.1:5");
        assert_eq!(reachable("ipc:///tmp/a.1"), "ipc:///tmp/a.1");
    }
}
