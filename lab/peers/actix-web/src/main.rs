//! actix-web as its documentation begins: an app with one handler that answers with JSON, on a
//! worker for each processor.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, TcpListener};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, get};
use peer_common::Result;
use serde_json::json;

#[actix_web::main]
async fn main() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    let server = HttpServer::new(|| App::new().service(document));
    // It ends as the lab has it, which knows no time of grace.
    Ok(server.listen(listener)?.disable_signals().run().await?)
}

#[get("/")]
async fn document(request: HttpRequest) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(token) = request.headers().get("token") {
        response.insert_header(("token", token.clone()));
    }
    response.json(json!({"id": 1}))
}
