//! The bytes on the page of each protocol are the bytes that its socket writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use wigwag::sp::{Bus, Pair, Pub, Push, Req, Star, Surveyor};

/// Bytes of the SP header, and of the length after it.
const HEADER: usize = 8;
const LENGTH: usize = 8;

/// The bytes in the page's section on the wire format.
fn on_the_page(page: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocols").join(page);
    let text = fs::read_to_string(path).unwrap();
    let section = text.split_once("## On the wire").unwrap().1;
    let block = section.split("```").nth(1).unwrap().trim_start_matches("text\n");
    let words = block.lines().flat_map(|line| {
        let bytes = line.split_once("  ").unwrap().0;
        bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap())
    });
    words.collect()
}

/// The first `count` bytes of a socket that dials a partner of number `partner` and sends `hi`.
macro_rules! written {
    ($socket:ident, $partner:expr, $count:expr) => {{
        let place = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", place.local_addr().unwrap());
        let (partner, count): (u16, usize) = ($partner, $count);
        let [high, low] = partner.to_be_bytes();
        let reading = thread::spawn(move || {
            let (mut peer, _) = place.accept().unwrap();
            peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            peer.write_all(&[0, b'S', b'P', 0, high, low, 0, 0]).unwrap();
            let mut bytes = vec![0; count];
            peer.read_exact(&mut bytes).unwrap();
            bytes
        });
        let socket = $socket::new();
        socket.blocking_dial(&address).unwrap();
        socket.blocking_send("hi").unwrap();
        reading.join().unwrap()
    }};
}

macro_rules! page {
    ($test:ident, $page:literal, $socket:ident, $partner:literal) => {
        #[test]
        fn $test() {
            let page = on_the_page($page);
            assert_eq!(written!($socket, $partner, page.len()), page);
        }
    };
    // The id is random: the page shows one of many.
    ($test:ident, $page:literal, $socket:ident, $partner:literal, drawn) => {
        #[test]
        fn $test() {
            let mut page = on_the_page($page);
            let written = written!($socket, $partner, page.len());
            let id = HEADER + LENGTH..HEADER + LENGTH + 4;
            assert!(page[id.start] & 0x80 != 0 && written[id.start] & 0x80 != 0);
            page[id.clone()].copy_from_slice(&written[id]);
            assert_eq!(written, page);
        }
    };
}

page!(the_page_of_pair_has_its_bytes, "pair.md", Pair, 0x11);
page!(the_page_of_requests_has_their_bytes, "request-reply.md", Req, 0x31, drawn);
page!(the_page_of_publishers_has_their_bytes, "publish-subscribe.md", Pub, 0x21);
page!(the_page_of_the_pipeline_has_its_bytes, "pipeline.md", Push, 0x51);
page!(the_page_of_surveys_has_their_bytes, "survey.md", Surveyor, 0x63, drawn);
page!(the_page_of_the_bus_has_its_bytes, "bus.md", Bus, 0x70);
page!(the_page_of_the_star_has_its_bytes, "star.md", Star, 0x640);
