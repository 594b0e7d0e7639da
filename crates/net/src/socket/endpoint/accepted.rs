//! Connections that a socket serves and has not accepted itself.
//!
//! A server that offers several protocols at one address reads the header of each dialer first, and
//! then hands the connection to a socket of the partner's protocol.

use std::sync::Arc;

use wigwag_wire::ReadBuf;

use crate::addresses::address::Address;
use crate::clock;
use crate::error::NetError;
use crate::options::ListenOptions;
use crate::socket::core::Core;
use crate::socket::endpoint::PipeOptions;
use crate::socket::observe::Side;
use crate::transport::Connection;

/// An accepted connection whose handshake is complete: the peer has announced the partner of the
/// socket's protocol, and was sent the header of the socket.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use wigwag_net::handshake::{announced, read_header, send_header};
/// use wigwag_net::socket::{AcceptedConnection, Rep, Req};
/// use wigwag_net::{ListenOptions, NetError, transport};
/// use wigwag_wire::{ProtocolNumber, ReadBuf};
///
/// let listener = transport::listen(&"tcp://127.0.0.1:0".parse()?, ListenOptions::default()).await?;
/// let (rep, req) = (Rep::new(), Req::new());
/// let through = listener.address().clone();
/// let serving = async {
///     let (mut connection, mut input) = (listener.accept().await?, ReadBuf::new());
///     let header = read_header(&mut connection, &mut input).await?;
///     assert_eq!(announced(&connection.peer, header)?, ProtocolNumber::REQ);
///     send_header(&connection, ProtocolNumber::REP).await?;
///     let options = ListenOptions::default();
///     rep.serve(AcceptedConnection { connection, input, through, options }).await
/// };
/// let asking = async {
///     req.dial(&listener.address().to_string()).await?;
///     req.send("ping").await.unwrap();
///     assert_eq!(rep.recv().await.unwrap(), "ping");
///     req.close().await;
///     Ok::<(), NetError>(())
/// };
/// tokio::try_join!(serving, asking)?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct AcceptedConnection {
    /// The connection.
    pub connection: Connection,
    /// Bytes that were read behind the peer's header.
    pub input: ReadBuf,
    /// The address of the listener that has accepted it.
    pub through: Address,
    /// The options of that listener: the receive limit and the priorities apply.
    pub options: ListenOptions,
}

impl Core {
    /// Serves a connection until it ends.
    pub(crate) async fn serve(
        self: &Arc<Core>,
        accepted: AcceptedConnection,
    ) -> Result<(), NetError> {
        let AcceptedConnection { connection, input, through, options } = accepted;
        let options = PipeOptions::of(&options);
        let (peer, outlet) = (connection.peer.clone(), connection.outlet.clone());
        let guard =
            self.add_endpoint(Side::Accepted, through, options).inspect_err(|_| outlet.close())?;
        let _task = self.enter_task();
        let pipe = self
            .admit(connection, input, &guard.endpoint, clock::now())
            .map_err(|kind| NetError::new(&peer, kind))?;
        pipe.run().await;
        Ok(())
    }
}
