//! The errors of requests: problems, as RFC 9457 defines them.

use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value};
use wigwag::{CallError, CallErrorKind};

use super::body::Body;

/// Seconds after which a client that was refused for want of room may try again.
const RETRY_SECONDS: u16 = 1;

/// Why a request is not answered with a reply.
// Boxed: it is rare, and the future of each request has room for one.
#[derive(Clone, Debug)]
pub(crate) struct Problem(Box<Members>);

#[derive(Clone, Debug)]
struct Members {
    status: StatusCode,
    /// The kind of the error: the name of a [`CallErrorKind`], or one of the gateway's own.
    code: String,
    detail: String,
    fault: &'static str,
    hint: String,
    /// The error that the method has returned, for one that returns a `Result`.
    error: Option<Value>,
    header: Option<(hyper::header::HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem that the client has caused.
    pub(crate) fn client(status: StatusCode, code: &str, detail: &str, hint: &str) -> Problem {
        Problem(Box::new(Members {
            status,
            code: code.to_owned(),
            detail: detail.to_owned(),
            fault: "client",
            hint: hint.to_owned(),
            error: None,
            header: None,
        }))
    }

    /// There is no such thing, or not for this client.
    pub(crate) fn not_found(detail: &str) -> Problem {
        let hint = "GET / lists the actors, and GET /{actor} describes one";
        Problem::client(StatusCode::NOT_FOUND, "NotFound", detail, hint)
    }

    /// The path knows other methods of HTTP.
    pub(crate) fn method_not_allowed(allowed: &str) -> Problem {
        let detail = "the path does not take this method of HTTP";
        let hint = format!("use {allowed}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let problem = Problem::client(status, "MethodNotAllowed", detail, &hint);
        match HeaderValue::from_str(allowed) {
            Ok(allowed) => problem.header(ALLOW, allowed),
            Err(_) => problem,
        }
    }

    /// The request says who it is from in no way that the gateway accepts.
    pub(crate) fn unauthorized(detail: &str) -> Problem {
        let hint = "send `Authorization: Bearer` with a token that the gateway knows";
        let status = StatusCode::UNAUTHORIZED;
        Problem::client(status, "AuthRequired", detail, hint)
            .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// The client has used up what it may use.
    pub(crate) fn too_many(detail: &str) -> Problem {
        let hint = "send fewer requests a second";
        let status = StatusCode::TOO_MANY_REQUESTS;
        Problem::client(status, "TooManyRequests", detail, hint)
            .header(RETRY_AFTER, RETRY_SECONDS.into())
    }

    /// A failure of the service that was called.
    pub(crate) fn service(code: &str, detail: &str) -> Problem {
        let mut problem = Problem::client(StatusCode::INTERNAL_SERVER_ERROR, code, detail, "");
        problem.0.fault = "service";
        problem
    }

    /// The gateway has no room now.
    pub(crate) fn overloaded(detail: &str) -> Problem {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut problem = Problem::client(status, "Overloaded", detail, "try again later");
        problem.0.fault = "service";
        problem.header(RETRY_AFTER, RETRY_SECONDS.into())
    }

    /// A method that returns a `Result` has returned this error.
    pub(crate) fn returned(error: Value) -> Problem {
        let (detail, hint) =
            ("the method has returned an error", "`error` has what it has returned");
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let mut problem = Problem::client(status, "Returned", detail, hint);
        problem.0.error = Some(error);
        problem
    }

    /// The problem with another remedy.
    pub(crate) fn hint(mut self, hint: &str) -> Problem {
        hint.clone_into(&mut self.0.hint);
        self
    }

    pub(crate) fn header(mut self, name: hyper::header::HeaderName, value: HeaderValue) -> Problem {
        self.0.header = Some((name, value));
        self
    }

    /// The problem as a JSON object.
    pub(crate) fn json(&self) -> Value {
        let title = self.0.status.canonical_reason().unwrap_or("Error");
        let mut members = Map::from_iter([
            ("title".to_owned(), title.into()),
            ("status".to_owned(), self.0.status.as_u16().into()),
            ("code".to_owned(), self.0.code.as_str().into()),
            ("detail".to_owned(), self.0.detail.as_str().into()),
            ("fault".to_owned(), self.0.fault.into()),
        ]);
        if !self.0.hint.is_empty() {
            members.insert("hint".to_owned(), self.0.hint.as_str().into());
        }
        if let Some(error) = &self.0.error {
            members.insert("error".to_owned(), error.clone());
        }
        Value::Object(members)
    }

    /// The problem as a response.
    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some((name, value)) = &self.0.header {
            headers.insert(name.clone(), value.clone());
        }
        response
    }
}

/// The name of a kind, and the status that HTTP has for it.
fn status_of(kind: CallErrorKind) -> StatusCode {
    use CallErrorKind as K;
    match kind {
        K::NoSuchActor | K::NoSuchMethod => StatusCode::NOT_FOUND,
        K::BadArguments => StatusCode::BAD_REQUEST,
        K::Full | K::Overloaded | K::Draining | K::ActorStopped | K::Cancelled => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        K::DeadlinePassed | K::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
        K::NotDelivered | K::Unknown => StatusCode::BAD_GATEWAY,
        K::Application(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Problem {
        let status = status_of(error.kind);
        let detail = match &error.detail {
            Some(detail) => detail.to_string(),
            None => error.kind.to_string(),
        };
        let code = match error.kind {
            CallErrorKind::Application(code) => format!("0x{code:04X}"),
            CallErrorKind::Timeout(_) => "DeadlinePassed".to_owned(),
            kind => format!("{kind:?}"),
        };
        let fault = if status.is_client_error() { "client" } else { "service" };
        let hint = hint_of(error.kind).to_owned();
        let (error, header) = (None, None);
        let members = Members { status, code, detail, fault, hint, error, header };
        let problem = Problem(Box::new(members));
        match status {
            StatusCode::SERVICE_UNAVAILABLE => problem.header(RETRY_AFTER, RETRY_SECONDS.into()),
            _ => problem,
        }
    }
}

/// A hint that mends an error, in the words of HTTP.
fn hint_of(kind: CallErrorKind) -> &'static str {
    use CallErrorKind as K;
    match kind {
        K::NoSuchActor => "GET / lists the actors",
        K::NoSuchMethod => "GET /{actor} has the methods of the actor",
        K::BadArguments => "GET /{actor} has the arguments of the method",
        K::Full | K::Overloaded => "try again later",
        K::DeadlinePassed | K::Timeout(_) => {
            "`Prefer: wait=SECONDS` sets how long the reply may take"
        }
        K::NotSerializable => "use a session: only a node or a client with one can hold references",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_error_of_a_call_has_its_status_its_code_and_the_one_at_fault() {
        use CallErrorKind as K;
        for (kind, status, code, fault) in [
            (K::NoSuchActor, 404, "NoSuchActor", "client"),
            (K::NoSuchMethod, 404, "NoSuchMethod", "client"),
            (K::BadArguments, 400, "BadArguments", "client"),
            (K::Application(0x800a), 422, "0x800A", "client"),
            (K::Panicked, 500, "Panicked", "service"),
            (K::ReplyDropped, 500, "ReplyDropped", "service"),
            (K::NotSerializable, 500, "NotSerializable", "service"),
            (K::NotDelivered, 502, "NotDelivered", "service"),
            (K::Unknown, 502, "Unknown", "service"),
            (K::Full, 503, "Full", "service"),
            (K::Overloaded, 503, "Overloaded", "service"),
            (K::Draining, 503, "Draining", "service"),
            (K::ActorStopped, 503, "ActorStopped", "service"),
            (K::Cancelled, 503, "Cancelled", "service"),
            (K::DeadlinePassed, 504, "DeadlinePassed", "service"),
            (K::Timeout(Duration::from_secs(1)), 504, "DeadlinePassed", "service"),
        ] {
            let problem = Problem::from(CallError::new(kind, &"desk".into()));
            let json = problem.json();
            assert_eq!((&json["code"], &json["fault"]), (&code.into(), &fault.into()), "{kind:?}");
            assert_eq!(json["status"], status, "{kind:?}");
            let retry = problem.response().headers().get(RETRY_AFTER).cloned();
            assert_eq!(retry.is_some(), status == 503, "{kind:?}");
        }
    }
}
