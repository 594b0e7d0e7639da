//! One run of a row: its socket, and everything observed about it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use wigwag_net::ListenOptions;
use wigwag_net::socket::{PipeEnd, PipeInfo, PipeStatistics, PipeWatcher, Priority, Statistics};

use crate::peer::{Peer, Place, header};
use crate::row::{AT_ONCE, Act, End, Row, WriteMode};
use crate::subject::{Health, SOUND, SocketKind, Subject};

/// The pipes that came through the wrong peer's address.
#[derive(Clone, Default)]
struct PipeLog {
    address: Arc<Mutex<String>>,
    arrived: Arc<Mutex<u32>>,
    ended: Arc<Mutex<Option<PipeEnd>>>,
}

impl PipeWatcher for PipeLog {
    fn arriving(&self, pipe: &PipeInfo) -> Result<(), String> {
        if pipe.through.to_string() == *self.address.lock().unwrap() {
            *self.arrived.lock().unwrap() += 1;
        }
        Ok(())
    }

    fn closed(&self, pipe: &PipeInfo, end: &PipeEnd, _: &PipeStatistics) {
        if pipe.through.to_string() == *self.address.lock().unwrap() {
            *self.ended.lock().unwrap() = Some(end.clone());
        }
    }
}

/// A running row.
pub(crate) struct RowRun<'a> {
    row: &'a Row,
    place: Place,
    pub(crate) subject: Box<dyn Subject>,
    /// The addresses of the wrong peer and of the sound one.
    pub(crate) wrong: String,
    sound: String,
    log: PipeLog,
}

