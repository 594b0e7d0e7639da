//! rep and respond with `--jobs`: several commands answer at once, each in its own context.
//!
//! A reply is sent as soon as its command ends, independently of the others. Requests beyond the
//! number of jobs wait in the socket, and finally at the requester.

use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet};
use wigwag::{
    Bytes,
    sp::{RepContext, RespondentContext, SocketError},
};

use crate::exit::{Code, Failed};
use crate::socket::any::Socket;
use crate::socket::messages::exec::{Exec, MessageInfo, OutputMode};
use crate::socket::session::{Session, StopReason};
use crate::socket::work::exec_failure;

/// A context that answers one request at a time.
enum Worker {
    Rep(RepContext),
    Respond(RespondentContext),
}

/// The result of one job.
struct JobResult {
    worker: Worker,
    outcome: Result<(), Failed>,
    took: Duration,
}

/// Answers requests with `exec`, running at most `jobs` commands at once.
pub(crate) async fn answer(
    session: &mut Session,
    exec: &Exec,
    jobs: usize,
    count: Option<u64>,
) -> Result<(), StopReason> {
    let mut idle = workers(&session.sender.socket, jobs)?;
    let mut running: JoinSet<JobResult> = JoinSet::new();
    loop {
        let wanted = count.is_none_or(|count| session.tally.received < count);
        tokio::select! {
            Some(ended) = running.join_next(), if !running.is_empty() => {
                idle.extend(record_exit(session, ended));
            }
            request = next(idle.last()), if wanted && !idle.is_empty() => {
                let Some(worker) = idle.pop() else { continue };
                session.tally.received += 1;
                let (request, info) = (request?, session.message_info());
                if session.shows() {
                    session.show(&request, None)?;
                }
                running.spawn(run(worker, exec.clone(), request, info));
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

async fn run(worker: Worker, exec: Exec, request: Bytes, info: MessageInfo) -> JobResult {
    let begun = Instant::now();
    let outcome = match exec.run(request, &info, OutputMode::Captured).await {
        Err(why) => Err(exec_failure(&exec, &why, &info)),
        Ok(reply) => {
            let sent = match &worker {
                Worker::Rep(context) => context.send(reply).await,
                Worker::Respond(context) => context.send(reply).await,
            };
            sent.map_err(|refused| SocketError::from(refused).into())
        }
    };
    JobResult { worker, outcome, took: begun.elapsed() }
}

fn record_exit(session: &mut Session, ended: Result<JobResult, JoinError>) -> Option<Worker> {
    match ended {
        Ok(JobResult { worker, outcome, took }) => {
            match outcome {
                Ok(()) => {
                    session.tally.sent.set(session.tally.sent.get() + 1);
                    session.tally.record_time(took);
                }
                Err(failed) => session.record_failure(&failed),
            }
            Some(worker)
        }
        Err(error) => {
            session.record_failure(&Failed::new(Code::Internal, error));
            None
        }
    }
}
