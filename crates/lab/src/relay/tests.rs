use std::io::{ErrorKind, Read, Write};

use super::queue::BYTES_MAX;
use super::*;

/// Nothing of a test takes so long, unless it hangs.
const SOON: Duration = Duration::from_secs(20);

fn relay(plan: RelayPlan) -> (Relay, TcpListener) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    (Relay::start(RelayPlan { server: port, ..plan }).unwrap(), server)
}

/// A client and the server's end of its connection.
fn connect(relay: &Relay, server: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
    let (server, _) = server.accept().unwrap();
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.set_nodelay(true).unwrap();
    }
    (client, server)
}

/// Bytes that tell where they are.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

fn is_reset(mut stream: &TcpStream) {
    let said = io::copy(&mut stream, &mut io::sink());
    assert_eq!(said.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn bytes_and_their_order_are_kept_both_ways_and_a_half_may_end_first() {
    let (relay, server) =
        relay(RelayPlan { delay: Duration::from_millis(3), ..RelayPlan::default() });
    let (mut client, mut server) = connect(&relay, &server);
    let sent = bytes(5_000_000);
    thread::scope(|scope| {
        let (mut there, all) = (client.try_clone().unwrap(), &sent);
        scope.spawn(move || {
            // Pieces of every size, the last of one byte.
            let (many, last) = all.split_at(all.len() - 1);
            many.chunks(70_001).for_each(|piece| there.write_all(piece).unwrap());
            there.write_all(last).unwrap();
            there.shutdown(Shutdown::Write).unwrap();
        });
        let mut came = Vec::new();
        server.read_to_end(&mut came).unwrap();
        assert!(came == sent);
        // The other half goes on.
        server.write_all(&came[..100_000]).unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        assert!(back == sent[..100_000]);
    });
}

#[test]
fn each_way_takes_the_delay_at_least() {
    let delay = Duration::from_millis(30);
    let (relay, server) = relay(RelayPlan { delay, ..RelayPlan::default() });
    let (mut client, mut server) = connect(&relay, &server);
    let mut byte = [0];
    for (from, to) in [(0, 1), (1, 0), (0, 1)] {
        let ends = [&mut client, &mut server];
        let begun = Instant::now();
        ends[from].write_all(&[9]).unwrap();
        ends[to].read_exact(&mut byte).unwrap();
        assert!(begun.elapsed() >= delay, "{:?}", begun.elapsed());
    }
}

#[test]
fn a_reset_is_passed_on_to_the_other_side() {
    let (relay, server) = relay(RelayPlan::default());
    let (mut client, there) = connect(&relay, &server);
    client.write_all(b"last words").unwrap();
    let mut words = [0; 10];
    (&there).read_exact(&mut words).unwrap();
    reset_when_closed(&client);
    drop(client);
    is_reset(&there);
    // And the other way round; the relay takes the next one.
    let (client, there) = connect(&relay, &server);
    reset_when_closed(&there);
    drop(there);
    is_reset(&client);
}

#[test]
fn where_there_is_no_server_the_client_is_reset() {
    let (relay, server) = relay(RelayPlan::default());
    drop(server);
    let client = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    is_reset(&client);
}

/// While the server does not read, the queue holds what the kernel does not, up to its limit.
#[test]
fn a_full_queue_stops_reading() {
    let (relay, server) = relay(RelayPlan::default());
    let (client, mut there) = connect(&relay, &server);
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let (piece, mut written) = (bytes(1 << 16), 0);
    let stopped = loop {
        match (&client).write(&piece[written % piece.len()..]) {
            Ok(more) => written += more,
            Err(error) => break error,
        }
        // The kernel's buffers of two connections, and ours.
        assert!(written < 128 << 20, "it never stops reading");
    };
    assert!(matches!(stopped.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stopped}");
    let waiting = relay.state.live().values().map(|it| it.there.bytes()).sum::<usize>();
    assert!((1..=BYTES_MAX).contains(&waiting), "{waiting}");
    // When the server reads, all bytes arrive.
    client.shutdown(Shutdown::Write).unwrap();
    let mut came = Vec::new();
    there.read_to_end(&mut came).unwrap();
    assert_eq!(came.len(), written);
    assert!(came.chunks(piece.len()).all(|part| part == &piece[..part.len()]));
}

/// A write and its note are two steps, and a server may answer between them.
#[test]
fn an_account_holds_every_byte_that_the_server_has_read() {
    let (relay, server) = relay(RelayPlan::default());
    relay.begin();
    let (mut client, mut there) = connect(&relay, &server);
    for sent in 1..=1_000 {
        client.write_all(&[7]).unwrap();
        there.read_exact(&mut [0]).unwrap();
        assert_eq!(relay.account().bytes, sent);
    }
}

/// A client that comes back after each cut; both sides hear a reset, and the relay tells when.
#[test]
fn it_cuts_as_often_as_ordered_and_tells_when_the_next_connection_spoke() {
    let (relay, server) = relay(RelayPlan { cut_bytes: 10_000, cuts: 3, ..RelayPlan::default() });
    relay.begin();
    let piece = bytes(20_000);
    for _ in 0..3 {
        let (client, there) = connect(&relay, &server);
        let hearing = thread::spawn(move || is_reset(&there));
        // Until the cut is heard of: the clock holds the second and the third one back.
        while (&client).write_all(&piece).is_ok() {}
        hearing.join().unwrap();
    }
    let (mut client, mut there) = connect(&relay, &server);
    client.write_all(&piece).unwrap();
    there.read_exact(&mut vec![0; piece.len()]).unwrap();
    let told = relay.account();
    assert_eq!((told.connections, told.refused, told.cuts.len()), (4, 0, 3));
    assert!(told.cuts.iter().all(|cut| cut.resumed_ms.is_some()), "{told:?}");
    let apart = told.cuts.windows(2).map(|two| two[1].at_ms - two[0].at_ms);
    assert!(apart.into_iter().all(|apart| apart >= 100.0), "{told:?}");
    assert!(told.bytes >= 50_000 && told.bytes == told.steps.iter().sum::<u64>(), "{told:?}");
}

#[test]
fn one_connection_too_many_is_reset_and_those_before_it_go_on() {
    let (relay, server) = relay(RelayPlan::default());
    {
        // A thousand connections are much for a test: their places are taken by one of them.
        let (client, there) = connect(&relay, &server);
        // A connection that has passed a byte on is among the live ones.
        (&client).write_all(b"g").unwrap();
        (&there).read_exact(&mut [0; 1]).unwrap();
        let mut live = relay.state.live();
        let first = live.values().next().unwrap().clone();
        (0..CONNECTIONS_MAX as u64).for_each(|number| {
            live.insert(1_000_000 + number, first.clone());
        });
        drop((live, first));
        let refused = TcpStream::connect(("127.0.0.1", relay.port())).unwrap();
        refused.set_read_timeout(Some(SOON)).unwrap();
        is_reset(&refused);
        (&client).write_all(b"on").unwrap();
        (&there).read_exact(&mut [0; 2]).unwrap();
    }
    assert_eq!(relay.account().refused, 1);
}
