//! The items of a stream as server-sent events (HTML standard, 9.2).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use tokio::time::{Instant, Sleep, sleep};
use wigwag::proxy::ProxyStream;

use crate::client::call::Forms;
use crate::http::body::Body;
use crate::http::problem::Problem;
use crate::limits::EVENT_PAUSE;
use crate::shared::{Inner, Stage};

/// The items that become events: JSON until the end, or until an error.
pub(crate) trait Items: Send + Unpin + 'static {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<String, Problem>>>;
}

/// The items of a stream of an actor.
pub(crate) struct ActorItems {
    pub(crate) stream: ProxyStream,
    pub(crate) forms: Arc<Forms>,
}

impl Items for ActorItems {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<String, Problem>>> {
        let next = self.stream.poll_next(context);
        next.map(|item| Some(item?.map_err(Problem::from).and_then(|item| self.forms.item(&item))))
    }
}

/// Writes items as events: `data: item` for each of them, `event: end` behind the last one, and
/// `event: error` with a problem if they end with an error.
struct Events<I> {
    items: Option<I>,
    pause: Pin<Box<Sleep>>,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The response that sends the items as they come, until the gateway closes.
pub(crate) fn response(gateway: &Arc<Inner>, items: impl Items) -> Response<Body> {
    let gateway = gateway.clone();
    let closing = Box::pin(async move { gateway.reached(Stage::Closing).await });
    let events = Events { items: Some(items), pause: Box::pin(sleep(EVENT_PAUSE)), closing };
    let mut response = Response::new(Body::other(axum::body::Body::new(events)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl<I: Items> Events<I> {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        if let Poll::Ready(next) = items.poll_next(context) {
            self.pause.as_mut().reset(Instant::now() + EVENT_PAUSE);
            return Poll::Ready(Some(match next {
                Some(Ok(json)) => event("", &json),
                Some(Err(problem)) => self.fail(&problem),
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
        self.items = None;
        event(name, data)
    }
}

impl<I: Items> http_body::Body for Events<I> {
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

/// An event. JSON has no line ends outside of texts, where they are escaped.
fn event(name: &str, data: &str) -> Bytes {
    match name {
        "" => format!("data: {data}\n\n").into(),
        name => format!("event: {name}\ndata: {data}\n\n").into(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::sync::mpsc;

    use super::*;

    /// Items that a test sends.
    struct Sent(mpsc::UnboundedReceiver<Result<String, Problem>>);

    impl Items for Sent {
        fn poll_next(
            &mut self,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<String, Problem>>> {
            self.0.poll_recv(context)
        }
    }

    /// A comment is due when nothing was sent for the pause, whatever came before.
    #[tokio::test(start_paused = true)]
    async fn a_stream_without_items_sends_a_comment_after_each_pause() {
        let (items, sent) = mpsc::unbounded_channel();
        let mut events = Events {
            items: Some(Sent(sent)),
            pause: Box::pin(sleep(EVENT_PAUSE)),
            closing: Box::pin(pending()),
        };
        let mut last = Instant::now();
        for after in [EVENT_PAUSE, EVENT_PAUSE / 2, EVENT_PAUSE, EVENT_PAUSE] {
            let is_item = after < EVENT_PAUSE;
            let sending = async {
                if is_item {
                    sleep(after).await;
                    items.send(Ok("7".to_owned())).unwrap();
                }
            };
            let next = poll_fn(|context| events.poll_next(context));
            let (next, ()) = tokio::join!(next, sending);
            assert_eq!(next.unwrap(), if is_item { "data: 7\n\n" } else { ":\n\n" });
            assert!(last.elapsed().abs_diff(after).as_millis() < 100, "{:?}", last.elapsed());
            last = Instant::now();
        }
    }
}
