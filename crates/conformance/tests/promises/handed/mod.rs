//! A transport whose sockets, listeners and streams alike, are made by the standard library and
//! handed over, so that `socket://` is tested for all promises of a transport.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Once;

use wigwag_net::descriptor::hand_over;
use wigwag_net::transport::{self, Boxed, register};
use wigwag_net::{Address, Connection, DialOptions, ListenOptions, Listener, NetError, Transport};

/// Registers `handed://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Handed).expect("nobody else has the scheme"));
}

struct Handed;

fn place(address: &Address) -> Result<SocketAddr, NetError> {
    SocketAddr::from_abstract_name(address.rest()).map_err(|error| NetError::new(address, error))
}

impl Transport for Handed {
    fn scheme(&self) -> &'static str {
        "handed"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let bound = UnixListener::bind_addr(&place(address)?);
            let bound = bound.map_err(|error| NetError::new(address, error))?;
            let inner = transport::listen(hand_over(bound)?.address(), options).await?;
            Ok(Box::new(Renamed { inner, address: address.clone() }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let made = UnixStream::connect_addr(&place(address)?);
            let made = made.map_err(|error| NetError::new(address, error))?;
            let mut connection = transport::dial_with(hand_over(made)?.address(), options).await?;
            connection.peer = address.to_string().into();
            Ok(connection)
        })
    }
}

/// A listener with the address that the tests use.
struct Renamed {
    inner: Box<dyn Listener>,
    address: Address,
}

impl Listener for Renamed {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        self.inner.accept()
    }
}
