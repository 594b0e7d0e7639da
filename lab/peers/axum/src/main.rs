//! axum as its documentation begins: a router with one handler that answers with JSON.
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;

use axum::{
    Json, Router,
    http::HeaderMap,
    response::IntoResponse,
    routing::get,
    serve::ListenerExt,
};
use peer_common::Result;
use serde_json::json;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let app = Router::new().route("/", get(document));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    let listener = listener.tap_io(|stream| {
        // It sends its answers at once either way.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await?;
    Ok(())
}

async fn document(headers: HeaderMap) -> impl IntoResponse {
    let token = headers.get("token").cloned();
    let repeated: HeaderMap =
        token.into_iter().map(|token| (axum::http::HeaderName::from_static("token"), token)).collect();
    (repeated, Json(json!({"id": 1})))
}
