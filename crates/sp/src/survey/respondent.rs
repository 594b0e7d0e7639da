//! respondent: answers surveys, each on the pipe it came from, as rep does with requests.
//!
//! A survey needs no answer: receiving the next one abandons it.

use wigwag_wire::ProtocolNumber;

use crate::request_reply::answerer::Answerer;

/// A respondent socket.
pub type Respondent = Answerer<{ ProtocolNumber::RESPONDENT.0 }>;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use wigwag_wire::Time;

    use super::*;
    use crate::{PipeId, Protocol, Refusal, Surveyor};

    /// A survey goes from a surveyor through a respondent and back.
    #[test]
    fn a_survey_is_answered() {
        let (mut surveyor, mut respondent) = (Surveyor::new(1), Respondent::new());
        let (pipe, now) = (PipeId(1), Time::START);
        assert_eq!(respondent.number(), ProtocolNumber::RESPONDENT);
        surveyor.open(pipe, now).unwrap();
        respondent.open(pipe, now).unwrap();
        surveyor.send(Bytes::from_static(b"who?"), now).unwrap();
        let asked = surveyor.transmit(pipe).unwrap().to_vec();
        respondent.receive(pipe, Bytes::from(asked), now);
        assert_eq!(respondent.recv(now).unwrap(), "who?");
        respondent.send(Bytes::from_static(b"I"), now).unwrap();
        let answered = respondent.transmit(pipe).unwrap().to_vec();
        surveyor.receive(pipe, Bytes::from(answered), now);
        assert_eq!(surveyor.recv(now).unwrap(), "I");
        let unasked = respondent.send(Bytes::from_static(b"I"), now).unwrap_err();
        assert_eq!(unasked.why, Refusal::NoRequest);
    }
}
