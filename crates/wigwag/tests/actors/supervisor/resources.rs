//! The resources that a supervised actor has opened end with the life that has opened them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use wigwag::io::{self, Accepted, Event, Line};
use wigwag::supervise::{Child, Strategy, Supervisor};
use wigwag::{Actor, Life, Local, Reason, This, lifecycle::Alive};

use wigwag_testkit::ledger::in_time;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

/// Listens at the same address in each of its lives, and reads what its clients write.
#[derive(Clone)]
struct Server {
    address: Arc<Mutex<Option<SocketAddr>>>,
    says: UnboundedSender<String>,
}

#[wigwag::actor(life)]
impl Server {
    pub fn came(&mut self, this: &This<Self>, event: Event<Accepted>) {
        let Event::Got(accepted) = event else { return };
        drop(io::lines(accepted.into_stream()).deliver(&this.reference(), ServerRef::heard));
    }

    pub fn heard(&mut self, event: Event<Line>) {
        if let Event::Got(line) = event {
            let _ = self.says.send(line.text().unwrap().to_owned());
        }
    }

    pub fn end(&self, this: &This<Self>, reason: Local<Reason>) {
        this.stop(reason.0);
    }

    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn nothing(&self) {}
}

impl Life for Server {
    async fn started(&mut self, this: &This<Server>) -> Result<(), Reason> {
        let before = *self.address.lock().unwrap();
        let address = before.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
        let listener = TcpListener::bind(address).await.map_err(Reason::failed)?;
        *self.address.lock().unwrap() = Some(listener.local_addr().unwrap());
        let input = io::accept(listener).deliver(&this.reference(), ServerRef::came);
        input.map(drop).map_err(Reason::failed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_actor_has_opened_is_closed_before_its_next_life_begins() {
    let (says, mut heard) = unbounded_channel();
    let server = Server { address: Arc::default(), says };
    let address = server.address.clone();
    let child = Child::new("server", move || server.clone());
    // One failure for each round: a start that fails is one too many.
    let tree = Supervisor::new(Strategy::OneForOne).child(child).intensity(4, LIMIT);
    let tree = tree.start().await.unwrap();
    let server = tree.child::<Server>("server").await.unwrap().unwrap();
    let mut outside = stream_from_outside(&server);

    for round in 0..4 {
        let at = address.lock().unwrap().unwrap();
        let mut client = TcpStream::connect(at).await.unwrap();
        client.write_all(b"from a client\n").await.unwrap();
        assert_eq!(in_time(LIMIT, heard.recv()).await.unwrap(), "from a client");
        match round % 2 {
            0 => server.panic().tell().await.unwrap(),
            _ => server.end(Local(Reason::Normal)).tell().await.unwrap(),
        }
        // The connection that the life has accepted ends with it.
        let rest = in_time(LIMIT, client.read(&mut [0; 8])).await;
        assert!(matches!(rest, Ok(0) | Err(_)), "{rest:?}");
        server.nothing().ask().await.unwrap();
        outside.write_all(b"from outside\n").await.unwrap();
        assert_eq!(in_time(LIMIT, heard.recv()).await.unwrap(), "from outside");
    }
    let tree = tree.handle().unwrap();
    tree.stop();
    tree.ended().await;
}

/// A stream that the test, and not the actor, has the actor read.
fn stream_from_outside(server: &ServerRef) -> DuplexStream {
    let (near, far) = duplex(64);
    drop(io::lines(far).deliver(server, ServerRef::heard).unwrap());
    near
}
