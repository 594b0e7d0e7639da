//! Dials the addresses of one name side by side: the first that answers is taken (RFC 8305).
//!
//! The families alternate, the resolver's first address first. The next one is tried when the last
//! attempt has failed, or has not answered for [`ATTEMPT_DELAY`]; so a family that leads nowhere
//! costs a quarter of a second and not the minutes that the system waits.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

/// Pause before the next attempt while the last one has no answer (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Addresses of a name that are tried at most.
const ATTEMPTS_MAX: usize = 16;

/// Connects to the first of `targets` that answers; the error is that of the last attempt. Dropping
/// the future ends all attempts.
pub(crate) async fn first<T, F>(
    targets: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    T: Send + 'static,
    F: Future<Output = io::Result<T>> + Send + 'static,
{
    let mut targets = alternate(targets);
    if let (1, Some(only)) = (targets.len(), targets.front()) {
        return connect(*only).await;
    }
    let (mut attempts, mut failed) = (JoinSet::new(), None);
    loop {
        match targets.pop_front() {
            Some(target) => drop(attempts.spawn(connect(target))),
            None if attempts.is_empty() => {
                return Err(failed.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
            }
            None => {}
        }
        let ended = match targets.is_empty() {
            true => attempts.join_next().await,
            false => timeout(ATTEMPT_DELAY, attempts.join_next()).await.unwrap_or(None),
        };
        match ended {
            Some(Ok(Ok(connection))) => return Ok(connection),
            Some(Ok(Err(error))) => failed = Some(error),
            Some(Err(ended)) => failed = Some(io::Error::other(ended)),
            // The last attempt has no answer yet.
            None => {}
        }
    }
}

/// The addresses with their families in turn, as many as are tried.
fn alternate(targets: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let Some(first) = targets.first().map(SocketAddr::is_ipv4) else { return VecDeque::new() };
    let (mut same, mut other): (VecDeque<_>, VecDeque<_>) =
        targets.into_iter().partition(|target| target.is_ipv4() == first);
    let mut all = VecDeque::new();
    while all.len() < ATTEMPTS_MAX && !(same.is_empty() && other.is_empty()) {
        all.extend(same.pop_front());
        all.extend(other.pop_front());
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::time::{Instant, sleep};

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The behaviour of an attempt.
    #[derive(Clone, Copy)]
    enum End {
        Answers(u64),
        Refuses(u64),
        Never,
    }

    /// Dials port N of 1 to 9, whose attempt ends as `ends[N - 1]`; the ports in the order in which
    /// they were tried, with the milliseconds, and the outcome.
    async fn dialled(ends: &[End]) -> (Vec<(u16, u128)>, io::Result<u16>) {
        let targets = (1..).zip(ends).map(|(port, _)| SocketAddr::new([127, 0, 0, 1].into(), port));
        let (begun, tried) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let ends = ends.to_vec();
        let outcome = first(targets.collect(), |target| {
            let port = target.port();
            tried.lock().unwrap().push((port, begun.elapsed().as_millis()));
            let end = ends[usize::from(port) - 1];
            async move {
                match end {
                    End::Answers(after) => sleep(Duration::from_millis(after)).await,
                    End::Refuses(after) => {
                        sleep(Duration::from_millis(after)).await;
                        return Err(io::ErrorKind::ConnectionRefused.into());
                    }
                    End::Never => std::future::pending().await,
                }
                Ok(port)
            }
        })
        .await;
        let tried = tried.lock().unwrap().clone();
        (tried, outcome)
    }

    #[test]
    fn families_alternate_and_the_first_stays_first() {
        let all = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"];
        let expected = ["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"];
        assert_eq!(alternate(addresses(&all)), addresses(&expected));
        let many = vec![addresses(&["1.1.1.1:1"])[0]; 100];
        assert_eq!(alternate(many).len(), ATTEMPTS_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_does_not_answer_delays_the_next_by_a_quarter_of_a_second() {
        let (tried, outcome) = dialled(&[End::Never, End::Answers(10), End::Never]).await;
        assert_eq!(tried, [(1, 0), (2, 250)]);
        assert_eq!(outcome.unwrap(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_has_the_next_tried_at_once() {
        let (tried, outcome) = dialled(&[End::Refuses(10), End::Refuses(5), End::Answers(1)]).await;
        assert_eq!(tried, [(1, 0), (2, 10), (3, 15)]);
        assert_eq!(outcome.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_of_an_earlier_address_is_taken_and_the_last_error_is_told() {
        let (tried, outcome) = dialled(&[End::Answers(300), End::Never]).await;
        assert_eq!(tried, [(1, 0), (2, 250)]);
        assert_eq!(outcome.unwrap(), 1);
        let (_, outcome) = dialled(&[End::Refuses(1), End::Refuses(1)]).await;
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
