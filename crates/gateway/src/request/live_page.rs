//! The live page: its files, and the snapshots that it shows.
//!
//! The files are the same for everyone and hold nothing of the node, so they need no token: a page must
//! be there before it can ask for one. Snapshots are for clients that may observe the node.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::events::{self, Items};
use crate::client::{Client, Identity};
use crate::http::Outcome;
use crate::http::body::Body;
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::limits::SNAPSHOT_TIME;
use crate::shared::Inner;

/// The policy for what the page may load: its own files, and from nowhere else. It runs no script that
/// stands in the page, and no other page shows it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A file of the page: its name, its type, and its bytes.
type File = (&'static str, &'static str, &'static [u8]);

/// `cargo xtask test` compares the bundle with its sources.
const FILES: [File; 4] = [
    ("", "text/html; charset=utf-8", include_bytes!("../../page/page.html")),
    ("page.js", "text/javascript; charset=utf-8", include_bytes!("../../page/bundle/page.js")),
    ("page.css", "text/css; charset=utf-8", include_bytes!("../../page/bundle/page.css")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../page/icon.svg")),
];

/// The events of the page.
const EVENTS: &str = "events";

/// Leads to the path with a slash, on which the addresses in the page build. It is relative, since the
/// gateway may be mounted anywhere.
pub(super) fn redirect(request: &Parts<'_>) -> Outcome {
    request.takes(&Method::GET)?;
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("ui/"));
    Ok(response)
}

impl Inner {
    /// Answers a request below the path of the live page.
    pub(super) fn live_page(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        name: &str,
    ) -> Outcome {
        request.takes(&Method::GET)?;
        let mut response = match FILES.iter().find(|(file, ..)| *file == name) {
            Some((_, kind, bytes)) => file(kind, bytes),
            None if name == EVENTS => self.watch(client, request)?,
            None => return Err(Problem::not_found("the live page has no such file")),
        };
        protect(response.headers_mut());
        Ok(response)
    }

    /// A snapshot a second, for as long as the client reads them.
    fn watch(self: &Arc<Inner>, client: &Arc<Client>, request: &Parts<'_>) -> Outcome {
        let identity = self.identity(client, request)?;
        self.check_may_observe(&identity)?;
        self.admit(&identity)?;
        let place = self.snapshots.enter();
        let place = place
            .ok_or_else(|| Problem::overloaded("as many live pages watch as may at a time"))?;
        Ok(events::response(self, Watcher::new(self.clone(), identity, place)))
    }
}

fn file(kind: &'static str, bytes: &'static [u8]) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Another release has other files under the same names.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn protect(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
}

/// A live page that watches. It is sent the snapshot of the moment in which there is room for one, so a
/// page that reads slowly misses some, and none waits for it.
struct Watcher {
    gateway: Arc<Inner>,
    identity: Arc<Identity>,
    ticks: Interval,
    _place: OwnedSemaphorePermit,
}

impl Watcher {
    fn new(gateway: Arc<Inner>, identity: Arc<Identity>, place: OwnedSemaphorePermit) -> Watcher {
        let mut ticks = interval(SNAPSHOT_TIME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Watcher { gateway, identity, ticks, _place: place }
    }
}

impl Items for Watcher {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<String, Problem>>> {
        ready!(self.ticks.poll_tick(context));
        let permitted = self.gateway.check_may_observe(&self.identity);
        let snapshot = permitted.map(|()| self.gateway.snapshots.take(&self.gateway.node));
        Poll::Ready(Some(snapshot.map(|snapshot| snapshot.as_ref().to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use serde_json::Value;
    use wigwag::{Node, NodeOptions};

    use super::*;
    use crate::{Gateway, GatewayOptions};

    /// The next snapshot, if there is one now.
    async fn next(watcher: &mut Watcher) -> Option<String> {
        let polled = poll_fn(|context| Poll::Ready(watcher.poll_next(context))).await;
        match polled {
            Poll::Ready(next) => Some(next.expect("there is no end").expect("it is permitted")),
            Poll::Pending => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_reads_slowly_misses_snapshots_and_gets_the_latest() {
        let node = Node::with(NodeOptions::default().observable(true));
        let gateway = Gateway::with(&node, GatewayOptions::default());
        let inner = gateway.inner.clone();
        let identity = Client::mounted().identity(&node, &inner.options, None);
        let place = inner.snapshots.enter().expect("there is a place");
        let mut watcher = Watcher::new(inner.clone(), identity.expect("anyone may"), place);
        assert!(next(&mut watcher).await.is_some());
        assert!(next(&mut watcher).await.is_none(), "the next one comes in a second");
        tokio::time::advance(10 * SNAPSHOT_TIME).await;
        let late = next(&mut watcher).await.expect("it is due");
        let now = &*inner.snapshots.take(&node);
        assert_eq!(late, now, "the snapshot of the moment in which it is read");
        let snapshot: Value = serde_json::from_str(now).expect("a snapshot is JSON");
        assert!(snapshot["uptime_ms"].is_u64());
        assert!(next(&mut watcher).await.is_none(), "those that were missed are not made up for");
        tokio::time::advance(SNAPSHOT_TIME - Duration::from_millis(1)).await;
        assert!(next(&mut watcher).await.is_none());
        tokio::time::advance(Duration::from_millis(2)).await;
        assert!(next(&mut watcher).await.is_some());
    }
}
