//! What each role does with its socket.

use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use wigwag::Bytes;
use wigwag::socket::SocketErrorKind;

use super::any::Socket;
use super::connect::Wanted;
use super::exec::{Exec, Occasion, Printed};
use super::input::Input;
use super::session::{Outbound, Pace, Session, Stop};
use crate::exit::{Code, Failed};
use crate::print;

/// What a request is answered with.
pub(super) enum Answer {
    /// What a command prints.
    Exec(Exec),
    /// The request itself.
    Echo,
    /// Always the same.
    Fixed(Bytes),
}

/// req: each message is a request, and its reply is printed before the next one goes.
pub(super) async fn ask(
    session: &mut Session,
    mut input: Input,
    mut pace: Pace,
) -> Result<(), Stop> {
    session.out.peer(Wanted::Here).await?;
    let limit = session.deadline.unwrap_or(Duration::MAX);
    let socket = session.out.socket.clone();
    let Socket::Req(req) = &*socket else { return Ok(()) };
    while let Some(request) = input.next().await? {
        pace.due().await;
        pace.gone();
        session.tally.sent.set(session.tally.sent.get() + 1);
        let begun = Instant::now();
        match tokio::time::timeout(limit, req.ask(request)).await {
            Ok(Ok(reply)) => {
                let took = begun.elapsed();
                session.tally.received += 1;
                session.tally.took(took);
                session.show(&reply, Some(took))?;
            }
            Ok(Err(error)) => session.failed(&error.into()),
            Err(_) => session.failed(&session.nothing_came("no reply came")),
        }
    }
    Ok(())
}