impl RowRun<'_> {
    pub(crate) async fn new(row: &Row, place: Place) -> RowRun<'_> {
        let subject = row.ours.open();
        let log = PipeLog::default();
        subject.watch(Box::new(log.clone()));
        if let Some(limit) = row.limit {
            subject.limit(limit);
        }
        let wrong = subject.listen(place.address(), ListenOptions::default()).await;
        log.address.lock().unwrap().clone_from(&wrong);
        // A socket that chooses a peer must choose the sound one.
        let first =
            ListenOptions::default().send_priority(Priority::FIRST).receive_limit(1024 * 1024);
        let sound = subject.listen(place.address(), first).await;
        RowRun { row, place, subject, wrong, sound, log }
    }

    pub(crate) fn name(&self) -> String {
        format!("{} over {:?}", self.row.name, self.place)
    }

    pub(crate) async fn sound_peer(&self) -> Peer {
        if self.row.ours.is_exclusive() {
            self.until("no pipe", || self.subject.statistics().pipes_open == 0).await;
        }
        let before = self.subject.statistics().pipes_opened;
        let mut peer = Peer::connect(&self.sound).await;
        peer.say(&header(self.row.ours.partner())).await;
        self.until("the sound peer", || self.subject.statistics().pipes_opened > before).await;
        peer
    }

    /// Checks that the sound peer and our user can exchange a message.
    pub(crate) async fn goes_on(&self, sound: &mut Peer, round: u32) {
        let body = format!("{SOUND} {round}");
        if let Health::Speaks(head) = self.row.ours.health() {
            sound.say(&self.place.framed(&[head, body.as_bytes()].concat())).await;
            assert_eq!(self.taken().await, body, "{}", self.name());
            return;
        }
        self.until("room", || self.subject.give(Bytes::from(body.clone()))).await;
        let heard = loop {
            // A question that the wrong peer got may be sent again, to the sound one.
            let heard = timeout(AT_ONCE, sound.hear()).await;
            let heard = heard.unwrap_or_else(|_| panic!("{}: nothing sent", self.name()));
            let heard =
                heard.unwrap_or_else(|| panic!("{}: the sound peer is disconnected", self.name()));
            if heard.ends_with(body.as_bytes()) {
                break heard;
            }
        };
        if self.row.ours.health() == Health::Echoes {
            sound.say(&self.place.framed(&heard)).await;
            assert_eq!(self.taken().await, body, "{}", self.name());
        }
    }

    /// Performs the steps of the row. The wrong peer is `None` afterwards if it leaves.
    pub(crate) async fn perform(&self, wrong: &mut Option<Peer>) {
        let mut waiting = Vec::new();
        for act in &self.row.acts {
            match act {
                Act::Say(bytes) => waiting.extend_from_slice(bytes),
                Act::Message(message) => waiting.extend(self.place.framed(message)),
                Act::Claim(length) => waiting.extend(self.place.claim(*length)),
                _ => {
                    let Some(peer) = wrong.as_mut() else { return };
                    self.write(peer, &std::mem::take(&mut waiting)).await;
                    match act {
                        Act::Asked(answers) => waiting = self.asked(peer, *answers).await,
                        Act::Leave => {
                            self.is_settled(peer).await;
                            *wrong = None;
                        }
                        Act::Reset => {
                            self.is_settled(peer).await;
                            wrong.take().unwrap().reset();
                        }
                        Act::End => peer.end().await,
                        _ => pause().await,
                    }
                }
            }
        }
        if let Some(peer) = wrong.as_mut() {
            self.write(peer, &waiting).await;
        }
    }

    /// A peer that leaves as a pipe must have become one, and must have read our header: bytes that
    /// are unread at the close would discard others.
    async fn is_settled(&self, peer: &mut Peer) {
        if matches!(self.row.end, End::Left) {
            self.until("a pipe", || *self.log.arrived.lock().unwrap() == 1).await;
            peer.greeting().await;
        }
    }

    async fn asked(&self, peer: &mut Peer, answers: fn(u32) -> Vec<Vec<u8>>) -> Vec<u8> {
        // A survey never waits.
        self.until("a pipe", || self.subject.statistics().pipes_open == 1).await;
        self.until("a peer to ask", || self.subject.give(Bytes::from_static(b"asked"))).await;
        let heard = peer.hear().await.unwrap();
        let (id, body) = heard.split_first_chunk::<4>().unwrap();
        assert_eq!(body, b"asked");
        let answers = answers(u32::from_be_bytes(*id));
        answers.iter().flat_map(|answer| self.place.framed(answer)).collect()
    }

    async fn write(&self, peer: &mut Peer, bytes: &[u8]) {
        let mut random = match self.row.mode {
            WriteMode::Whole if bytes.is_empty() => return,
            WriteMode::Whole => return peer.say(bytes).await,
            WriteMode::Single => None,
            WriteMode::Torn(seed) => Some(seed),
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = match &mut random {
                None => 1,
                Some(state) => {
                    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    1 + (*state >> 33) as usize % 40
                }
            };
            let (piece, behind) = rest.split_at(length.min(rest.len()));
            peer.say(piece).await;
            tokio::task::yield_now().await;
            rest = behind;
        }
    }

    /// The next body for the user.
    async fn taken(&self) -> Bytes {
        let mut taken = None;
        self.until("a body", || {
            taken = self.subject.take();
            taken.is_some()
        })
        .await;
        taken.unwrap()
    }

    pub(crate) async fn check_delivered(&self) {
        for body in &self.row.delivered {
            let taken = self.taken().await;
            // Not with `assert_eq!`: a body may be a mebibyte.
            assert!(taken == body[..], "{}: {} bytes instead", self.name(), taken.len());
        }
    }

    pub(crate) fn expected(&self) -> Vec<(&'static str, u64)> {
        let mut expected = self.row.moved.clone();
        expected.sort_unstable();
        expected
    }

    pub(crate) fn moved(&self) -> Vec<(&'static str, u64)> {
        let mut moved = losses(&self.subject.statistics());
        // When the peer of a socket that answers goes, the writes of the answers may not have ended.
        let unknown = match self.row.ours {
            SocketKind::Rep | SocketKind::Respondent => self.row.delivered.len() as u64,
            _ => 0,
        };
        moved.retain(|(what, by)| *by > if *what == "messages_cut_off" { unknown } else { 0 });
        moved.sort_unstable();
        moved
    }

    pub(crate) async fn check_moved(&self) {
        let expected = self.expected();
        let what = format!("{expected:?}");
        self.until(&what, || self.moved() == expected).await;
    }

    pub(crate) async fn check_end(&self, wrong: Option<Peer>) {
        let arrived = *self.log.arrived.lock().unwrap();
        match self.row.end {
            End::Rejected | End::NeverCame => {
                assert_eq!(arrived, 0, "{}", self.name());
                if let Some(mut wrong) = wrong {
                    self.hears_the_end(&mut wrong).await;
                }
            }
            End::Refused => {
                assert_eq!(arrived, 1, "{}", self.name());
                self.hears_the_end(&mut wrong.unwrap()).await;
            }
            End::Punished(words) => {
                self.hears_the_end(&mut wrong.unwrap()).await;
                match self.ended().await {
                    PipeEnd::Punished(why) if why.contains(words) => {}
                    other => panic!("{}: {other:?}", self.name()),
                }
            }
            End::Stays => {
                self.until("a pipe", || *self.log.arrived.lock().unwrap() == 1).await;
                assert_eq!(*self.log.ended.lock().unwrap(), None, "{}", self.name());
                drop(wrong.unwrap());
                self.ended_by_peer().await;
            }
            End::Left => self.ended_by_peer().await,
        }
    }

    /// Checks that our socket sends at most its header, and closes.
    async fn hears_the_end(&self, wrong: &mut Peer) {
        let rest = timeout(AT_ONCE, wrong.rest()).await;
        let rest = rest.unwrap_or_else(|_| panic!("{}: not closed", self.name()));
        let ours = header(self.row.ours.number());
        assert!(rest.is_empty() || rest == ours, "{}: heard {rest:02x?}", self.name());
    }

    async fn ended_by_peer(&self) {
        let end = self.ended().await;
        let by_peer = matches!(end, PipeEnd::PeerClosed | PipeEnd::Lost(_));
        assert!(by_peer, "{}: {end:?}", self.name());
    }

    async fn ended(&self) -> PipeEnd {
        self.until("the end of the pipe", || self.log.ended.lock().unwrap().is_some()).await;
        self.log.ended.lock().unwrap().clone().unwrap()
    }

    async fn until(&self, what: &str, mut happened: impl FnMut() -> bool) {
        let waiting = async {
            while !happened() {
                pause().await;
            }
        };
        if timeout(AT_ONCE, waiting).await.is_err() {
            let statistics = self.subject.statistics();
            panic!("{}: no sign of {what}; {statistics:?}", self.name());
        }
    }
}

