//! Incoming connections as messages.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use wigwag_actor::{Call, CallError, Interface, Ref};

use super::event::{End, Event, not_serializable};
use super::limits::{ACCEPT_REST, Limits};
use super::task::credit::{Credit, PieceCredit};
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::reader::{Input, run_to_end};
use super::task::recipient::{ActorGone, ActorRecipient, Recipient};

/// An incoming connection; see [`Accept`] for an example.
///
/// It counts against the listener's credit until it is dropped or [taken](Accepted::into_stream).
#[derive(Debug)]
pub struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    _held: PieceCredit,
}

impl Accepted {
    /// The address of the peer.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Takes the connection out and returns the credit.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}

not_serializable!(() Accepted);

/// A listener that accepts nothing yet, from [`accept`].
///
/// ```
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::{TcpListener, TcpStream};
/// use wigwag::Actor;
/// use wigwag::io::{self, Accepted, Event};
///
/// struct Greeter;
///
/// #[wigwag::actor]
/// impl Greeter {
///     pub async fn event(&mut self, event: Event<Accepted>) {
///         if let Event::Got(accepted) = event {
///             let mut stream = accepted.into_stream();
///             let _ = stream.write_all(b"welcome").await;
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let address = listener.local_addr()?;
/// let input = io::accept(listener).deliver(&Greeter.spawn(), GreeterRef::event)?;
///
/// let mut greeting = String::new();
/// TcpStream::connect(address).await?.read_to_string(&mut greeting).await?;
/// assert_eq!(greeting, "welcome");
/// input.close();
/// # Ok(()) }
/// ```
#[must_use = "nothing is accepted until it is delivered"]
#[derive(Debug)]
pub struct Accept {
    listener: TcpListener,
    limits: Limits,
}

/// Prepares a listener whose connections become messages; see [`Accept`] for an example.
/// Connections that the actor has no credit for wait in the system's backlog.
pub fn accept(listener: TcpListener) -> Accept {
    Accept { listener, limits: Limits::default() }
}

impl Accept {
    /// Sets limits other than the defaults; `waiting_max` counts connections here.
    pub fn limits(mut self, limits: Limits) -> Accept {
        self.limits = limits;
        self
    }

    /// Delivers the listener to an actor: each connection becomes a tell by `call`, one of the
    /// actor's methods. Until it is closed, the input counts as a reference to the actor.
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn deliver<I, R, F>(self, to: &impl AsRef<Ref<I>>, call: F) -> Result<Input, CallError>
    where
        I: Interface,
        R: 'static,
        F: for<'a> Fn(&'a I::Ref, Event<Accepted>) -> Call<'a, I, R> + Send + Sync + 'static,
    {
        let (to, actor) = ActorRecipient::new(to, call)?;
        let credit = Credit::new(&self.limits);
        let input = Input::new(credit.clone());
        let stop = input.clone();
        let listener = self.listener;
        let reader = crate::spawn(async move {
            run_to_end(accept_all(listener, credit, &to), stop, &to, Event::End).await;
        });
        stop_with_actor(actor, OwnedTasks { reader: Some(reader), writer: None });
        Ok(input)
    }
}

async fn accept_all(
    listener: TcpListener,
    credit: Credit,
    to: &impl Recipient<Event<Accepted>>,
) -> Result<End, ActorGone> {
    let mut out_of_resources = false;
    loop {
        let held = credit.piece().await;
        let (stream, peer) = loop {
            match listener.accept().await {
                Ok(accepted) => break accepted,
                // The listener itself works: the peer has given up, or a resource is used up.
                Err(error) if is_transient(error.kind()) => {}
                Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(error.into()),
                Err(error) => {
                    if !std::mem::replace(&mut out_of_resources, true) {
                        tracing::warn!(%error, "connections wait: the system takes no more now");
                    }
                    sleep(ACCEPT_REST).await;
                }
            }
        };
        out_of_resources = false;
        to.deliver(Event::Got(Accepted { stream, peer, _held: held })).await?;
    }
}

fn is_transient(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}
