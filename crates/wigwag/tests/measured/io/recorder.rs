//! An actor that records the events it gets.

use std::os::unix::process::ExitStatusExt;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wigwag::io::{ChildEvent, Chunk, End, Event, Followed, Line, Pipe};
use wigwag::{Actor, This};

/// One recorded event, without its credit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Line(String),
    /// A line without an end.
    Part(String),
    Bytes(Vec<u8>),
    Error(String),
    TooLong,
    Truncated(u64),
    Replaced,
    End(End),
    Exited(Option<i32>, Option<i32>),
}

pub(crate) struct Recorder {
    says: UnboundedSender<Heard>,
    /// True if lines are kept, with their credit, instead of being taken apart.
    keeps: bool,
    kept: Vec<Line>,
}

#[wigwag::actor]
impl Recorder {
    pub fn line(&mut self, event: Event<Line>) {
        let heard = match event {
            Event::Got(line) => {
                let heard = of_line(&line);
                if self.keeps {
                    self.kept.push(line);
                }
                heard
            }
            Event::TooLong { .. } => Heard::TooLong,
            Event::End(end) => Heard::End(end),
        };
        self.say(heard);
    }

    pub fn chunk(&mut self, event: Event<Chunk>) {
        self.say(match event {
            Event::Got(chunk) => Heard::Bytes(chunk.into_bytes().to_vec()),
            Event::TooLong { .. } => Heard::TooLong,
            Event::End(end) => Heard::End(end),
        });
    }

    pub fn followed(&mut self, event: Event<Followed>) {
        self.say(match event {
            Event::Got(Followed::Line(line)) => of_line(&line),
            Event::Got(Followed::Truncated { read }) => Heard::Truncated(read),
            Event::Got(Followed::Replaced) => Heard::Replaced,
            Event::TooLong { .. } => Heard::TooLong,
            Event::End(end) => Heard::End(end),
        });
    }

    pub fn child(&mut self, event: ChildEvent) {
        self.say(match event {
            ChildEvent::Line(Pipe::Output, line) => of_line(&line),
            ChildEvent::Line(Pipe::Error, line) => Heard::Error(line.text().unwrap().into()),
            ChildEvent::TooLong(_) => Heard::TooLong,
            ChildEvent::Exited(status) => Heard::Exited(status.code(), status.signal()),
            ChildEvent::Lost(end) => Heard::End(end),
        });
    }

    /// Drops the lines that were kept.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    pub fn panic(&mut self) {
        panic!("on purpose");
    }

    pub fn stop(&mut self, this: &This<Self>) {
        this.handle().stop();
    }

    fn say(&self, heard: Heard) {
        // At the end of a test the receiver may be gone.
        let _ = self.says.send(heard);
    }
}

fn of_line(line: &Line) -> Heard {
    let text = line.text().unwrap().to_owned();
    if line.is_whole() { Heard::Line(text) } else { Heard::Part(text) }
}

pub(crate) fn recorder(keeps: bool) -> (RecorderRef, UnboundedReceiver<Heard>) {
    let (says, heard) = unbounded_channel();
    (Recorder { says, keeps, kept: Vec::new() }.spawn(), heard)
}

/// Returns the next recorded event.
pub(crate) async fn next(heard: &mut UnboundedReceiver<Heard>) -> Heard {
    tokio::time::timeout(super::LONG, heard.recv()).await.unwrap().unwrap()
}

pub(crate) fn line(text: &str) -> Heard {
    Heard::Line(text.into())
}

/// Asserts that no further event comes, after everything had its turn.
pub(crate) async fn expect_silence(heard: &mut UnboundedReceiver<Heard>) {
    let more = tokio::time::timeout(std::time::Duration::from_millis(100), heard.recv()).await;
    assert!(more.is_err(), "{more:?}");
}
