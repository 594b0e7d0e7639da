//! Known-bad participants of sp: a right receiver, and a sender with a fault.

use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use super::faulty;
use crate::contract::{
    Failure, Orders, PayloadDraws, Tally, print_line, print_line_and_wait, ready_and_go,
    ready_until_input_ends, senders,
};

/// The only length that is sent: that of the first cell.
const MESSAGE: usize = 16;

pub(in crate::participants) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (stream, _) = listener.accept()?;
    let mut stream = BufReader::new(stream);
    let (mut tally, mut message) = (Tally::default(), [0; MESSAGE]);
    loop {
        stream.read_exact(&mut message)?;
        let [_, _, _, _, a, b, c, d, e, f, g, h, payload @ ..] = message;
        match u64::from_le_bytes([a, b, c, d, e, f, g, h]) {
            u64::MAX => break,
            number => tally.take(number, u32::from_le_bytes(payload)),
        }
    }
    let corrupt = u64::from(orders.size != MESSAGE);
    print_line(&json!({ "senders": senders(&[tally]), "corrupt": corrupt }).to_string())?;
    loop {
        thread::park();
    }
}

pub(in crate::participants) fn drive(name: &str, orders: &Orders) -> Result<(), Failure> {
    let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
    ready_and_go()?;
    let mut writer = BufWriter::new(&stream);
    let mut send = |(number, payload): (u64, u32)| {
        writer.write_all(&0_u32.to_le_bytes())?;
        writer.write_all(&number.to_le_bytes())?;
        Ok(writer.write_all(&payload.to_le_bytes())?)
    };
    faulty(name, orders.messages, PayloadDraws::of(orders.seed, 0), &mut send)?;
    send((u64::MAX, 0))?;
    writer.flush()?;
    Ok(print_line_and_wait(&json!({ "sent": orders.messages }).to_string())?)
}
