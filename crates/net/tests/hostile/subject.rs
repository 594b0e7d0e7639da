//! The sockets that rows run against, every protocol in both forms, behind one trait.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use wigwag_net::socket::raw::{self, RawMessage};
use wigwag_net::socket::{
    Bus, Hops, Pair, Pair0, PairMany, PipeId, PipeWatcher, Pub, Pull, Push, Rep, Req, Respondent,
    Star, Statistics, Sub, Surveyor,
};
use wigwag_net::{ListenOptions, NetError};
use wigwag_wire::ProtocolNumber;

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The part of a socket that a row needs.
pub(crate) trait Subject: Send + Sync {
    fn listen(&self, address: String, options: ListenOptions) -> Boxed<'_, String>;
    fn dial(&self, address: String) -> Boxed<'_, Result<(), NetError>>;
    fn close(&self) -> Boxed<'_, ()>;
    fn statistics(&self) -> Statistics;
    fn watch(&self, watcher: Box<dyn PipeWatcher>);
    fn limit(&self, bytes: usize);
    /// The next received message, without its header.
    fn take(&self) -> Option<Bytes> {
        None
    }
    /// Sends a message of the user; false if it was refused.
    fn give(&self, _body: Bytes) -> bool {
        false
    }
}

/// Forwards calls to a boxed watcher.
struct Watching(Box<dyn PipeWatcher>);

impl PipeWatcher for Watching {
    fn arriving(&self, pipe: &wigwag_net::socket::PipeInfo) -> Result<(), String> {
        self.0.arriving(pipe)
    }

    fn closed(
        &self,
        pipe: &wigwag_net::socket::PipeInfo,
        end: &wigwag_net::socket::PipeEnd,
        statistics: &wigwag_net::socket::PipeStatistics,
    ) {
        self.0.closed(pipe, end, statistics);
    }
}

trait Received {
    fn body(self) -> Bytes;
}

impl Received for Bytes {
    fn body(self) -> Bytes {
        self
    }
}

impl Received for RawMessage {
    fn body(self) -> Bytes {
        self.body
    }
}

impl Received for (PipeId, Bytes) {
    fn body(self) -> Bytes {
        self.1
    }
}

macro_rules! takes {
    () => {
        fn take(&self) -> Option<Bytes> {
            self.try_recv().ok().map(Received::body)
        }
    };
}

macro_rules! takes_and_answers {
    () => {
        fn take(&self) -> Option<Bytes> {
            let body = self.try_recv().ok()?;
            // A request without a reply would be abandoned by the next one.
            self.try_send("answered").unwrap();
            Some(body)
        }
    };
}

macro_rules! gives {
    () => {
        fn give(&self, body: Bytes) -> bool {
            self.try_send(body).is_ok()
        }
    };
}

macro_rules! gives_raw {
    () => {
        fn give(&self, body: Bytes) -> bool {
            self.try_send(RawMessage { header: Bytes::new(), body }).is_ok()
        }
    };
}

macro_rules! asks_raw {
    () => {
        fn give(&self, body: Bytes) -> bool {
            let header = Bytes::from_static(b"\x80\0\0\x01");
            self.try_send(RawMessage { header, body }).is_ok()
        }
    };
}

macro_rules! subjects {
    ($($type:ty: $($call:ident)*;)*) => {$(
        impl Subject for $type {
            fn listen(&self, address: String, options: ListenOptions) -> Boxed<'_, String> {
                Box::pin(async move {
                    self.listen_with(&address, options).await.unwrap().to_string()
                })
            }

            fn dial(&self, address: String) -> Boxed<'_, Result<(), NetError>> {
                Box::pin(async move { <$type>::dial(self, &address).await.map(drop) })
            }

            fn close(&self) -> Boxed<'_, ()> {
                Box::pin(<$type>::close(self))
            }

            fn statistics(&self) -> Statistics {
                <$type>::statistics(self)
            }

            fn watch(&self, watcher: Box<dyn PipeWatcher>) {
                self.watch_pipes(Watching(watcher));
            }

            fn limit(&self, bytes: usize) {
                self.set_receive_limit(bytes);
            }

            $($call!();)*
        }
    )*};
}

subjects! {
    Pair0: takes gives;
    Pair: takes gives;
    PairMany: takes gives;
    Req: takes gives;
    Rep: takes_and_answers;
    Pub: gives;
    Sub: takes;
    Push: gives;
    Pull: takes;
    Surveyor: takes gives;
    Respondent: takes_and_answers;
    Bus: takes gives;
    Star: takes gives;
    raw::Pair0: takes gives_raw;
    raw::Pair: takes;
    raw::PairMany: takes;
    raw::Req: takes asks_raw;
    raw::Rep: takes;
    raw::Pub: gives_raw;
    raw::Sub: takes;
    raw::Push: gives_raw;
    raw::Pull: takes;
    raw::Surveyor: takes asks_raw;
    raw::Respondent: takes;
    raw::Bus: takes gives_raw;
    raw::Star: takes;
}

