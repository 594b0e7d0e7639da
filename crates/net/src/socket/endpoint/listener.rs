//! Listens at an address and accepts its peers.
//!
//! The accept loop only accepts: each handshake runs in a task of its own, and their number is
//! limited. A silent peer loses its place after the handshake time, or sooner to a new connection
//! that finds all places taken.

use std::sync::Arc;

use wigwag_wire::ReadBuf;

use crate::accepting::acceptor::Acceptor;
use crate::accepting::places::{Place, Places};
use crate::accepting::source::Source;
use crate::addresses::address::Address;
use crate::clock;
use crate::error::{NetError, NetErrorKind};
use crate::handshake::{greet, within};
use crate::options::ListenOptions;
use crate::socket::UNAUTHENTICATED_MAX;
use crate::socket::core::Core;
use crate::socket::endpoint::{Endpoint, EndpointGuard, Listener, PipeOptions};
use crate::socket::observe::Side;
use crate::socket::race::until;
use crate::transport::{self, Connection};

impl Core {
    /// Listens at `address`; returns the address where it really does.
    pub(crate) async fn listen(
        self: &Arc<Core>,
        address: &str,
        mut options: ListenOptions,
    ) -> Result<Listener, NetError> {
        let address: Address = address.parse()?;
        let core = self.clone();
        let place = address.clone();
        self.on_runtime(&place, async move {
            let pipe_options = PipeOptions::of(&options);
            // A transport that assembles messages must bound them as the socket does.
            options.socket_limit = Some(core.with(|state| state.receive_limit.clone()));
            let listener = transport::listen(&address, options).await?;
            let guard =
                core.add_endpoint(Side::Accepted, listener.address().clone(), pipe_options)?;
            let handle = Listener::new(&core, &guard.endpoint);
            core.spawn(core.clone().accept_all(listener, guard));
            Ok(handle)
        })
        .await
    }

    async fn accept_all(
        self: Arc<Core>,
        listener: Box<dyn transport::Listener>,
        guard: EndpointGuard,
    ) {
        let endpoint = &guard.endpoint;
        let pending = Places::new(UNAUTHENTICATED_MAX);
        let mut acceptor = Acceptor::new(listener);
        until(self.endpoint_closed(endpoint), async {
            loop {
                match acceptor.accept(&*pending).await {
                    Ok(connection) => {
                        let handshake = pending.enter(Source::of(&connection));
                        let endpoint = endpoint.clone();
                        self.spawn(self.clone().perform_handshake(connection, endpoint, handshake));
                    }
                    // Its connections go on until the listener of the socket is closed.
                    Err(_) if acceptor.has_ended() => std::future::pending().await,
                    Err(_) => self.with(|state| state.statistics.accepts_failed += 1),
                }
            }
        })
        .await;
        // Free the address before the endpoint reports that it is free.
        drop(acceptor);
    }

