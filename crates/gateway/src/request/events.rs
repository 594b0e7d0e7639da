//! The items of a stream as server-sent events (HTML standard, 9.2).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep};
use wigwag::proxy::ProxyStream;

use crate::client::call::ReplyForm;
use crate::http::problem::Problem;
use crate::limits::EVENT_PAUSE;
use crate::shared::{Inner, Stage};

/// Writes a stream as events: `data: item` for each item, `event: end` behind the last one, and
/// `event: error` with a problem if the stream ends with an error.
pub(crate) struct Events {
    stream: Option<ProxyStream>,
    form: ReplyForm,
    pause: Pin<Box<Sleep>>,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Events {
    pub(crate) fn new(gateway: &Arc<Inner>, stream: ProxyStream, form: ReplyForm) -> Events {
        let gateway = gateway.clone();
        let closing = Box::pin(async move { gateway.reached(Stage::Closing).await });
        Events { stream: Some(stream), form, pause: Box::pin(sleep(EVENT_PAUSE)), closing }
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
        if let Poll::Ready(next) = stream.poll_next(context) {
            self.pause.as_mut().reset(Instant::now() + EVENT_PAUSE);
            let item = next.map(|item| self.form.json(&item?));
            return Poll::Ready(Some(match item {
                Some(Ok(json)) => event("", &json),
                Some(Err(error)) => self.fail(&error.into()),
                None => self.end("end", "null"),
            }));
        }
        if self.closing.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(self.fail(&Problem::overloaded("the gateway is closing"))));
        }
        if self.pause.as_mut().poll(context).is_ready() {
            self.pause.as_mut().reset(Instant::now() + EVENT_PAUSE);
            // The new time must be waited for.
            let _ = self.pause.as_mut().poll(context);
            return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
        }
        Poll::Pending
    }

    fn fail(&mut self, problem: &Problem) -> Bytes {
        self.end("error", &problem.json().to_string())
    }

    fn end(&mut self, name: &str, data: &str) -> Bytes {
        self.stream = None;
        event(name, data)
    }
}

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.poll_next(context);
        next.map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// An event. JSON has no line ends outside of texts, where they are escaped.
fn event(name: &str, data: &str) -> Bytes {
    match name {
        "" => format!("data: {data}\n\n").into(),
        name => format!("event: {name}\ndata: {data}\n\n").into(),
    }
}
