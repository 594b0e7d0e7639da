//! Error codes by which the two sides tell each other what went wrong (section 8).

use core::fmt;

/// An error code on the wire; [`text`](Code::text) describes it for people.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u16);

macro_rules! codes {
    ($($constant:ident $number:literal $text:literal)*) => {
        impl Code {
            $(#[doc = $text]
            pub const $constant: Code = Code($number);)*

            /// A short description of the code.
            pub const fn text(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    0x8000.. => "an error of the application's own",
                    _ => "an unknown error",
                }
            }
        }
    };
}
codes! {
    OK 0x0000 "ok"
    BYE 0x0100 "the peer said goodbye"
    PROTOCOL 0x0101 "a rule of the protocol was broken"
    VERSION 0x0102 "no version of the protocol in common"
    FEATURE_REQUIRED 0x0103 "one side requires a feature that the other lacks"
    AUTH_REQUIRED 0x0104 "authentication is required"
    AUTH_FAILED 0x0105 "authentication failed"
    SESSION_UNKNOWN 0x0106 "the session is unknown"
    TOKEN_BAD 0x0107 "the session's token is wrong"
    DIAL_TIE 0x0108 "both sides dialed at once, the other connection wins"
    EXISTS 0x0109 "a session between the two exists"
    TOO_MANY 0x010A "there are too many sessions"
    LIMIT_EXCEEDED 0x010B "a limit announced in HELLO was exceeded"
    UNKNOWN_FRAME 0x010C "a frame of unknown type that must be understood"
    GAP 0x010D "a sequence number is missing"
    ACK_BEYOND_SENT 0x010E "an ack of frames that were never sent"
    CREDIT_EXCEEDED 0x010F "more was sent than the credit allowed"
    NO_SUCH_ACTOR 0x0200 "no such actor"
    NO_SUCH_METHOD 0x0201 "no such method"
    BAD_ARGUMENTS 0x0202 "wrong arguments"
    ACTOR_STOPPED 0x0203 "the actor has stopped"
    PANICKED 0x0204 "the handler panicked"
    OVERLOADED 0x0205 "overloaded"
    CANCELLED 0x0206 "cancelled"
    REPLY_DROPPED 0x0207 "the handler ended without a reply"
    DRAINING 0x0208 "the node is closing"
    TOO_LARGE 0x0209 "too large"
    CALL_CYCLE 0x020A "the calls form a cycle in which each waits for the next"
    DEADLINE_PASSED 0x020B "the deadline had passed before the call began"
    NOT_SERIALIZABLE 0x020C "the value cannot leave its process"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x} {}", self.0, self.text())
    }
}
