//! Arguments and replies whose encoders run code of the program: it waits for a lock that another
//! sender holds, it sends calls itself, or it panics.
//!
//! If such code runs under a lock of the runtime, two threads wait for each other, calls overtake
//! each other, or half a message stays in a buffer.

mod calls;
mod replies;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde::{Serialize, Serializer};
use tokio::runtime::{Builder, Runtime};
use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};
use wigwag::{Actor, Call, Message, Node};

/// No test comes near this limit; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// A number whose encoder runs a hook after it has written the number.
#[derive(Clone)]
struct Hooked {
    number: u64,
    hook: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Hooked {
    fn new(number: u64, hook: impl Fn() + Send + Sync + 'static) -> Hooked {
        Hooked { number, hook: Some(Arc::new(hook)) }
    }

    /// A number with a hook that waits for `lock`, after it has reported that the encoder runs.
    fn waiting(number: u64, lock: &Arc<Mutex<()>>) -> (Hooked, mpsc::Receiver<()>) {
        let (begun, has_begun) = mpsc::channel();
        let lock = lock.clone();
        let hook = move || {
            let _ = begun.send(());
            drop(lock.lock());
        };
        (Hooked::new(number, hook), has_begun)
    }

    fn run(&self) {
        if let Some(hook) = &self.hook {
            hook();
        }
    }
}

impl Encode for Hooked {
    fn encode(&self, out: &mut Buffer) {
        self.number.encode(out);
        self.run();
    }
}

impl Decode<'_> for Hooked {
    fn decode(reader: &mut Reader<'_>) -> Result<Hooked, DecodeError> {
        Ok(Hooked { number: u64::decode(reader)?, hook: None })
    }
}

impl Serialize for Hooked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.run();
        serializer.serialize_u64(self.number)
    }
}

impl<'de> serde::Deserialize<'de> for Hooked {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hooked, D::Error> {
        Ok(Hooked { number: u64::deserialize(deserializer)?, hook: None })
    }
}

/// The encoders as codecs of a field.
mod by_module {
    use super::*;

    pub(super) fn encode(value: &Hooked, out: &mut Buffer) {
        value.encode(out);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Hooked, DecodeError> {
        Hooked::decode(reader)
    }
}

#[derive(Message)]
struct WithModule {
    before: u64,
    #[message(with = "by_module")]
    hooked: Hooked,
}

#[derive(Message)]
struct WithSerde(#[message(serde)] Hooked);

#[derive(Message)]
enum Generic<T> {
    Some(T),
}

/// Remembers the numbers that it is told.
#[derive(Default)]
struct Notes(Vec<u64>);

#[wigwag::actor]
impl Notes {
    pub fn plain(&mut self, number: u64) {
        self.0.push(number);
    }

    pub fn own(&mut self, value: Hooked) {
        self.0.push(value.number);
    }

    pub fn module(&mut self, value: WithModule) {
        self.0.push(value.before + value.hooked.number);
    }

    pub fn serde(&mut self, value: WithSerde) {
        self.0.push(value.0.number);
    }

    pub fn inside(&mut self, values: Vec<Option<Generic<Hooked>>>) {
        let numbers = values.into_iter().flatten().map(|Generic::Some(value)| value.number);
        self.0.extend(numbers);
    }

    pub fn all(&self) -> Vec<u64> {
        self.0.clone()
    }
}

type Form = for<'a> fn(&'a NotesRef, Hooked) -> Call<'a, Notes, ()>;

/// Every form in which a value with an encoder of its own is part of a message.
const FORMS: [Form; 4] = [
    |notes, value| notes.own(value),
    |notes, hooked| notes.module(WithModule { before: 0, hooked }),
    |notes, value| notes.serde(WithSerde(value)),
    |notes, value| notes.inside(vec![None, Some(Generic::Some(value))]),
];

/// How a call is sent.
#[derive(Clone, Copy, Debug)]
enum Way {
    Tell,
    Sent,
    Ask,
    Limited,
    Pipeline,
}

const WAYS: [Way; 5] = [Way::Tell, Way::Sent, Way::Ask, Way::Limited, Way::Pipeline];

async fn send(notes: &NotesRef, way: Way, call: Call<'_, Notes, ()>) {
    match way {
        Way::Tell => call.tell().await.unwrap(),
        Way::Sent => call.tell().sent().await.unwrap(),
        Way::Ask => call.ask().await.unwrap(),
        Way::Limited => call.timeout(PATIENCE).ask().await.unwrap(),
        Way::Pipeline => {
            let mut pipeline = notes.pipeline(2).unwrap();
            pipeline.push(call, ()).await.unwrap();
            pipeline.answer().await.unwrap().1.unwrap();
        }
    }
}

/// Two nodes, and references of the second to two actors of the first.
struct Stage {
    runtime: Runtime,
    service: Node,
    client: Node,
    address: String,
    notes: NotesRef,
    other: NotesRef,
}

impl Stage {
    fn new() -> Stage {
        let runtime = Builder::new_multi_thread().worker_threads(3).enable_all().build().unwrap();
        let (service, client) = (Node::new(), Node::new());
        let (address, notes, other) = runtime.block_on(async {
            service.export("notes", &Notes::default().spawn()).unwrap();
            service.export("other", &Notes::default().spawn()).unwrap();
            let address = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
            let notes = client.actor::<Notes>(&format!("{address}/notes")).await.unwrap();
            let other = client.actor::<Notes>(&format!("{address}/other")).await.unwrap();
            (address, notes, other)
        });
        Stage { runtime, service, client, address, notes, other }
    }

    /// Runs `task` in turns, or outside any turn. The error is the text of its panic.
    fn run<T: Send + 'static>(
        &self,
        in_turns: bool,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        let done = self.runtime.block_on(async {
            if in_turns { wigwag::spawn(task).await } else { tokio::spawn(task).await }
        });
        done.map_err(|error| text_of(&*error.into_panic()))
    }

    /// Nothing has broken the session of the two nodes.
    fn check_session(&self) {
        for node in [&self.service, &self.client] {
            let statistics = node.statistics();
            assert_eq!(statistics.len(), 1, "{statistics:?}");
            assert_eq!(statistics[0].session.cuts, 0);
        }
    }
}

fn text_of(payload: &(dyn std::any::Any + Send)) -> String {
    (*payload.downcast_ref::<&str>().expect("the hook's own panic")).to_owned()
}

/// Runs `scene` on a thread of its own. A scene that hangs fails the test, and its thread stays.
fn in_time(scene: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let running = thread::spawn(move || {
        scene();
        let _ = ended.send(());
    });
    match end.recv_timeout(PATIENCE) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => running.join().unwrap(),
    }
}

/// Runs `scene` for every form and way, in turns and outside.
fn everywhere(scene: impl Fn(&Stage, Form, Way, bool) + Send + 'static) {
    in_time(move || {
        for form in FORMS {
            for way in WAYS {
                for in_turns in [true, false] {
                    scene(&Stage::new(), form, way, in_turns);
                }
            }
        }
    });
}
