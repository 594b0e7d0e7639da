//! rep and respond with `--jobs`: so many commands answer at once, each in a context of its own.
//!
//! A reply goes out as soon as its command ends, whatever the others do; requests for which no
//! command is free wait with the library, and in the end with whoever asks.

use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use wigwag::{Bytes, RepContext, RespondentContext, SocketError};

use super::any::Socket;
use super::exec::{Exec, Occasion, Printed};
use super::session::{Session, Stop};
use super::work::command_failed;
use crate::exit::{Code, Failed};

/// A place at which one request is answered.
enum Worker {
    Rep(RepContext),
    Respond(RespondentContext),
}

/// A request that was answered, or was not.
struct Answered {
    worker: Worker,
    outcome: Result<(), Failed>,
    took: Duration,
}

/// Answers with `exec`, with so many at once.
pub(super) async fn answer(
    session: &mut Session,
    exec: &Exec,
    jobs: usize,
    count: Option<u64>,
) -> Result<(), Stop> {
    let mut idle = workers(&session.out.socket, jobs)?;
    let mut running: JoinSet<Answered> = JoinSet::new();
    loop {
        let wanted = count.is_none_or(|count| session.tally.received < count);
        tokio::select! {
            Some(ended) = running.join_next(), if !running.is_empty() => {
                idle.extend(note(session, ended));
            }
            request = next(idle.last()), if wanted && !idle.is_empty() => {
                let Some(worker) = idle.pop() else { continue };
                session.tally.received += 1;
                let (request, occasion) = (request?, session.occasion());
                if session.shows() {
                    session.show(&request, None)?;
                }
                running.spawn(run(worker, exec.clone(), request, occasion));
            }
            else => return Ok(()),
        }
    }
}

fn workers(socket: &Socket, jobs: usize) -> Result<Vec<Worker>, SocketError> {
    let worker = |_| match socket {
        Socket::Rep(rep) => rep.context().map(Worker::Rep).map(Some),
        Socket::Respond(respondent) => respondent.context().map(Worker::Respond).map(Some),
        _ => Ok(None),
    };
    let workers: Result<Vec<Option<Worker>>, SocketError> = (0..jobs).map(worker).collect();
    Ok(workers?.into_iter().flatten().collect())
}

async fn next(worker: Option<&Worker>) -> Result<Bytes, SocketError> {
    match worker {
        Some(Worker::Rep(context)) => context.recv().await,
        Some(Worker::Respond(context)) => context.recv().await,
        None => std::future::pending().await,
    }
}

async fn run(worker: Worker, exec: Exec, request: Bytes, occasion: Occasion) -> Answered {
    let begun = Instant::now();
    let outcome = match exec.run(request, &occasion, Printed::Captured).await {
        Err(why) => Err(command_failed(&exec, &why, &occasion)),
        Ok(reply) => {
            let sent = match &worker {
                Worker::Rep(context) => context.send(reply).await,
                Worker::Respond(context) => context.send(reply).await,
            };
            sent.map_err(|refused| SocketError::from(refused).into())
        }
    };
    Answered { worker, outcome, took: begun.elapsed() }
}

fn note(session: &mut Session, ended: Result<Answered, JoinError>) -> Option<Worker> {
    match ended {
        Ok(Answered { worker, outcome, took }) => {
            match outcome {
                Ok(()) => {
                    session.tally.sent.set(session.tally.sent.get() + 1);
                    session.tally.took(took);
                }
                Err(failed) => session.failed(&failed),
            }
            Some(worker)
        }
        Err(error) => {
            session.failed(&Failed::new(Code::Internal, error));
            None
        }
    }
}