/// Lets other tasks run; the kernel does not announce that it has delivered bytes.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Every counter of something that went wrong.
pub(crate) fn losses(statistics: &Statistics) -> Vec<(&'static str, u64)> {
    let (counters, handshakes) = (&statistics.counters, &statistics.handshakes);
    let sum = handshakes.wrong_protocol
        + handshakes.not_sp
        + handshakes.timed_out
        + handshakes.evicted
        + handshakes.closed
        + handshakes.system;
    assert_eq!(statistics.handshakes_failed, sum, "the sum of the reasons");
    vec![
        ("pipes_refused", statistics.pipes_refused),
        ("pipes_turned_away", statistics.pipes_turned_away),
        ("pipes_punished", statistics.pipes_punished),
        ("handshakes.wrong_protocol", handshakes.wrong_protocol),
        ("handshakes.not_sp", handshakes.not_sp),
        ("handshakes.timed_out", handshakes.timed_out),
        ("handshakes.evicted", handshakes.evicted),
        ("handshakes.closed", handshakes.closed),
        ("handshakes.system", handshakes.system),
        ("dials_failed", statistics.dials_failed),
        ("accepts_failed", statistics.accepts_failed),
        ("messages_cut_off", statistics.messages_cut_off),
        ("messages_unread", statistics.messages_unread),
        ("filtered", counters.filtered),
        ("dropped_too_many_hops", counters.dropped_too_many_hops),
        ("dropped_malformed", counters.dropped_malformed),
        ("dropped_late", counters.dropped_late),
        ("dropped_unexpected", counters.dropped_unexpected),
        ("dropped_pipe_gone", counters.dropped_pipe_gone),
        ("dropped_overflow", counters.dropped_overflow),
        ("dropped_peer_slow", counters.dropped_peer_slow),
        ("dropped_abandoned", counters.dropped_abandoned),
        ("dropped_unsent", counters.dropped_unsent),
        ("dropped_unread", counters.dropped_unread),
    ]
}
