//! Questions outside the clock, before and after the timed run, one at a time: each kind of
//! request on a fresh connection, the pieces far enough apart that they are packets.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{ClientConnection, ClientState};
use super::faults::RequestKind;
use super::visit::{Visit, VisitProgress};
use crate::contract::PayloadDraws;
use crate::figures::times::Times;

/// Between two pieces of a request: long enough to be read by itself.
const PIECE_GAP: Duration = Duration::from_millis(10);
/// A Date that was made once is more than 2 s off when so much has passed.
const LATER: Duration = Duration::from_millis(3_200);
/// Requests of the connection that is alone: few, for one that stalls takes 40 ms for each.
const ALONE: u64 = 12;

/// Sends each kind of request once, until one fails.
pub(super) fn ask_everything(port: u16, draw: u32, desk: &mut ClientState) -> io::Result<()> {
    let kinds = [
        RequestKind::Plain,
        RequestKind::Unknown,
        RequestKind::Pieces,
        RequestKind::Pieces,
        RequestKind::Pair,
    ];
    for (sender, how) in kinds.into_iter().enumerate() {
        ask(port, how, PayloadDraws::of(draw, sender as u32), desk)?;
        if !desk.faults.is_empty() {
            return Ok(());
        }
    }
    let mut visit = Visit::begin(port, desk)?;
    visit.stream.set_read_timeout(Some(desk.answer_max))?;
    let mut inbox = [0; 4_096];
    loop {
        match visit.take(&mut inbox, desk) {
            VisitProgress::Reads if !visit.is_late(desk) => {}
            VisitProgress::Done => return Ok(()),
            _ => break,
        }
    }
    visit.give_up(desk);
    Ok(())
}

/// Asks once more when some seconds have passed since `began`.
pub(super) fn ask_later(
    port: u16,
    began: Instant,
    draw: u32,
    desk: &mut ClientState,
) -> io::Result<()> {
    thread::sleep(LATER.saturating_sub(began.elapsed()));
    let mut found = std::mem::take(&mut desk.faults);
    ask(port, RequestKind::Plain, PayloadDraws::of(draw, 0), desk)?;
    std::mem::swap(&mut found, &mut desk.faults);
    desk.faults.take_as(RequestKind::Later, found);
    Ok(())
}

/// The median of a few round trips on one connection with nobody else about, in microseconds: what
/// stalls there does not wait for a processor.
pub(super) fn time_alone(port: u16, draw: u32, desk: &mut ClientState) -> io::Result<f64> {
    let mut lane = ClientConnection::open(port, PayloadDraws::of(draw, 0), ALONE)?;
    lane.stream.set_read_timeout(Some(desk.answer_max))?;
    desk.mixes = false;
    desk.times = Times::new();
    lane.ask_as(RequestKind::Plain, desk, Instant::now());
    finish(&mut lane, desk);
    Ok(desk.times.at(0.5) as f64 / 1e3)
}

/// One plain request on a connection of its own, without a look at what comes before and behind.
pub(super) fn ask_once(port: u16, draw: u32, desk: &mut ClientState) -> io::Result<()> {
    desk.check.check_clock();
    let mut lane = ClientConnection::open(port, PayloadDraws::of(draw, 0), 1)?;
    lane.stream.set_read_timeout(Some(desk.answer_max))?;
    lane.ask_as(RequestKind::Plain, desk, Instant::now());
    finish(&mut lane, desk);
    Ok(())
}

fn ask(port: u16, how: RequestKind, draws: PayloadDraws, desk: &mut ClientState) -> io::Result<()> {
    desk.check.check_clock();
    let requests = if how == RequestKind::Pair { 2 } else { 1 };
    let mut lane = ClientConnection::open(port, draws, requests)?;
    let mut inbox = [0; 4_096];
    lane.stream.set_read_timeout(Some(PIECE_GAP))?;
    // A server that speaks first has not read the request.
    if how == RequestKind::Plain && lane.take(&mut inbox, desk, Instant::now()) {
        return Ok(());
    }
    lane.ask_as(how, desk, Instant::now());
    if lane.is_torn() {
        // Nothing may come as yet.
        if lane.take(&mut inbox, desk, Instant::now()) {
            return Ok(());
        }
        lane.send_rest();
    }
    lane.stream.set_read_timeout(Some(desk.answer_max))?;
    finish(&mut lane, desk);
    lane.stream.set_read_timeout(Some(PIECE_GAP))?;
    lane.afterwards(&mut inbox, desk);
    Ok(())
}

/// Until all is answered, or something went wrong.
fn finish(lane: &mut ClientConnection, desk: &mut ClientState) {
    let mut inbox = [0; 4_096];
    while !lane.over {
        // Reads block, for a time.
        while !lane.over && lane.take(&mut inbox, desk, Instant::now()) {
            desk.check.check_clock();
        }
        lane.give_up(desk, Instant::now());
    }
}