/// survey: each message asks everybody, and answers are printed until its time is over.
pub(super) async fn survey(
    session: &mut Session,
    mut input: Input,
    mut pace: Pace,
) -> Result<(), Stop> {
    session.out.peer(Wanted::Here).await?;
    let socket = session.out.socket.clone();
    let Socket::Survey(surveyor) = &*socket else { return Ok(()) };
    while let Some(question) = input.next().await? {
        pace.due().await;
        pace.gone();
        let (begun, before) = (Instant::now(), session.tally.received);
        session.out.send(question).await?;
        loop {
            match surveyor.recv().await {
                Ok(answer) => {
                    let took = begun.elapsed();
                    session.tally.received += 1;
                    session.tally.took(took);
                    session.show(&answer, Some(took))?;
                }
                Err(error) if matches!(error.kind, SocketErrorKind::SurveyOver) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if session.tally.received == before {
            session.failed(&session.nothing_came("nobody answered"));
        }
    }
    Ok(())
}

/// rep and respond: whatever comes is answered, one after the other.
pub(super) async fn answer(
    session: &mut Session,
    answer: &Answer,
    count: Option<u64>,
) -> Result<(), Stop> {
    let socket = session.out.socket.clone();
    while count.is_none_or(|count| session.tally.received < count) {
        let request = socket.recv().await?;
        let begun = Instant::now();
        session.tally.received += 1;
        let occasion = session.occasion();
        if session.shows() {
            session.show(&request, None)?;
        }
        let reply = match answer {
            Answer::Echo => request,
            Answer::Fixed(reply) => reply.clone(),
            Answer::Exec(exec) => match exec.run(request, &occasion, Printed::Captured).await {
                Ok(reply) => reply,
                // Nothing is a reply that says so, and a made-up one would be a lie.
                Err(why) => {
                    session.failed(&command_failed(exec, &why, &occasion));
                    continue;
                }
            },
        };
        session.out.send(reply).await?;
        session.tally.took(begun.elapsed());
    }
    Ok(())
}

/// pub and push: every message is sent.
pub(super) async fn send(session: &mut Session, input: Input, pace: Pace) -> Result<(), Stop> {
    session.out.peer(Wanted::Here).await?;
    Ok(send_all(&session.out, input, pace).await?)
}

/// sub and pull: every message is printed, or given to a command.
pub(super) async fn receive(
    session: &mut Session,
    exec: Option<&Exec>,
    jobs: usize,
    count: Option<u64>,
) -> Result<(), Stop> {
    let mut running: JoinSet<Result<Bytes, Failed>> = JoinSet::new();
    // What several print at once is printed one after the other.
    let printed = if jobs > 1 { Printed::Captured } else { Printed::Passed };
    while count.is_none_or(|count| session.tally.received < count) {
        let Some(body) = session.recv().await? else {
            if session.tally.received == 0 || count.is_some() {
                return Err(session.nothing_came("no message came").into());
            }
            break;
        };
        let Some(exec) = exec else {
            session.show(&body, None)?;
            continue;
        };
        while running.len() >= jobs {
            note(session, running.join_next().await)?;
        }
        let (exec, occasion) = (exec.clone(), session.occasion());
        running.spawn(async move {
            let ran = exec.run(body, &occasion, printed).await;
            ran.map_err(|why| command_failed(&exec, &why, &occasion))
        });
        while let Some(ended) = running.try_join_next() {
            note(session, Some(ended))?;
        }
    }
    while !running.is_empty() {
        note(session, running.join_next().await)?;
    }
    Ok(())
}

/// pair, bus and star: sending and receiving beside each other. `count` is of what is received;
/// it ends then, and not before all is sent that has an end.
pub(super) async fn talk(
    session: &mut Session,
    input: Input,
    pace: Pace,
    echo: bool,
    count: Option<u64>,
) -> Result<(), Stop> {
    let out = session.out.clone();
    if count == Some(0) {
        out.peer(Wanted::Here).await?;
        return Ok(send_all(&out, input, pace).await?);
    }
    // Whoever has said something and has gone was a peer too.
    out.peer(Wanted::Ever).await?;
    let finishes = input.ends_by_itself();
    let sending = send_all(&out, input, pace);
    let receiving = listen(session, echo, count);
    tokio::pin!(sending, receiving);
    let mut sent = false;
    loop {
        tokio::select! {
            received = &mut receiving => {
                received?;
                break;
            }
            all = &mut sending, if !sent => {
                all?;
                sent = true;
            }
        }
    }
    if !sent && finishes {
        sending.await?;
    }
    Ok(())
}

async fn listen(session: &mut Session, echo: bool, count: Option<u64>) -> Result<(), Stop> {
    while count.is_none_or(|count| session.tally.received < count) {
        let Some(body) = session.recv().await? else {
            if session.tally.received == 0 || count.is_some() {
                return Err(session.nothing_came("no message came").into());
            }
            return Ok(());
        };
        session.show(&body, None)?;
        if echo {
            session.out.send(body).await?;
        }
    }
    Ok(())
}

/// Sends to the peers that are there, once there is one.
async fn send_all(out: &Outbound, mut input: Input, mut pace: Pace) -> Result<(), Failed> {
    let mut waited = false;
    while let Some(body) = input.next().await? {
        if !std::mem::replace(&mut waited, true) {
            out.peer(Wanted::Here).await?;
        }
        pace.due().await;
        pace.gone();
        out.send(body).await?;
    }
    Ok(())
}

impl Session {
    /// Which message was received last.
    pub(super) fn occasion(&self) -> Occasion {
        Occasion { sequence: self.tally.received, peer: self.news.only_peer() }
    }
}

/// A command has ended: what it printed, or why it failed.
fn note(
    session: &mut Session,
    ended: Option<Result<Result<Bytes, Failed>, JoinError>>,
) -> Result<(), Stop> {
    match ended {
        None => {}
        Some(Ok(Ok(printed))) => {
            return print::bytes(&printed).map_err(|_| Stop::ReaderGone);
        }
        Some(Ok(Err(failed))) => session.failed(&failed),
        Some(Err(error)) => session.failed(&Failed::new(Code::Internal, error)),
    }
    Ok(())
}

/// A command of `--exec` failed.
pub(super) fn command_failed(exec: &Exec, why: &str, occasion: &Occasion) -> Failed {
    let from = occasion.peer.as_deref().map_or(String::new(), |peer| format!(" from {peer}"));
    let what = format!("the command of --exec failed: {why}");
    let at = format!("message {}{from}, sh -c '{}'", occasion.sequence, exec.command());
    Failed::told(
        Code::Internal,
        &what,
        &at,
        "run the command by hand with the message as its input",
    )
}