/// How a sound peer shows that the socket works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The peer sends this header and a body, and the user receives the body.
    Speaks(&'static [u8]),
    /// The user sends, and the peer receives the body.
    Listens,
    /// The user asks, the peer echoes, and the user receives the body.
    Echoes,
}

/// One word that ends a backtrace.
pub(crate) const LAST: &[u8] = b"\x80\0\0\x07";

macro_rules! kinds {
    ($($kind:ident $number:ident $health:expr, $new:expr;)*) => {
        /// Each socket by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum SocketKind { $($kind,)* }

        impl SocketKind {
            pub(crate) const ALL: &[SocketKind] = &[$(SocketKind::$kind,)*];

            pub(crate) fn number(self) -> ProtocolNumber {
                match self { $(SocketKind::$kind => ProtocolNumber::$number,)* }
            }

            pub(crate) fn health(self) -> Health {
                match self { $(SocketKind::$kind => $health,)* }
            }

            pub(crate) fn open(self) -> Box<dyn Subject> {
                match self { $(SocketKind::$kind => Box::new($new),)* }
            }
        }
    };
}

kinds! {
    Pair0 PAIR0 Health::Speaks(b""), Pair0::new();
    Pair PAIR1 Health::Speaks(b"\0\0\0\x01"), Pair::new();
    PairFar PAIR1 Health::Speaks(b"\0\0\0\x01"), Pair::with_hops(Hops::MAX);
    PairMany PAIR1 Health::Speaks(b"\0\0\0\x01"), PairMany::new();
    Req REQ Health::Echoes, Req::new();
    Rep REP Health::Speaks(LAST), Rep::new();
    RepNear REP Health::Speaks(LAST), Rep::with_hops(Hops::new(1).unwrap());
    RepFar REP Health::Speaks(LAST), Rep::with_hops(Hops::MAX);
    Pub PUB Health::Listens, Pub::new();
    Sub SUB Health::Speaks(b""), subscribed();
    Push PUSH Health::Listens, Push::new();
    Pull PULL Health::Speaks(b""), Pull::new();
    Surveyor SURVEYOR Health::Echoes, surveyor();
    Respondent RESPONDENT Health::Speaks(LAST), Respondent::new();
    RespondentFar RESPONDENT Health::Speaks(LAST), Respondent::with_hops(Hops::MAX);
    Bus BUS Health::Speaks(b""), Bus::new();
    Star STAR Health::Speaks(b"\0\0\0\0"), Star::new();
    StarFar STAR Health::Speaks(b"\0\0\0\0"), Star::with_hops(Hops::MAX);
    RawPair0 PAIR0 Health::Speaks(b""), raw::Pair0::new();
    RawPair PAIR1 Health::Speaks(b"\0\0\0\x01"), raw::Pair::new();
    RawPairFar PAIR1 Health::Speaks(b"\0\0\0\x01"), raw::Pair::with_hops(Hops::MAX);
    RawPairMany PAIR1 Health::Speaks(b"\0\0\0\x01"), raw::PairMany::new();
    RawReq REQ Health::Echoes, raw::Req::new();
    RawRep REP Health::Speaks(LAST), raw::Rep::new();
    RawRepFar REP Health::Speaks(LAST), raw::Rep::with_hops(Hops::MAX);
    RawPub PUB Health::Listens, raw::Pub::new();
    RawSub SUB Health::Speaks(b""), raw::Sub::new();
    RawPush PUSH Health::Listens, raw::Push::new();
    RawPull PULL Health::Speaks(b""), raw::Pull::new();
    RawSurveyor SURVEYOR Health::Echoes, raw::Surveyor::new();
    RawRespondent RESPONDENT Health::Speaks(LAST), raw::Respondent::new();
    RawBus BUS Health::Speaks(b""), raw::Bus::new();
    RawStar STAR Health::Speaks(b"\0\0\0\0"), raw::Star::new();
    RawStarFar STAR Health::Speaks(b"\0\0\0\0"), raw::Star::with_hops(Hops::MAX);
}

impl SocketKind {
    pub(crate) fn partner(self) -> ProtocolNumber {
        self.number().partner().unwrap()
    }

    /// True if the socket accepts only one peer.
    pub(crate) fn is_exclusive(self) -> bool {
        use SocketKind::*;
        matches!(self, Pair0 | Pair | PairFar | RawPair0 | RawPair | RawPairFar)
    }
}

/// The prefix of every message of a sound peer, and the only topic of sub.
pub(crate) const SOUND: &str = "sound";

fn subscribed() -> Sub {
    let sub = Sub::new();
    sub.subscribe(SOUND).unwrap();
    sub
}

/// Its surveys have no end, so that a slow machine changes nothing.
fn surveyor() -> Surveyor {
    let surveyor = Surveyor::new();
    surveyor.set_survey_time(None);
    surveyor
}
