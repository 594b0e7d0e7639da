//! hyper alone, after its guide "Getting started with a server": a task for each connection, and a
//! service that is a function.
#![forbid(unsafe_code)]

use std::{convert::Infallible, net::Ipv4Addr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, header, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use peer_common::Result;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request)));
            let mut builder = http1::Builder::new();
            // An error is one of the client.
            let _ = builder
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let is_it = request.method() == Method::GET && request.uri().path() == "/";
    let mut response = match is_it {
        true => Response::new(Full::new(Bytes::from_static(b"{\"id\": 1}"))),
        false => Response::new(Full::default()),
    };
    if !is_it {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    if let Some(token) = request.headers().get("token") {
        headers.insert("token", token.clone());
    }
    response
}
