//! A minimal actor written by hand, in the form that the macro generates.

use std::sync::Arc;

use tokio::sync::Notify;
use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{
    Actor, Argument, Call, Handled, Interface, Life, Message, Method, Ref, Reply, Schema,
};
use wigwag_wire::collections::nested;
use wigwag_wire::fields::Fields;
use wigwag_wire::msgpack::put_array;
use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

pub(crate) const NOTE: u32 = FIRST_METHOD;
pub(crate) const SUM: u32 = FIRST_METHOD + 1;
pub(crate) const STAND: u32 = FIRST_METHOD + 2;
pub(crate) const PANIC: u32 = FIRST_METHOD + 3;

/// Records numbers.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) notes: Vec<u64>,
    pub(crate) sum: u64,
    /// Off where allocations are counted.
    pub(crate) keep_notes: bool,
    pub(crate) gate: Arc<Gate>,
}

/// Lets a handler report that it has begun, and holds it until it may continue.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) reached: Notify,
    pub(crate) open: Notify,
}

pub(crate) enum TallyMessage {
    Note(u64),
    Sum,
    Stand,
    Panic,
}

impl Message for TallyMessage {
    fn method(&self) -> u32 {
        match self {
            TallyMessage::Note(_) => NOTE,
            TallyMessage::Sum => SUM,
            TallyMessage::Stand => STAND,
            TallyMessage::Panic => PANIC,
        }
    }

    fn encode_arguments(&self, out: &mut Buffer) {
        match self {
            TallyMessage::Note(number) => {
                put_array(out, 1);
                number.encode(out);
            }
            _ => put_array(out, 0),
        }
    }

    fn decode(method: u32, reader: &mut Reader<'_>) -> Result<Option<TallyMessage>, DecodeError> {
        nested(reader, |reader, _| {
            Ok(match method {
                NOTE => Some(TallyMessage::Note(u64::decode(reader)?)),
                SUM => Some(TallyMessage::Sum),
                STAND => Some(TallyMessage::Stand),
                PANIC => Some(TallyMessage::Panic),
                _ => None,
            })
        })
    }
}

#[derive(Clone)]
pub(crate) struct TallyRef(Ref<Tally>);

impl TallyRef {
    pub(crate) fn note(&self, number: u64) -> Call<'_, Tally, ()> {
        Call::new(&self.0, TallyMessage::Note(number))
    }

    pub(crate) fn sum(&self) -> Call<'_, Tally, u64> {
        Call::new(&self.0, TallyMessage::Sum)
    }
}

impl From<Ref<Tally>> for TallyRef {
    fn from(reference: Ref<Tally>) -> TallyRef {
        TallyRef(reference)
    }
}

impl AsRef<Ref<Tally>> for TallyRef {
    fn as_ref(&self) -> &Ref<Tally> {
        &self.0
    }
}

impl Interface for Tally {
    type Message = TallyMessage;
    type Ref = TallyRef;
    type Codec = wigwag_actor::Encoded;
    const SCHEMA: &'static Schema = &Schema::new(
        "Tally",
        &[
            Method {
                name: "note",
                former: &[],
                reply_fields: Fields::NONE,
                routes: &[],
                is_stream: false,
                comment: "",
                arguments: &[Argument {
                    name: "number",
                    former: &[],
                    kind: "u64",
                    fields: Fields::NONE,
                    fixed: u64::FIXED,
                }],
                reply: "()",
            },
            Method {
                name: "sum",
                former: &[],
                reply_fields: Fields::NONE,
                routes: &[],
                is_stream: false,
                comment: "",
                arguments: &[],
                reply: "u64",
            },
            Method {
                name: "stand",
                former: &[],
                reply_fields: Fields::NONE,
                routes: &[],
                is_stream: false,
                comment: "",
                arguments: &[],
                reply: "Vec<u64>",
            },
            Method {
                name: "panic",
                former: &[],
                reply_fields: Fields::NONE,
                routes: &[],
                is_stream: false,
                comment: "",
                arguments: &[],
                reply: "()",
            },
        ],
    );
}

impl Life for Tally {}

impl Actor for Tally {
    fn handle(&mut self, message: TallyMessage, reply: &mut Reply<'_>) -> Handled<TallyMessage> {
        match message {
            TallyMessage::Note(number) => {
                self.sum += number;
                if self.keep_notes {
                    self.notes.push(number);
                }
                reply.send(());
            }
            TallyMessage::Sum => reply.send(self.sum),
            TallyMessage::Stand => return Handled::Later(message),
            TallyMessage::Panic => panic!("on purpose"),
        }
        Handled::Done
    }

    /// Waits at the gate, and answers with all notes.
    async fn handle_later(&mut self, message: TallyMessage, mut reply: Reply<'static>) {
        assert!(matches!(message, TallyMessage::Stand));
        self.gate.reached.notify_one();
        self.gate.open.notified().await;
        reply.send(self.notes.clone());
    }
}
