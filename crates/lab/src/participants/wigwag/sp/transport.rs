//! The transports of the orders: addresses, and the options of sockets and nodes.

use std::time::Duration;

use wigwag::transport::{
    DialOptions, ListenOptions, ShmOptions, TlsClientConfig, TlsServerConfig, TlsSource,
};

use crate::contract::sp::SHM_SPIN;
use crate::contract::{Failure, Orders};

/// Where the server listens, or the client dials.
pub(in crate::participants::wigwag) fn address(orders: &Orders, port: u16) -> String {
    match orders.transport.as_str() {
        "ipc" => format!("ipc://{}", orders.socket),
        "shm" | "shm-spin" => format!("shm://{}", orders.socket),
        "tls" => format!("tls+tcp://127.0.0.1:{port}"),
        "ws" => format!("ws://127.0.0.1:{port}"),
        "wss" => format!("wss://127.0.0.1:{port}"),
        _ => format!("tcp://127.0.0.1:{port}"),
    }
}

/// The port of an address that was bound; 0 for one of a file.
pub(in crate::participants::wigwag) fn port(bound: &str) -> u16 {
    let port = bound.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
    port.unwrap_or(0)
}

fn shm(orders: &Orders) -> Result<ShmOptions, Failure> {
    let spin = if orders.transport == "shm-spin" { SHM_SPIN } else { Duration::ZERO };
    // Over ipc the socket is what is measured.
    Ok(ShmOptions::default().spin(spin)?.upgrade_ipc(false))
}

pub(in crate::participants::wigwag) fn listen_options(
    orders: &Orders,
) -> Result<ListenOptions, Failure> {
    let options = ListenOptions::default().shm(shm(orders)?);
    if orders.certificate.is_empty() {
        return Ok(options);
    }
    let (chain, key) = (TlsSource::file(&orders.certificate), TlsSource::file(&orders.key));
    Ok(options.tls(TlsServerConfig::builder().certificate(chain, key).build()?))
}

pub(in crate::participants::wigwag) fn dial_options(
    orders: &Orders,
) -> Result<DialOptions, Failure> {
    let options = DialOptions::default().shm(shm(orders)?);
    if orders.authority.is_empty() {
        return Ok(options);
    }
    let authority = TlsSource::file(&orders.authority);
    Ok(options.tls(TlsClientConfig::builder().authority(authority).build()?))
}
