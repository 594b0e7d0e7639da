//! A session that is cut and resumed, compared byte by byte, with both sides run by this crate.

use serde_json::Value;
use wigwag_link::frame::Frame;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES, Ticket, TicketVerifier};
use wigwag_link::opening::{Opened, Opening, Resumed, Step};
use wigwag_link::{Identity, RecvHalf, SendHalf};
use wigwag_wire::{Header, ProtocolNumber, Time};

use super::read::{Fields, from_hex, hex_of, list, load, number, text, wide};
use super::transcript::{
    OPENING_STEPS, framed, identity_in, play_opening, sends, unframed, written,
};

const FILE: &str = "resumption.json";

/// Both ends of the session; the dialer comes first.
struct Ends {
    senders: [SendHalf; 2],
    receivers: [RecvHalf; 2],
    /// Calls that the listener's actor has handled.
    handled: u64,
}

/// The fields of RESUME in the file.
fn recorded_claim(file: &Value) -> &Value {
    let is_resume = |step: &&Value| step["fields"]["proof"].is_string();
    &list(file, "steps").iter().find(is_resume).expect("there is a RESUME")["fields"]
}

/// Returns the recorded proof and fails for any other input, because this crate contains no
/// cryptography.
fn recorded(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    let file = load(FILE);
    let fields = recorded_claim(&file);
    assert_eq!(token, wide(&fields["token"]), "the key is the token of OPENED");
    assert_eq!(bytes, from_hex(text(&fields["claim"])), "the claim as it is proved");
    from_hex(text(&fields["proof"])).try_into().expect("32 bytes")
}

impl Ends {
    fn new(identities: &[Identity; 2]) -> Ends {
        let [dialer, listener] = identities.map(|who| who.limits);
        Ends {
            senders: [
                SendHalf::new(&dialer, listener, Time::START),
                SendHalf::new(&listener, dialer, Time::START),
            ],
            receivers: [RecvHalf::new(&dialer), RecvHalf::new(&listener)],
            handled: 0,
        }
    }

    /// Brings the listener into the state in which it sends `frame`.
    fn prepare(&mut self, frame: &Frame<'_>) {
        let listener = &mut self.senders[1];
        match *frame {
            Frame::Attached { channel, limit, .. } => {
                assert_eq!(listener.grant(channel, limit, None), Ok(limit), "the first window");
            }
            Frame::Credit { channel, limit, handled } => {
                let told = listener.granted(channel).expect("it is attached").announced();
                listener.freed(channel, limit - told);
                listener.handled(channel, handled - self.handled, 0);
                self.handled = handled;
            }
            _ => {}
        }
    }

    /// Writes a batch as in the file, and reads it unless it was lost.
    fn play(&mut self, step: &Value) {
        let batch = &step["batch"];
        let frames: Vec<Fields<'_>> =
            batch["frames"].as_array().expect("frames").iter().map(Fields::of).collect();
        let from = usize::from(text(&step["from"]) == "listener");
        frames.iter().for_each(|fields| self.prepare(&fields.frame()));
        let again = step["again"] == Value::Bool(true);
        let fresh = if again { &[] } else { frames.as_slice() };
        assert_eq!(written(&mut self.senders[from], fresh), hex_of(step), "{step}");
        if step["arrives"] == Value::Bool(false) {
            return;
        }
        let message = unframed(step);
        let receiver = &mut self.receivers[1 - from];
        let mut incoming = receiver.open(&message).expect("a batch");
        for fields in &frames {
            let (frame, _) = incoming.next_frame().expect("well formed").expect("one more");
            assert_eq!(frame, fields.frame(), "{step}");
        }
        assert_eq!(incoming.next_frame(), Ok(None), "{step}");
        let ack = incoming.ack;
        assert_eq!(ack, number(&batch["ack"]), "{step}");
        drop(incoming);
        let recv_next = receiver.recv_next();
        self.senders[1 - from].outbox.acknowledge(ack).expect("it was sent");
        self.senders[1 - from].accepted(recv_next, message.len(), Time::START);
    }

    /// Replays the second connection, up to RESUMED.
    fn resume(&mut self, steps: &[Value], session: &Opened) {
        let header = Header { protocol: ProtocolNumber::PAIR1 }.to_bytes();
        assert!(steps[..2].iter().all(|step| hex_of(step) == header));
        let messages: Vec<Vec<u8>> = steps[2..OPENING_STEPS].iter().map(unframed).collect();
        let (mut dialer, first) = Opening::redial(identity_in(&messages[0]));
        let mut listener = Opening::listen(identity_in(&messages[1]));
        let second = sends(listener.receive(first.as_slice()));
        assert_eq!(dialer.receive(second.as_slice()), Ok(Step::PeerKnown));
        let [ours, theirs] = [&self.receivers[0], &self.receivers[1]].map(RecvHalf::recv_next);
        let mut ticket = Ticket::new(session.session, session.token);
        let claim = ticket.claim(ours, dialer.nonces().expect("after HELLO"));
        let proof = ticket.prove(&claim, recorded);
        let third = dialer.resume(&claim, &proof);
        assert_eq!(listener.receive(third.as_slice()), Ok(Step::ResumeRequested(claim, proof)));
        let tickets = TicketVerifier::new(session.token);
        assert_eq!(
            tickets.check(&claim, &proof, recorded).expect("the proof is valid").claim(),
            &claim
        );
        let token = wide(&steps[OPENING_STEPS - 1]["fields"]["token"]);
        let fourth = Opening::resumed(&claim, theirs, token);
        let resumed = Step::Resumed(Resumed { recv_next: theirs, token });
        assert_eq!(dialer.receive(fourth.as_slice()), Ok(resumed));
        for (step, message) in steps[2..].iter().zip([first, second, third, fourth]) {
            assert_eq!(framed(message.as_slice()), hex_of(step), "{step}");
        }
        self.senders[0].resume(theirs, Time::START).expect("it was sent");
        self.senders[1].resume(claim.recv_next, Time::START).expect("it was sent");
    }
}

#[test]
fn a_session_that_is_cut_and_resumed_is_as_in_the_vectors() {
    let file = load(FILE);
    let steps = list(&file, "steps");
    let (identities, session) = play_opening(steps);
    let mut ends = Ends::new(&identities);
    let is_cut = |step: &Value| step["cut"] == Value::Bool(true);
    let cut = steps.iter().position(is_cut).expect("there is a cut");
    steps[OPENING_STEPS..cut].iter().for_each(|step| ends.play(step));
    ends.resume(&steps[cut + 1..], &session);
    steps[cut + 1 + OPENING_STEPS..].iter().for_each(|step| ends.play(step));
    assert!(ends.senders[0].is_closed());
    assert!(ends.senders.iter().all(|sender| sender.outbox.is_settled()));
}

#[test]
fn a_claim_covers_nonces_session_epoch_and_number() {
    let file = load(FILE);
    let fields = recorded_claim(&file);
    let steps = list(&file, "steps");
    let cut = steps.iter().position(|step| step["cut"] == Value::Bool(true)).expect("a cut");
    let nonces = [3, 4].map(|at| identity_in(&unframed(&steps[cut + at])).nonce);
    let claim = Claim {
        session: wide(&fields["session"]),
        epoch: number(&fields["epoch"]),
        recv_next: number(&fields["recv_next"]),
        nonces,
    };
    assert_eq!(claim.bytes().as_slice(), from_hex(text(&fields["claim"])));
}
