//! The loop of each role.

use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use wigwag::Bytes;
use wigwag::sp::SocketErrorKind;

use super::any::Socket;
use super::session::{Pacer, SendHalf, Session, StopReason};
use crate::exit::{Code, Failed};
use crate::print;
use crate::socket::connections::connect::PeerState;
use crate::socket::messages::exec::{Exec, MessageInfo, OutputMode};
use crate::socket::messages::input::Input;

/// The source of replies.
pub(super) enum ReplySource {
    /// The output of a command.
    Exec(Exec),
    /// The request itself.
    Echo,
    /// A fixed reply.
    Fixed(Bytes),
}

/// req: sends each message as a request and prints the reply before it sends the next one.
pub(super) async fn ask(
    session: &mut Session,
    mut input: Input,
    mut pacer: Pacer,
) -> Result<(), StopReason> {
    session.sender.wait_for_peer(PeerState::Connected).await?;
    let limit = session.deadline.unwrap_or(Duration::MAX);
    let socket = session.sender.socket.clone();
    let Socket::Req(req) = &*socket else { return Ok(()) };
    while let Some(request) = input.next().await? {
        pacer.wait().await;
        pacer.advance();
        session.tally.sent.set(session.tally.sent.get() + 1);
        let begun = Instant::now();
        match tokio::time::timeout(limit, req.ask(request)).await {
            Ok(Ok(reply)) => {
                let took = begun.elapsed();
                session.tally.received += 1;
                session.tally.record_time(took);
                session.show(&reply, Some(took))?;
            }
            Ok(Err(error)) => match error.kind {
                SocketErrorKind::RequestRefused { bytes } => session.record_refusal(bytes),
                SocketErrorKind::ReplyTooLong { .. } => session.show_refused_reply(&error),
                _ => session.record_failure(&error.into()),
            },
            Err(_) => session.record_failure(&session.timeout_failure("no reply arrived")),
        }
    }
    Ok(())
}

