//! Contexts: many exchanges at once on one socket.
//!
//! A req socket has one question under way, and asking the next one cancels it. A program that asks
//! many questions at once could create many sockets, each with its own connections; or one socket
//! and a context for each task. A context asks, answers, surveys or subscribes for itself alone.
//! The socket is its own first context, so a program that needs only one never sees them.
//!
//! | context of | state of its own |
//! |---|---|
//! | [`Req`] | a question, its resend timer and its reply |
//! | [`Rep`], [`Respondent`] | the request that it answers; any context takes any request |
//! | [`Surveyor`] | a survey, its time and its answers |
//! | [`Sub`] | topics and a queue |
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use wigwag_net::socket::{Rep, Req};
//!
//! let (rep, req) = (Rep::new(), Req::new());
//! let address = rep.listen("tcp://127.0.0.1:0").await?;
//! req.dial(&address.to_string()).await?;
//!
//! // Two questions are under way over one connection, and are answered in reverse order.
//! let (first, second) = (req.context()?, req.context()?);
//! first.send("first").await?;
//! second.send("second").await?;
//! let workers = [rep.context()?, rep.context()?];
//! for worker in &workers {
//!     worker.recv().await?;
//! }
//! workers[1].send("to the second").await?;
//! workers[0].send("to the first").await?;
//! assert_eq!(first.recv().await?, "to the first");
//! assert_eq!(second.recv().await?, "to the second");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # Limits
//!
//! [`CONTEXTS_MAX`](wigwag_sp::limits::CONTEXTS_MAX) contexts a socket; one more is refused with
//! [`TooManyContexts`](crate::socket::SocketErrorKind::TooManyContexts). A context's queue of answers or
//! messages holds as many as that of one peer; a message that does not fit is lost for this context
//! alone and counted (`dropped_overflow`). A sub or surveyor socket with contexts therefore never
//! stops reading from a peer, not even for its own queue. The time limits are those of the socket.
//!
//! # Cancellation and shutdown
//!
//! Dropping a context cancels its question and abandons the request that it was to answer; both are
//! counted. A context that outlives its socket only returns errors that the socket is closed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::{ContextId, Setting};
use wigwag_wire::IntoBytes;

use crate::socket::calls::Caller;
use crate::socket::core::Core;
use crate::socket::error::{SendError, SocketError};
use crate::socket::kinds::call_methods::{
    asks, receive_calls, send_calls, subscribes, surveys, turn_calls,
};
use crate::socket::kinds::{Rep, Req, Respondent, Sub, Surveyor};

/// An open context; dropping it closes the context.
struct ContextHandle(Arc<Core>, Caller);

impl ContextHandle {
    fn open(
        core: &Arc<Core>,
        caller: fn(ContextId) -> Caller,
    ) -> Result<ContextHandle, SocketError> {
        match core.with(|state| state.protocol.open_context()) {
            Ok(context) => Ok(ContextHandle(core.clone(), caller(context))),
            Err(error) => Err(core.error(error.into())),
        }
    }

    fn caller(&self) -> Caller {
        self.1
    }

    fn set(&self, setting: Setting) -> Result<(), SocketError> {
        let context = self.1.context;
        let outcome = self.0.with(|state| state.protocol.set_in(context, setting));
        outcome.map_err(|error| self.0.error(error.into()))
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        let context = self.1.context;
        self.0.with(|state| {
            let now = state.now();
            state.protocol.close_context(context, now);
        });
    }
}

macro_rules! context {
    ($(#[$doc:meta])* $name:ident of $socket:ident, $caller:expr; $($calls:ident)*) => {
        $(#[$doc])*
        pub struct $name(ContextHandle);

        impl $socket {
            /// Opens a context: one more exchange on this socket, beside its own and those of other
            /// contexts.
            pub fn context(&self) -> Result<$name, SocketError> {
                ContextHandle::open(&self.0.0, $caller).map($name)
            }
        }

        impl $name {
            $($calls!();)*
        }
    };
}

context! {
    /// Asks questions, one at a time, beside the other contexts of a [`Req`] socket.
    ReqContext of Req, Caller::exclusive; send_calls turn_calls asks
}

context! {
    /// Answers questions, one at a time, beside the other contexts of a [`Rep`] socket: with one
    /// worker for each context, a server answers as many questions at once.
    RepContext of Rep, Caller::shared; send_calls turn_calls
}

context! {
    /// Asks all peers at once, beside the other contexts of a [`Surveyor`] socket. Its surveys take
    /// as long as those of the socket, unless it sets another time.
    SurveyorContext of Surveyor, Caller::exclusive; send_calls receive_calls surveys
}

context! {
    /// Answers surveys, one at a time, beside the other contexts of a [`Respondent`] socket.
    RespondentContext of Respondent, Caller::shared; send_calls receive_calls
}

context! {
    /// Receives the messages it has subscribed to, beside the other contexts of a [`Sub`] socket.
    SubContext of Sub, Caller::exclusive; receive_calls subscribes
}
