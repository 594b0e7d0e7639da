//! `wigwag bench serve`: the peer of a measurement.
//!
//! The service echoes requests. On request it opens an address for pushed messages and verifies the
//! stamp of each. It serves one run at a time: starting a run ends the previous one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use wigwag::{
    Address, Bytes,
    sp::{Pull, Rep},
    transport::ListenOptions,
};
use wigwag_lab::digest::{SentDigest, SequenceDigest, Verified};

use super::control::{self, ControlReply, ControlRequest};
use super::payload::Stamp;
use super::seconds::Seconds;
use super::{CLIENTS_MAX, SIZE_MAX};
use crate::exit::Failed;
use crate::socket::Socket;

/// Messages that are still missing after this much silence count as lost.
const SILENCE: Duration = Duration::from_secs(1);

/// Answers requests until the future is dropped.
pub(super) async fn serve(
    socket: &Socket,
    bound: &Address,
    options: ListenOptions,
) -> Result<(), Failed> {
    let Socket::Rep(rep) = socket else { return Ok(()) };
    let mut service = Service { bound: bound.clone(), options, runs: 0, run: None };
    loop {
        service.answer(rep).await?;
    }
}

struct Service {
    bound: Address,
    /// The options of the addresses for pushed messages.
    options: ListenOptions,
    runs: u64,
    run: Option<PullRun>,
}

impl Service {
    async fn answer(&mut self, rep: &Rep) -> Result<(), Failed> {
        let request = rep.recv().await.map_err(Failed::from)?;
        let reply = match control::read(&request) {
            None => request,
            Some(request) => control::write(&self.execute(request).await),
        };
        Ok(rep.send(reply).await.map_err(wigwag::sp::SocketError::from)?)
    }

    async fn execute(&mut self, request: ControlRequest) -> ControlReply {
        match request {
            ControlRequest::Pull { clients, size }
                if clients <= CLIENTS_MAX && size <= SIZE_MAX =>
            {
                self.run = None;
                self.runs += 1;
                match PullRun::start(&self.bound, self.options.clone(), self.runs, clients, size)
                    .await
                {
                    Ok((run, address)) => {
                        self.run = Some(run);
                        ControlReply::Pull { run: self.runs, address }
                    }
                    Err(error) => ControlReply::Refused { why: error.kind.to_string() },
                }
            }
            ControlRequest::Pull { .. } => ControlReply::Refused {
                why: format!("at most {CLIENTS_MAX} clients and messages of {SIZE_MAX} bytes"),
            },
            ControlRequest::Account { run, sent } => {
                match self.run.take().filter(|_| run == self.runs) {
                    Some(run) => run.account(&sent).await,
                    None => {
                        ControlReply::Refused { why: "another run has started since".to_owned() }
                    }
                }
            }
        }
    }
}

/// One run: a pull socket, and the messages it has received.
struct PullRun {
    received: Arc<Mutex<ReceivedMessages>>,
    progress: watch::Receiver<()>,
    receiving: JoinHandle<()>,
}

struct ReceivedMessages {
    digest: SequenceDigest,
    /// Messages that do not belong to this run.
    wrong: u64,
    received: u64,
    begun: Option<Instant>,
    seconds: Seconds,
    size: usize,
}

impl PullRun {
    async fn start(
        bound: &Address,
        options: ListenOptions,
        number: u64,
        clients: usize,
        size: usize,
    ) -> Result<(PullRun, String), wigwag::transport::NetError> {
        let pull = Pull::new();
        pull.set_receive_limit(size);
        let address = pull.listen_with(&push_address(bound, number), options).await?.to_string();
        let received = Arc::new(Mutex::new(ReceivedMessages {
            digest: SequenceDigest::new(clients),
            wrong: 0,
            received: 0,
            begun: None,
            seconds: Seconds::default(),
            size,
        }));
        let (notify, progress) = watch::channel(());
        let theirs = received.clone();
        let receiving = tokio::spawn(async move {
            while let Ok(message) = pull.recv().await {
                theirs.lock().unwrap_or_else(PoisonError::into_inner).record(&message);
                notify.send_replace(());
            }
        });
        Ok((PullRun { received, progress, receiving }, address))
    }