/// survey: sends each message as a survey and prints answers until the survey time is over.
pub(super) async fn survey(
    session: &mut Session,
    mut input: Input,
    mut pacer: Pacer,
) -> Result<(), StopReason> {
    session.sender.wait_for_peer(PeerState::Connected).await?;
    let socket = session.sender.socket.clone();
    let Socket::Survey(surveyor) = &*socket else { return Ok(()) };
    while let Some(question) = input.next().await? {
        pacer.wait().await;
        pacer.advance();
        let (begun, before) = (Instant::now(), session.tally.received);
        session.sender.send(question).await?;
        loop {
            match surveyor.recv().await {
                Ok(answer) => {
                    let took = begun.elapsed();
                    session.tally.received += 1;
                    session.tally.record_time(took);
                    session.show(&answer, Some(took))?;
                }
                Err(error) if matches!(error.kind, SocketErrorKind::SurveyOver) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if session.tally.received == before {
            session.record_failure(&session.timeout_failure("no answer arrived"));
        }
    }
    Ok(())
}

/// rep and respond: answers requests one after the other.
pub(super) async fn answer(
    session: &mut Session,
    answer: &ReplySource,
    count: Option<u64>,
) -> Result<(), StopReason> {
    let socket = session.sender.socket.clone();
    while count.is_none_or(|count| session.tally.received < count) {
        let request = socket.recv().await?;
        let begun = Instant::now();
        session.tally.received += 1;
        let info = session.message_info();
        if session.shows() {
            session.show(&request, None)?;
        }
        let reply = match answer {
            ReplySource::Echo => request,
            ReplySource::Fixed(reply) => reply.clone(),
            ReplySource::Exec(exec) => match exec.run(request, &info, OutputMode::Captured).await {
                Ok(reply) => reply,
                // SP has no error reply, and an invented reply would be wrong.
                Err(why) => {
                    session.record_failure(&exec_failure(exec, &why, &info));
                    continue;
                }
            },
        };
        session.sender.send(reply).await?;
        session.tally.record_time(begun.elapsed());
    }
    Ok(())
}

/// pub and push: sends every message.
pub(super) async fn send(
    session: &mut Session,
    input: Input,
    pacer: Pacer,
) -> Result<(), StopReason> {
    session.sender.wait_for_peer(PeerState::Connected).await?;
    Ok(send_all(&session.sender, input, pacer).await?)
}

/// sub and pull: prints every message, or runs a command with it.
pub(super) async fn receive(
    session: &mut Session,
    exec: Option<&Exec>,
    jobs: usize,
    count: Option<u64>,
) -> Result<(), StopReason> {
    let mut running: JoinSet<Result<Bytes, Failed>> = JoinSet::new();
    // The outputs of concurrent commands are captured, so that they are printed one after the other.
    let printed = if jobs > 1 { OutputMode::Captured } else { OutputMode::Inherited };
    while count.is_none_or(|count| session.tally.received < count) {
        let Some(body) = session.recv().await? else {
            if session.tally.received == 0 || count.is_some() {
                return Err(session.timeout_failure("no message arrived").into());
            }
            break;
        };
        let Some(exec) = exec else {
            session.show(&body, None)?;
            continue;
        };
        while running.len() >= jobs {
            record_exit(session, running.join_next().await)?;
        }
        let (exec, info) = (exec.clone(), session.message_info());
        running.spawn(async move {
            let ran = exec.run(body, &info, printed).await;
            ran.map_err(|why| exec_failure(&exec, &why, &info))
        });
        while let Some(ended) = running.try_join_next() {
            record_exit(session, Some(ended))?;
        }
    }
    while !running.is_empty() {
        record_exit(session, running.join_next().await)?;
    }
    Ok(())
}

/// pair, bus and star: sends and receives concurrently. The loop ends after `count` received
/// messages, but not before a finite input is sent.
pub(super) async fn talk(
    session: &mut Session,
    input: Input,
    pacer: Pacer,
    echo: bool,
    count: Option<u64>,
) -> Result<(), StopReason> {
    let out = session.sender.clone();
    if count == Some(0) {
        out.wait_for_peer(PeerState::Connected).await?;
        return Ok(send_all(&out, input, pacer).await?);
    }
    // A peer that sent a message and left counts as well.
    out.wait_for_peer(PeerState::Seen).await?;
    let finishes = input.is_finite();
    let sending = send_all(&out, input, pacer);
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

async fn listen(session: &mut Session, echo: bool, count: Option<u64>) -> Result<(), StopReason> {
    while count.is_none_or(|count| session.tally.received < count) {
        let Some(body) = session.recv().await? else {
            if session.tally.received == 0 || count.is_some() {
                return Err(session.timeout_failure("no message arrived").into());
            }
            return Ok(());
        };
        session.show(&body, None)?;
        if echo {
            session.sender.send(body).await?;
        }
    }
    Ok(())
}

/// Waits for a peer, then sends every message of `input`.
async fn send_all(out: &SendHalf, mut input: Input, mut pacer: Pacer) -> Result<(), Failed> {
    let mut waited = false;
    while let Some(body) = input.next().await? {
        if !std::mem::replace(&mut waited, true) {
            out.wait_for_peer(PeerState::Connected).await?;
        }
        pacer.wait().await;
        pacer.advance();
        out.send(body).await?;
    }
    Ok(())
}

impl Session {
    /// Describes the last received message.
    pub(super) fn message_info(&self) -> MessageInfo {
        MessageInfo { sequence: self.tally.received, peer: self.log.only_peer() }
    }
}

/// Prints the output of a command that has ended, or records its failure.
fn record_exit(
    session: &mut Session,
    ended: Option<Result<Result<Bytes, Failed>, JoinError>>,
) -> Result<(), StopReason> {
    match ended {
        None => {}
        Some(Ok(Ok(printed))) => {
            print::bytes(&printed)?;
        }
        Some(Ok(Err(failed))) => session.record_failure(&failed),
        Some(Err(error)) => session.record_failure(&Failed::new(Code::Internal, error)),
    }
    Ok(())
}

/// The error of an `--exec` command.
pub(super) fn exec_failure(exec: &Exec, why: &str, info: &MessageInfo) -> Failed {
    let from = info.peer.as_deref().map_or(String::new(), |peer| format!(" from {peer}"));
    let what = format!("the --exec command failed: {why}");
    let at = format!("message {}{from}, sh -c '{}'", info.sequence, exec.command());
    Failed::with_hint(
        Code::Internal,
        &what,
        &at,
        "run the command by hand with the message as its input",
    )
}
