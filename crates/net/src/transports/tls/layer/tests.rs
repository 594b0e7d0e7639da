//! Two layers in memory, whose bytes arrive torn.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::UnbufferedServerConnection;

use super::*;
use crate::transports::tls::{TlsClientConfig, TlsSource, provider, versions};

#[path = "../../../../tests/support/certificates.rs"]
mod certificates;

mod resumed;

use certificates::{Authority, Request};

/// One end: a layer, the bytes on their way to it, and what it has received.
struct End<C> {
    layer: TlsLayer<C>,
    out: Vec<u8>,
    left: Vec<u8>,
    input: ReadBuf,
}

impl<C: Unbuffered> End<C> {
    fn new(connection: C, recheck: Option<Recheck>) -> End<C> {
        let mut out = Vec::new();
        let mut layer = TlsLayer::new(connection, PeerCertificate::default(), recheck);
        layer.begin(&mut out).unwrap();
        End { layer, out, left: Vec::new(), input: ReadBuf::new() }
    }

    fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left.extend_from_slice(bytes);
        let received = self.layer.receive(&mut self.left, &mut self.input, &mut self.out)?;
        self.left.drain(..received.taken);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) {
        let sent = self.layer.send(&[IoSlice::new(bytes)], &mut self.out).unwrap();
        assert_eq!(sent, bytes.len());
    }
}

type Client = End<UnbufferedClientConnection>;
type Server = End<UnbufferedServerConnection>;

/// A client and a server; the server's records have at most `record` bytes, if that is given.
fn ends(record: Option<usize>) -> (Client, Server) {
    let authority = Authority::new("the authority");
    let issued = authority.issue(Request::default());
    let chain = vec![CertificateDer::from_pem_slice(issued.chain.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(versions(false))
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.max_fragment_size = record;
    let client = TlsClientConfig::builder().authority(TlsSource::pem(authority.pem()));
    let (config_of_client, name, recheck) = client.build().unwrap().dialling("localhost").unwrap();
    let client = UnbufferedClientConnection::new(config_of_client, name).unwrap();
    let server = UnbufferedServerConnection::new(Arc::new(config)).unwrap();
    (End::new(client, Some(recheck)), End::new(server, None))
}

/// Bytes that an end sends, one at a time.
const SENDS: u8 = 200;

/// Each end gets the bytes of the other in pieces of `piece`. After each piece it sends a byte: the
/// server from the first on, the client once its handshake is complete, so while tickets arrive.
fn talk(piece: usize, record: Option<usize>) {
    let (mut client, mut server) = ends(record);
    let (mut by_client, mut by_server) = (0..SENDS, 0..SENDS);
    while !(client.out.is_empty() && server.out.is_empty()) {
        for part in std::mem::take(&mut client.out).chunks(piece) {
            server.receive(part).unwrap();
            by_server.next().inspect(|byte| server.send(&[*byte]));
        }
        for part in std::mem::take(&mut server.out).chunks(piece) {
            client.receive(part).unwrap();
            if !client.layer.connection.is_handshaking() {
                by_client.next().inspect(|byte| client.send(&[*byte]));
            }
        }
    }
    let (by_client, by_server) = (by_client.start, by_server.start);
    assert!(by_client > 1 && by_server > 0);
    for (input, sent) in [(&server.input, by_client), (&client.input, by_server)] {
        let expected: Vec<u8> = (0..sent).collect();
        assert_eq!(input.as_slice(), expected, "in pieces of {piece}");
    }
}

/// The server's certificate, and the tickets that it sends after the handshake, take several records
/// of 32 bytes each. An end that has a part of such a message sends meanwhile.
#[test]
fn messages_of_the_handshake_in_several_records_arrive_torn_while_data_is_sent() {
    for piece in [1, 7, 60, 100, 10_000] {
        talk(piece, None);
        talk(piece, Some(32));
    }
}

#[test]
fn parts_become_few_records_and_arrive_in_order() {
    let (mut client, mut server) = ends(None);
    while client.layer.connection.is_handshaking() {
        server.receive(&std::mem::take(&mut client.out)).unwrap();
        client.receive(&std::mem::take(&mut server.out)).unwrap();
    }
    server.receive(&std::mem::take(&mut client.out)).unwrap();
    let long: Vec<u8> = (0..40_000_u32).map(|number| number as u8).collect();
    let parts = [&b"head"[..], b"er", &long, b"end"];
    let slices = parts.map(IoSlice::new);
    let sent = client.layer.send(&slices, &mut client.out).unwrap();
    assert_eq!(sent, 40_009);
    let mut records = 0;
    let mut rest = &client.out[..];
    while let Some(([_, _, _, high, low], body)) = rest.split_first_chunk() {
        rest = &body[usize::from(u16::from_be_bytes([*high, *low]))..];
        records += 1;
    }
    assert_eq!(records, 4, "16 KiB, 16 KiB and the rest of the long part, and the last one");
    server.receive(&std::mem::take(&mut client.out)).unwrap();
    assert_eq!(server.input.as_slice(), parts.concat());

    let huge = vec![7; SEND_BYTES_MAX];
    let sent = client.layer.send(&[IoSlice::new(&huge), IoSlice::new(&huge)], &mut client.out);
    assert_eq!(sent.unwrap(), SEND_BYTES_MAX, "the output is bounded");
}

#[test]
fn bytes_that_are_sent_before_the_handshake_are_bounded() {
    let (mut client, _server) = ends(None);
    let chunk = vec![7; 3 * EARLY_BYTES_MAX / 4];
    let slices = [IoSlice::new(&chunk)];
    assert_eq!(client.layer.send(&slices, &mut client.out).unwrap(), chunk.len());
    assert!(client.layer.is_open());
    assert_eq!(client.layer.send(&slices, &mut client.out).unwrap(), EARLY_BYTES_MAX / 4);
    assert!(!client.layer.is_open());
    assert_eq!(client.layer.send(&slices, &mut client.out).unwrap(), 0);
}

/// A peer that changes its records in the middle is refused, and told so.
#[test]
fn a_changed_byte_ends_the_connection_with_an_alert() {
    let (mut client, mut server) = ends(None);
    server.receive(&std::mem::take(&mut client.out)).unwrap();
    let mut flight = std::mem::take(&mut server.out);
    let last = flight.len() - 1;
    flight[last] ^= 1;
    let error = client.receive(&flight).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(!client.out.is_empty(), "there is no alert");
    assert!(client.layer.send(&[IoSlice::new(b"x")], &mut client.out).is_err());
}

/// Each record brings one byte of a message, and six bytes that are held with it.
#[test]
fn a_message_of_the_handshake_in_tiny_records_is_held_within_bounds() {
    let (_client, mut server) = ends(None);
    let mut message = [&[1, 0, 0xff, 0xff][..], &[7; 0xffff]].concat().into_iter();
    loop {
        let records: Vec<u8> =
            message.by_ref().take(1000).flat_map(|byte| [22, 3, 1, 0, 1, byte]).collect();
        assert!(!records.is_empty(), "the whole message was held");
        if server.receive(&records).is_err() {
            break;
        }
        assert!(server.layer.held.len() <= HELD_BYTES_MAX);
    }
}
