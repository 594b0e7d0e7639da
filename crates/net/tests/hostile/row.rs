//! The rows of the table, and how they run.

use std::time::Duration;

use tokio::time::timeout;

use crate::peer::{Peer, Place, header};
use crate::run::RowRun;
use crate::subject::SocketKind;

/// Limit on a loaded machine for things that are promised to happen at once.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(5);

/// A step of the wrong peer.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends bytes as they are.
    Say(Vec<u8>),
    /// Sends bytes in a whole frame.
    Message(Vec<u8>),
    /// Sends the framing of a message of this length, without the message.
    Claim(u64),
    /// Gives our socket time to read.
    Pause,
    /// Our user asks a question; the wrong peer receives it, and sends these messages made from its
    /// id.
    Asked(fn(u32) -> Vec<Vec<u8>>),
    /// Closes the connection.
    Leave,
    /// Closes the connection with a reset, if the transport has such a thing.
    Reset,
    /// Closes the writing half, and goes on reading.
    End,
}

/// How the bytes of the steps are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WriteMode {
    /// Each run of steps in one write.
    Whole,
    /// One byte a write.
    Single,
    /// In pieces of random length, from this seed.
    Torn(u64),
}

/// The fate of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It never was a pipe, and our socket closed it.
    Rejected,
    /// It never was a pipe: the peer left.
    NeverCame,
    /// The protocol refuses another peer.
    Refused,
    /// It was a pipe until the peer broke a rule, whose text contains this.
    Punished(&'static str),
    /// It is still a pipe.
    Stays,
    /// The peer closed it.
    Left,
}

/// When the sound peer is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sound {
    /// Before, during and after.
    Beside,
    /// Only after the wrong one has gone.
    After,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) ours: SocketKind,
    pub(crate) acts: Vec<Act>,
    pub(crate) mode: WriteMode,
    pub(crate) sound: Sound,
    pub(crate) limit: Option<usize>,
    pub(crate) only_at: Option<Place>,
    pub(crate) end: End,
    pub(crate) delivered: Vec<Vec<u8>>,
    pub(crate) moved: Vec<(&'static str, u64)>,
}

impl Row {
    /// A row for a peer of the right protocol that performs `acts` after its header; nothing is
    /// delivered and nothing counted unless added.
    pub(crate) fn partner(name: impl Into<String>, ours: SocketKind, acts: Vec<Act>) -> Row {
        let greeting = Act::Say(header(ours.partner()));
        Row::any_peer(name, ours, [vec![greeting], acts].concat(), End::Stays)
    }

    /// A row for any peer, from its first byte on.
    pub(crate) fn any_peer(
        name: impl Into<String>,
        ours: SocketKind,
        acts: Vec<Act>,
        end: End,
    ) -> Row {
        let name = format!("{ours:?}: {}", name.into());
        let was_pipe = !matches!(end, End::Rejected | End::NeverCame);
        let sound = if ours.is_exclusive() && was_pipe { Sound::After } else { Sound::Beside };
        Row {
            name,
            ours,
            acts,
            mode: WriteMode::Whole,
            sound,
            limit: None,
            only_at: None,
            end,
            delivered: Vec::new(),
            moved: Vec::new(),
        }
    }

    pub(crate) fn ends(self, end: End) -> Row {
        Row { end, ..self }
    }

    /// The peer breaks a rule whose text contains `words`.
    pub(crate) fn punished(self, words: &'static str) -> Row {
        self.ends(End::Punished(words)).moves("pipes_punished", 1)
    }

    /// The counter changes by this much; counters that a row does not name must not change.
    pub(crate) fn moves(mut self, counter: &'static str, by: u64) -> Row {
        self.moved.push((counter, by));
        self
    }

    pub(crate) fn delivers<B: AsRef<[u8]>>(mut self, bodies: impl IntoIterator<Item = B>) -> Row {
        self.delivered.extend(bodies.into_iter().map(|body| body.as_ref().to_vec()));
        self
    }

    pub(crate) fn written(self, mode: WriteMode) -> Row {
        Row { name: format!("{}, {mode:?}", self.name), mode, ..self }
    }

    pub(crate) fn sound(self, sound: Sound) -> Row {
        Row { sound, ..self }
    }

    pub(crate) fn limit(self, bytes: usize) -> Row {
        Row { limit: Some(bytes), ..self }
    }

    pub(crate) fn only_at(self, place: Place) -> Row {
        Row { only_at: Some(place), ..self }
    }

    pub(crate) fn is_played_at(&self, place: Place) -> bool {
        self.only_at.is_none_or(|only| only == place)
    }

    pub(crate) async fn play(&self, place: Place) {
        let played = timeout(2 * AT_ONCE, self.play_at(place)).await;
        assert!(played.is_ok(), "{} over {place:?}: not over in time", self.name);
    }

    async fn play_at(&self, place: Place) {
        let run = RowRun::new(self, place).await;
        let mut sound = None;
        if self.sound == Sound::Beside {
            let mut beside = run.sound_peer().await;
            run.goes_on(&mut beside, 0).await;
            sound = Some(beside);
        }
        let mut wrong = Some(Peer::connect(&run.wrong).await);
        run.perform(&mut wrong).await;
        run.check_delivered().await;
        run.check_moved().await;
        run.check_end(wrong).await;
        let mut sound = match sound {
            Some(sound) => sound,
            None => run.sound_peer().await,
        };
        run.goes_on(&mut sound, 1).await;
        // Nothing has changed late.
        assert_eq!(run.moved(), run.expected(), "{}", run.name());
        assert_eq!(run.subject.take(), None, "{}: delivered once more", run.name());
        // A peer that stays and does not read would delay the close for the linger time.
        drop(sound);
        run.subject.close().await;
    }
}
