//! Dials and listens. Errors end with the command that fixes them.

use std::time::{Duration, Instant};

use wigwag::{
    Address,
    sp::{Header, HeaderError, ProtocolNumber},
    transport::{DialOptions, ListenOptions, NetError, NetErrorKind},
};

use crate::exit::{Code, Failed};
use crate::options::tls::TlsArguments;
use crate::socket::any::Socket;
use crate::socket::connections::event_log::EventLog;
use crate::socket::endpoint::{ConnectMode, Endpoint, quoted};
use crate::socket::role::Role;

/// Default time that a dialer waits for its peer to start listening.
pub(crate) const DIAL_WAIT: Duration = Duration::from_secs(1);

/// Shortest and longest pause between two dials, as between redials of the library.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A socket, raw or not, that can be connected.
pub(crate) trait Connectable {
    /// Dials once. If that succeeds, the socket reconnects to the address later.
    async fn dial(&self, address: &str, options: DialOptions) -> Result<(), NetError>;

    /// Listens, and returns the bound address.
    async fn listen(&self, address: &str, options: ListenOptions) -> Result<Address, NetError>;
}

/// The addresses to connect a socket to, and how.
pub(crate) struct ConnectPlan<'a> {
    pub(crate) role: Role,
    pub(crate) endpoints: &'a [Endpoint],
    /// Time that a dialer waits for its peer to start listening.
    pub(crate) wait: Duration,
    /// The text to send, for the command that an error suggests.
    pub(crate) text: &'a str,
    pub(crate) tls: &'a TlsArguments,
}

