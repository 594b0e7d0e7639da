//! Sockets that take turns with their peer, req and rep: each message comes because of another one.
//!
//! A call that waits for the other side's turn spins before its thread parks, where trials show that
//! it pays ([`SpinPolicy`]).

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use wigwag_spin::{SPIN_MAX, SpinPolicy};
use wigwag_wire::ProtocolNumber;

use crate::socket::calls::Caller;
use crate::socket::calls::message::SocketMessage;
use crate::socket::core::Core;
use crate::socket::error::SocketError;

/// How the calls of a socket of this protocol spin; `None` if it takes no turns.
pub(crate) fn spin_policy(number: ProtocolNumber) -> Option<SpinPolicy> {
    let takes_turns = matches!(number, ProtocolNumber::REQ | ProtocolNumber::REP);
    takes_turns.then(|| SpinPolicy::new(SPIN_MAX))
}

impl Core {
    /// [`recv`](Self::recv) of a socket that takes turns.
    pub(crate) async fn recv_in_turn<P: SocketMessage>(
        self: &Arc<Core>,
        caller: Caller,
        round: Option<u64>,
    ) -> Result<P, SocketError> {
        let mut receiving = self.recv(caller, round);
        let mut spin = self.spin.as_ref().and_then(SpinPolicy::begin);
        let outcome = poll_fn(|context| {
            let outcome = Pin::new(&mut receiving).poll(context);
            if outcome.is_pending()
                && let Some(spin) = &mut spin
            {
                spin.again(context);
            }
            outcome
        })
        .await;
        if outcome.is_ok()
            && let Some(spin) = spin
        {
            spin.found();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::socket::{Pull, Rep, Req};
    use crate::sync::{AtomicUsize, Ordering};

    const HOUR: Duration = Duration::from_secs(3600);

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls `call`, which has nothing to receive, three times, and returns how often it woke its
    /// task.
    fn wakes_of(call: impl Future<Output = Result<Bytes, SocketError>>) -> usize {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut call = std::pin::pin!(call);
        for _ in 0..3 {
            let outcome = call.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(outcome.is_pending(), "{outcome:?}");
        }
        wakes.0.load(Ordering::Relaxed)
    }

    fn spin(core: &mut Arc<Core>, limit: Duration) {
        let core = Arc::get_mut(core).expect("the socket is new");
        core.spin = Some(SpinPolicy::spinning(limit));
    }

    #[test]
    fn a_call_that_spins_is_polled_again_until_its_time_is_over() {
        for (limit, wakes) in [(HOUR, 3), (Duration::from_nanos(1), 0), (Duration::ZERO, 0)] {
            let mut rep = Rep::new();
            spin(&mut rep.0.0, limit);
            assert_eq!(wakes_of(rep.recv()), wakes, "{limit:?}");
        }
    }

    #[test]
    fn a_context_spins_as_its_socket_does_until_that_forbids_it() {
        for (limit, wakes) in [(HOUR, 3), (Duration::ZERO, 0)] {
            let mut rep = Rep::new();
            spin(&mut rep.0.0, HOUR);
            let context = rep.context().unwrap();
            rep.set_spin(limit);
            assert_eq!(wakes_of(context.recv()), wakes, "{limit:?}");
        }
    }

    #[test]
    fn a_call_that_has_spun_and_received_lets_the_next_one_spin() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut rep, req) = (Rep::new(), Req::new());
        spin(&mut rep.0.0, HOUR);
        runtime.block_on(ask_three_times(&req, &rep));
        // Outside of the runtime, whose tasks that yield are woken later.
        assert_eq!(wakes_of(rep.recv()), 3);
    }

    async fn ask_three_times(req: &Req, rep: &Rep) {
        rep.listen("inproc://spun").await.unwrap();
        req.dial("inproc://spun").await.unwrap();
        let answering = async {
            for _ in 0..3 {
                let request = rep.recv().await.unwrap();
                rep.send(request).await.unwrap();
            }
        };
        let asking = async {
            for _ in 0..3 {
                req.ask("word").await.unwrap();
            }
        };
        tokio::join!(answering, asking);
    }

    #[test]
    fn a_socket_that_takes_no_turns_does_not_spin() {
        let mut pull = Pull::new();
        spin(&mut pull.0.0, HOUR);
        assert_eq!(wakes_of(pull.recv()), 0);
    }
}