    async fn perform_handshake(
        self: Arc<Core>,
        mut connection: Connection,
        endpoint: Arc<Endpoint>,
        handshake: Place,
    ) {
        let peer = connection.peer.clone();
        let mut input = ReadBuf::new();
        let greeting = within(&peer, greet(&mut connection, &mut input, self.number));
        let bounded = async {
            let evicted = || NetError::new(&peer, NetErrorKind::Evicted);
            until(handshake.evicted(), greeting).await.ok_or_else(evicted).flatten()
        };
        let greeted = until(self.endpoint_closed(&endpoint), bounded).await;
        drop(handshake);
        match greeted {
            Some(Ok(_)) => {
                if let Ok(pipe) = self.admit(connection, input, &endpoint, clock::now()) {
                    pipe.run().await;
                }
            }
            Some(Err(error)) => {
                connection.outlet.close();
                tracing::debug!(%peer, error = %error.kind, "handshake failed");
                self.with(|state| {
                    state.statistics.handshakes_failed += 1;
                    state.statistics.handshakes.count(&error.kind);
                    state.last_failure = Some(format!("{peer}: {}", error.kind));
                });
            }
            None => connection.outlet.close(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::IoSlice;
    use std::sync::Mutex;

    use wigwag_sp::Priority;

    use std::io;

    use super::*;
    use crate::accepting::acceptor::ACCEPT_PAUSE;
    use crate::socket::endpoint::ENDPOINTS_MAX;
    use crate::transport::{Boxed, dial};

    /// A listener that replays a script, and then waits for ever.
    struct Scripted {
        address: Address,
        script: Mutex<VecDeque<Result<Connection, NetError>>>,
    }

    impl transport::Listener for Scripted {
        fn address(&self) -> &Address {
            &self.address
        }

        fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
            let next = self.script.lock().unwrap().pop_front();
            Box::pin(async move {
                match next {
                    Some(next) => next,
                    None => std::future::pending().await,
                }
            })
        }

        fn takes_descriptors(&self) -> bool {
            false
        }
    }

    /// Two ends of an inproc connection.
    async fn ends(name: &str) -> (Connection, Connection) {
        let address = Address::new("inproc", name);
        let listener = transport::listen(&address, ListenOptions::default()).await;
        let ours = dial(&address).await.unwrap();
        (ours, listener.unwrap().accept().await.unwrap())
    }

    /// Runs the accept loop of a listener that replays `script`.
    fn play(core: &Arc<Core>, name: &str, script: VecDeque<Result<Connection, NetError>>) {
        let address = Address::new("inproc", name);
        let pipe_options = PipeOptions {
            receive_limit: None,
            send_priority: Priority::default(),
            receive_priority: Priority::default(),
        };
        let guard = core.add_endpoint(Side::Accepted, address.clone(), pipe_options).unwrap();
        let listener = Scripted { address, script: Mutex::new(script) };
        core.spawn(core.clone().accept_all(Box::new(listener), guard));
    }

    /// EMFILE three times, then a peer: it is served, and the loop has paused each time.
    #[tokio::test]
    async fn a_listener_without_file_descriptors_pauses_and_goes_on() {
        const EMFILE: i32 = 24;
        let core = Core::new(Box::new(wigwag_sp::Pull::new()));
        let (mut ours, theirs) = ends("emfile").await;
        let address = Address::new("inproc", "emfile");
        let full = || {
            let error = io::Error::from_raw_os_error(EMFILE);
            Err(NetError::new(&address, NetErrorKind::Io(error)))
        };
        let begun = clock::now();
        play(&core, "emfile", [full(), full(), full(), Ok(theirs)].into());
        let push = wigwag_wire::ProtocolNumber::PUSH;
        greet(&mut ours, &mut ReadBuf::new(), push).await.unwrap();
        assert!(clock::now() - begun >= 3 * ACCEPT_PAUSE);
        assert_eq!(core.with(|state| state.statistics.accepts_failed), 3);
        core.begin_close();
    }

    /// An error that says nothing of a peer or of descriptors, which may come again at once.
    #[tokio::test]
    async fn a_listener_that_cannot_accept_pauses_and_goes_on() {
        let core = Core::new(Box::new(wigwag_sp::Pull::new()));
        let (mut ours, theirs) = ends("cannot-accept").await;
        let address = Address::new("inproc", "cannot-accept");
        let failed = || {
            let error = io::ErrorKind::PermissionDenied.into();
            Err(NetError::new(&address, NetErrorKind::Io(error)))
        };
        let begun = clock::now();
        play(&core, "cannot-accept", [failed(), failed(), Ok(theirs)].into());
        let push = wigwag_wire::ProtocolNumber::PUSH;
        greet(&mut ours, &mut ReadBuf::new(), push).await.unwrap();
        assert!(clock::now() - begun >= 2 * ACCEPT_PAUSE);
        assert_eq!(core.with(|state| state.statistics.accepts_failed), 2);
        core.begin_close();
    }

    /// The handshake of a peer ends just when its listener was closed.
    #[tokio::test]
    async fn a_connection_of_a_closed_listener_becomes_no_pipe() {
        let core = Core::new(Box::new(wigwag_sp::Pull::new()));
        let (_ours, theirs) = ends("late").await;
        let options = PipeOptions::of(&ListenOptions::default());
        let address = Address::new("inproc", "late");
        let guard = core.add_endpoint(Side::Accepted, address, options).unwrap();
        let endpoint = guard.endpoint.clone();
        drop(guard);
        let admitted = core.admit(theirs, ReadBuf::new(), &endpoint, clock::now());
        assert!(matches!(admitted.err(), Some(NetErrorKind::ClosedHere)));
        assert!(core.with(|state| state.pipes.is_empty()));
    }

    #[test]
    fn dialers_and_listeners_are_bounded_and_one_that_ends_leaves_its_place() {
        let core = Core::new(Box::new(wigwag_sp::Pull::new()));
        let add = || {
            let options = PipeOptions::of(&ListenOptions::default());
            core.add_endpoint(Side::Accepted, Address::new("inproc", "one of many"), options)
        };
        let mut guards = [(); ENDPOINTS_MAX].map(|()| Some(add().unwrap()));
        let refused = add().err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::TooMany { most: ENDPOINTS_MAX, .. }));
        guards[0].take();
        assert!(add().is_ok());
    }

    #[tokio::test]
    async fn a_connection_that_the_protocol_refuses_leaves_nothing_behind() {
        let core = Core::new(Box::new(wigwag_sp::Pair0::new()));
        let options = PipeOptions::of(&ListenOptions::default());
        let address = Address::new("inproc", "third");
        let guard = core.add_endpoint(Side::Accepted, address, options).unwrap();
        let (_ours, first) = ends("first").await;
        let (_theirs, second) = ends("second").await;
        let admit =
            |connection| core.admit(connection, ReadBuf::new(), &guard.endpoint, clock::now());
        let _first = admit(first).unwrap();
        assert!(matches!(admit(second).err(), Some(NetErrorKind::TurnedAway { .. })));
        assert_eq!(core.with(|state| state.pipes.len()), 1);
    }

    /// Silent peers take every place. A partner is served at once: the oldest of them is evicted.
    #[tokio::test]
    async fn a_new_connection_evicts_a_silent_peer() {
        let core = Core::new(Box::new(wigwag_sp::Pull::new()));
        let mut pending = Vec::new();
        let mut script = VecDeque::new();
        for number in 0..UNAUTHENTICATED_MAX {
            let (handshake, theirs) = ends(&format!("handshake-{number}")).await;
            pending.push(handshake);
            script.push_back(Ok(theirs));
        }
        let (mut partner, theirs) = ends("partner").await;
        script.push_back(Ok(theirs));
        play(&core, "describe_endpoints", script);
        let mut input = ReadBuf::new();
        for handshake in &mut pending[1..] {
            // They got our header, so they have their places; the first was evicted.
            crate::handshake::read_header(handshake, &mut input).await.unwrap();
        }
        partner.outlet.try_write(&[IoSlice::new(b"\0SP\0\0\x50\0\0")]).unwrap();
        let header = crate::handshake::read_header(&mut partner, &mut input).await;
        assert_eq!(&header.unwrap(), b"\0SP\0\0\x51\0\0");
        core.begin_close();
        core.reached(crate::socket::core::Phase::Gone).await;
        let handshakes = core.with(|state| state.statistics.handshakes);
        assert_eq!(handshakes.evicted, 1, "{handshakes:?}");
    }
}