impl ConnectPlan<'_> {
    /// Connects the socket to every endpoint.
    pub(crate) async fn open(
        &self,
        socket: &impl Connectable,
        log: &EventLog,
    ) -> Result<(), Failed> {
        for Endpoint { mode, address } in self.endpoints {
            match mode {
                ConnectMode::Listen => {
                    let bound = socket.listen(address, self.tls.listen_options(address)?).await?;
                    let (role, partner) = (self.role, self.role.partner());
                    log.print(&format!(
                        "listening  {bound}  {}  (any {} {} can dial)",
                        role.number(),
                        role.peer_libraries(address),
                        partner.number()
                    ));
                }
                ConnectMode::Dial => self.dial(socket, address).await?,
            }
        }
        Ok(())
    }

    /// Dials repeatedly until a peer listens at the address or the wait is over.
    async fn dial(&self, socket: &impl Connectable, address: &str) -> Result<(), Failed> {
        let options = self.tls.dial_options(address)?;
        let (begun, mut tries, mut pause) = (Instant::now(), 0, PAUSE_MIN);
        loop {
            tries += 1;
            let error = match socket.dial(address, options.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let left = self.wait.saturating_sub(begun.elapsed());
            if !matches!(error.kind, NetErrorKind::NobodyListens) {
                return Err(self.dial_failure(address, error));
            }
            if left.is_zero() {
                return Err(self.no_listener(address, tries, begun.elapsed()));
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn no_listener(&self, address: &str, tries: u32, took: Duration) -> Failed {
        let tried = if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
        let what = format!("nobody listens there ({tried} in {:.1} s)", took.as_secs_f64());
        let start = self.role.partner().command(ConnectMode::Listen, address, "hello");
        let hint = format!("start one:  {start}     or wait for it:  --wait 30s");
        Failed::with_hint(Code::CannotConnect, &what, address, &hint)
    }

    fn dial_failure(&self, address: &str, error: NetError) -> Failed {
        match error.kind {
            NetErrorKind::Header(HeaderError::WrongProtocol { theirs, .. }) => {
                self.wrong_protocol(address, theirs)
            }
            _ => error.into(),
        }
    }

    fn wrong_protocol(&self, address: &str, theirs: ProtocolNumber) -> Failed {
        let (ours, ours_partner) = (self.role.number(), self.role.partner().number());
        // A node announces the protocol that carries its sessions, so its header is that of a PAIR1
        // socket.
        let is_node = theirs == ProtocolNumber::PAIR1;
        let peer = match is_node {
            true => format!("wigwag node, or a {theirs} socket"),
            false => format!("{theirs} socket"),
        };
        let what = format!("peer is a {peer}, {ours} can only talk to {ours_partner}");
        let bytes = Header { protocol: theirs }.to_bytes().map(|byte| format!("{byte:02x}"));
        let at = format!("{address} (SP header {})", bytes.join(" "));
        let start_theirs = format!("start the peer as {ours_partner}");
        let hint = match Role::of(theirs) {
            Some(role) => {
                let command = role.partner().command(ConnectMode::Dial, address, self.text);
                let ask = format!("wigwag ask {}/NAME METHOD ARGUMENTS", quoted(address));
                match is_node {
                    true => format!("{ask}        (a socket: {command}, or {start_theirs})"),
                    false => format!("{command}        (or {start_theirs})"),
                }
            }
            None => start_theirs,
        };
        Failed::with_hint(Code::WrongPeer, &what, &at, &hint)
    }
}

/// The state of a peer that a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// A peer is connected now, so that a message can be sent.
    Connected,
    /// A peer is or was connected. Its messages can be received even after it has left.
    Seen,
}

/// Waits until a peer is in the state `required`, for at most `limit`.
pub(crate) async fn wait_for_peer(
    socket: &Socket,
    required: PeerState,
    log: &EventLog,
    limit: Option<Duration>,
    at: &str,
) -> Result<(), Failed> {
    let mut changes = log.changes();
    let is_satisfied = || {
        let statistics = socket.statistics();
        statistics.pipes_open > 0 || (required == PeerState::Seen && statistics.pipes_closed > 0)
    };
    let connected = async {
        while !is_satisfied() {
            // `log` holds the sender, so this cannot fail.
            let _ = changes.changed().await;
        }
    };
    let Some(limit) = limit else {
        connected.await;
        return Ok(());
    };
    match tokio::time::timeout(limit, connected).await {
        Ok(()) => Ok(()),
        Err(_) => Err(match log.last_handshake_error() {
            Some(wrong) => {
                let what =
                    format!("no peer connected within {limit:?} except a refused one: {wrong}");
                Failed::with_hint(
                    Code::WrongPeer,
                    &what,
                    at,
                    "use the partner's socket type for the peer",
                )
            }
            None => {
                let what = format!("no peer connected within {limit:?}");
                Failed::with_hint(
                    Code::NoAnswer,
                    &what,
                    at,
                    "start the peer, or wait longer with --wait",
                )
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use wigwag::sp::Bus;

    use super::*;
    use crate::socket::connections::event_log::Verbosity;

    #[test]
    fn the_error_for_a_wrong_peer_suggests_the_command_that_can_talk_to_it() {
        let tls = &TlsArguments::default();
        let plan = |role| ConnectPlan { role, endpoints: &[], wait: DIAL_WAIT, text: "hi", tls };
        let error = |role, theirs| plan(role).wrong_protocol("tcp://127.0.0.1:7002", theirs);
        assert_eq!(
            error(Role::Req, ProtocolNumber::PULL).to_string(),
            "peer is a PULL socket, REQ can only talk to REP\n   \
             at: tcp://127.0.0.1:7002 (SP header 00 53 50 00 00 51 00 00)\n \
             hint: wigwag push tcp://127.0.0.1:7002 hi        (or start the peer as REP)"
        );
        let node = error(Role::Push, ProtocolNumber::PAIR1).to_string();
        assert!(
            node.starts_with(
                "peer is a wigwag node, or a PAIR1 socket, PUSH can only talk to PULL"
            ) && node.contains("hint: wigwag ask tcp://127.0.0.1:7002/NAME METHOD ARGUMENTS  ")
                && node
                    .ends_with("wigwag pair tcp://127.0.0.1:7002 hi, or start the peer as PULL)"),
            "{node}"
        );
        let pair = error(Role::Pair, ProtocolNumber::PAIR0).to_string();
        assert!(pair.contains("wigwag pair --v0 tcp://127.0.0.1:7002 hi"), "{pair}");
        let unknown = error(Role::Req, ProtocolNumber(0x60)).to_string();
        assert!(unknown.ends_with("hint: start the peer as REP"), "{unknown}");
    }

    #[test]
    fn the_error_without_a_listener_suggests_the_command_that_starts_one() {
        let (role, tls) = (Role::Sub, &TlsArguments::default());
        let plan = ConnectPlan { role, endpoints: &[], wait: DIAL_WAIT, text: "", tls };
        let error = plan.no_listener("tcp://127.0.0.1:1", 3, Duration::from_secs(1)).to_string();
        assert!(error.contains("3 tries in 1.0 s"), "{error}");
        assert!(error.contains("start one:  wigwag pub tcp://127.0.0.1:1 hello"), "{error}");
    }

    /// The peer's messages are in the socket. Waiting for a connected peer would never end.
    #[tokio::test]
    async fn a_peer_that_has_left_is_enough_for_receiving() {
        let socket = Socket::new(Role::Bus);
        let Socket::Bus(bus) = &socket else { panic!("it is one") };
        let at = bus.listen("tcp://127.0.0.1:0").await.expect("the port is free").to_string();
        let theirs = Bus::new();
        theirs.dial(&at).await.expect("we listen");
        theirs.close().await;
        let log = EventLog::start(Verbosity::Quiet);
        while socket.statistics().pipes_closed == 0 {
            tokio::task::yield_now().await;
        }
        let limit = Some(Duration::from_millis(1));
        assert!(wait_for_peer(&socket, PeerState::Seen, &log, limit, &at).await.is_ok());
        assert!(wait_for_peer(&socket, PeerState::Connected, &log, limit, &at).await.is_err());
    }
}
