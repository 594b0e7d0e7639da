use std::thread;

use super::*;
use crate::process::certificates::Certificates;
use crate::process::socket_file::SocketFile;

/// Bytes that no read takes at once: more than two records of TLS.
const BYTES: usize = 100_000;

fn bytes(seed: u32) -> Vec<u8> {
    (0..BYTES as u32).map(|at| (at.wrapping_mul(seed) >> 8) as u8).collect()
}

/// A connection over the transport of the orders, as cells of remote have it.
fn pair(orders: &Orders) -> (Stream, Stream) {
    let framed = |stream: Stream, is_client| match orders.transport.as_str() {
        "ws" | "wss" => ws::over(stream, is_client),
        _ => stream,
    };
    let listener = Listener::bind(orders).unwrap();
    let client = Orders { port: listener.port().unwrap(), ..orders.clone() };
    thread::scope(|scope| {
        // Both shake hands at once.
        let dialled = scope.spawn(move || Stream::connect(&client).map_err(|e| e.to_string()));
        let accepted = listener.accept(orders).unwrap();
        (framed(dialled.join().unwrap().unwrap(), true), framed(accepted, false))
    })
}

/// Each end sends in pieces of all lengths, then ends its direction; the other one reads just that.
fn bytes_cross(mut from: Stream, mut to: Stream, seed: u32) -> (Stream, Stream) {
    let sent = bytes(seed);
    let sender = thread::spawn(move || {
        let (mut rest, mut length) = (&sent[..], 1);
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(length.min(rest.len()));
            from.write_all(piece).unwrap();
            (rest, length) = (later, length * 3);
        }
        from.writer.finish().unwrap();
        from
    });
    let mut received = Vec::new();
    to.read_to_end(&mut received).unwrap();
    assert!(received == bytes(seed), "{} bytes", received.len());
    (sender.join().unwrap(), to)
}

#[test]
fn bytes_cross_each_transport_both_ways_and_end_where_the_sender_has_ended() {
    for transport in ["tcp", "ipc", "shm", "shm-spin", "tls", "ws", "wss"] {
        let (file, certificates) = (SocketFile::unused(), Certificates::unused());
        certificates.create().unwrap();
        let text = |path: std::path::PathBuf| path.display().to_string();
        let orders = Orders {
            transport: transport.to_owned(),
            socket: text(file.path().to_owned()),
            certificate: text(certificates.certificate()),
            key: text(certificates.key()),
            authority: text(certificates.authority()),
            ..Orders::read()
        };
        let (client, server) = pair(&orders);
        let (client, server) = bytes_cross(client, server, 2_654_435_761);
        bytes_cross(server, client, 40_503);
    }
}

/// A client must verify the chain: a certificate of another authority is refused.
#[test]
fn a_server_of_another_authority_is_refused() {
    let (one, other) = (Certificates::unused(), Certificates::unused());
    one.create().unwrap();
    other.create().unwrap();
    let text = |path: std::path::PathBuf| path.display().to_string();
    let orders = Orders {
        transport: "tls".to_owned(),
        certificate: text(one.certificate()),
        key: text(one.key()),
        authority: text(other.authority()),
        ..Orders::read()
    };
    let listener = Listener::bind(&orders).unwrap();
    let client = Orders { port: listener.port().unwrap(), ..orders.clone() };
    thread::scope(|scope| {
        let dialled = scope.spawn(move || match Stream::connect(&client) {
            Ok(_) => panic!("it was taken"),
            Err(error) => error.to_string(),
        });
        assert!(listener.accept(&orders).is_err());
        // Both authorities have one name, so it is the signature that is wrong.
        let refused = dialled.join().unwrap();
        assert!(refused.contains("invalid peer certificate"), "{refused}");
    });
}