    /// Waits until all sent messages have arrived or none arrives for [`SILENCE`], then returns the
    /// verdict.
    async fn account(mut self, sent: &[SentDigest]) -> ControlReply {
        let due: u64 = sent.iter().fold(0, |sum, one| sum.saturating_add(one.count));
        while self.with(|received| received.received) < due {
            let change = tokio::time::timeout(SILENCE, self.progress.changed()).await;
            if !matches!(change, Ok(Ok(()))) {
                break;
            }
        }
        self.with(|received| ControlReply::Account {
            verified: received.verdict(sent).to_words(),
            seconds: received.seconds.to_vec(),
        })
    }

    fn with<T>(&self, look: impl FnOnce(&ReceivedMessages) -> T) -> T {
        look(&self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for PullRun {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

impl ReceivedMessages {
    fn record(&mut self, message: &Bytes) {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        self.seconds.count(begun.elapsed());
        self.received += 1;
        match Stamp::read(message, self.size) {
            Some(stamp) => self.digest.accept(stamp.sender as usize, stamp.sequence, stamp.value),
            None => self.wrong += 1,
        }
    }

    fn verdict(&self, sent: &[SentDigest]) -> Verified {
        let mut verified = self.digest.verdict_against(sent);
        verified.received += self.wrong;
        verified.corrupt += self.wrong;
        verified.lost = verified.lost.saturating_sub(self.wrong);
        verified
    }
}

/// The address for pushed messages of a run: the host of `bound` with a free port, or a path in the
/// same folder.
fn push_address(bound: &Address, number: u64) -> String {
    match (bound.scheme(), bound.rest().rsplit_once(':')) {
        (scheme @ ("tcp" | "tls+tcp" | "ws" | "wss"), Some((host, _))) => {
            format!("{scheme}://{host}:0")
        }
        _ => format!("{bound}.{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::payload::Stamper;

    #[test]
    fn the_push_address_is_on_the_same_host() {
        let push_address = |text: &str| push_address(&text.parse().unwrap(), 2);
        assert_eq!(push_address("tcp://127.0.0.1:7001"), "tcp://127.0.0.1:0");
        assert_eq!(push_address("tcp://[::1]:7001"), "tcp://[::1]:0");
        assert_eq!(push_address("tls+tcp://127.0.0.1:7001"), "tls+tcp://127.0.0.1:0");
        assert_eq!(push_address("ws://127.0.0.1:7001/path"), "ws://127.0.0.1:0");
        assert_eq!(push_address("ipc:///tmp/a"), "ipc:///tmp/a.2");
    }

    #[tokio::test]
    async fn received_messages_are_verified_and_missing_ones_are_lost() {
        let bound: Address = "tcp://127.0.0.1:0".parse().unwrap();
        let (run, address) =
            PullRun::start(&bound, ListenOptions::default(), 1, 1, 32).await.unwrap();
        let push = wigwag::sp::Push::new();
        push.dial(&address).await.unwrap();
        let mut stamper = Stamper::new(0, 32, 1);
        for number in 0..10 {
            let (_, message) = stamper.stamp();
            match number {
                3 => {}
                5 => push.send("something else").await.unwrap(),
                _ => push.send(message).await.unwrap(),
            }
        }
        let ControlReply::Account { verified, .. } = run.account(&[stamper.sent]).await else {
            panic!("no account");
        };
        let verified = Verified::from_words(verified);
        assert_eq!((verified.sent, verified.received), (10, 9));
        assert_eq!((verified.lost, verified.corrupt), (1, 1));
    }

    #[tokio::test]
    async fn orders_beyond_the_limits_and_of_other_runs_are_refused() {
        let bound: Address = "tcp://127.0.0.1:0".parse().unwrap();
        let options = ListenOptions::default();
        let mut service = Service { bound, options, runs: 0, run: None };
        for request in [
            ControlRequest::Pull { clients: CLIENTS_MAX + 1, size: 32 },
            ControlRequest::Pull { clients: 1, size: SIZE_MAX + 1 },
            ControlRequest::Account { run: 0, sent: Vec::new() },
        ] {
            assert!(matches!(service.execute(request).await, ControlReply::Refused { .. }));
        }
    }
}
