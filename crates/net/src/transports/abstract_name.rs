//! `abstract://name`: Unix domain sockets with a Linux abstract name instead of a file.
//!
//! The name exists while a listener holds it, leaves nothing behind, and has no permissions: any
//! process in the same network namespace may connect. Check the peer's credentials if that matters.
//!
//! NNG has `abstract://`, with `%` and two hex digits for bytes that cannot be part of an address;
//! mangos and this crate also reach the same names as `ipc://@name`. nanomsg has no abstract names,
//! and to nanomsg and NNG `ipc://@name` is a file of that name. The bytes on the connection are
//! those of ipc. A name has at most 107 bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::ipc::{self, BoundUnixListener};

/// The `abstract://` transport.
pub struct Abstract;

impl Transport for Abstract {
    fn scheme(&self) -> &'static str {
        "abstract"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let listener = listen(address, &unescape(address)?, options)?;
            Ok(Box::new(listener) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let stream = ipc::connect(address, &path(address, &unescape(address)?)?).await?;
            Ok(ipc::dialled(stream, &options, address))
        })
    }
}

/// Listens at an abstract name; `address` may spell it as `abstract://` or as `ipc://@`.
pub(crate) fn listen(
    address: &Address,
    name: &[u8],
    options: ListenOptions,
) -> Result<BoundUnixListener, NetError> {
    let path = path(address, name)?;
    let begin = || {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&SockAddr::unix(path)?)?;
        ipc::listen(socket, options.backlog)
    };
    let listener = begin().map_err(|error| NetError::new(address, ipc::listen_kind(error)))?;
    let address = address.clone();
    Ok(BoundUnixListener { listener, address, options, _file: None })
}

/// The name in the form of the socket calls: after a zero byte.
pub(crate) fn path(address: &Address, name: &[u8]) -> Result<PathBuf, NetError> {
    if name.is_empty() {
        let rule = "an abstract name has at least one byte";
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    Ok(Path::new(OsStr::from_bytes(&[&[0], name].concat())).to_owned())
}

/// Decodes the name of an address: `%00` is a zero byte.
fn unescape(address: &Address) -> Result<Vec<u8>, NetError> {
    let rule = "in an abstract name, % must be followed by two hex digits";
    let bad = || NetError::new(address, NetErrorKind::BadAddress { rule });
    let mut rest = address.rest().as_bytes();
    let mut name = Vec::with_capacity(rest.len());
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'%' {
            name.push(*byte);
            continue;
        }
        let ([high, low], behind) = rest.split_first_chunk::<2>().ok_or_else(bad)?;
        rest = behind;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let value = digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low);
        name.push(value.and_then(|value| u8::try_from(value).ok()).ok_or_else(bad)?);
    }
    Ok(name)
}

/// Encodes a name so that it can be part of an address.
pub(crate) fn escape(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name {
        if byte.is_ascii_graphic() && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_can_be_a_name() {
        let name: Vec<u8> = (0..=255).collect();
        let address = Address::new("abstract", escape(&name));
        assert_eq!(unescape(&address).unwrap(), name);
        for text in ["%", "%0", "%zz", "a%+1"] {
            let refused = unescape(&Address::new("abstract", text)).unwrap_err();
            assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }));
        }
    }

    /// Both spellings name the same socket, and a zero byte does not end the name.
    #[tokio::test]
    async fn both_spellings_name_the_same_socket() {
        let name = format!("wigwag-spelling-{}", std::process::id());
        let (here, there) =
            (Address::new("abstract", &name), Address::new("ipc", format!("@{name}")));
        let listener = Abstract.listen(&here, ListenOptions::default()).await.unwrap();
        crate::transport::dial(&there).await.unwrap();
        listener.accept().await.unwrap();
        let longer = Address::new("abstract", format!("{name}%00"));
        let refused = Abstract.dial(&longer, DialOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
        let taken = crate::transport::listen(&there, ListenOptions::default()).await.err().unwrap();
        assert!(matches!(taken.kind, NetErrorKind::InUse), "{taken}");
    }
}
