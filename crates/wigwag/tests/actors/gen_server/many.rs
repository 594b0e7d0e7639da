//! One request to many servers at once, some of them dead, slow, or out of reach.

use std::future::poll_fn;

use tokio::time::Instant;
use wigwag::{Actor, Local, Node, Reason, lifecycle::Alive};

use super::server::{Server, ServerRef, apart, failure, is_way_gone, ms, server, soon};

/// Asks all servers at once; returns the indices of those that answered in time, and of the others.
async fn ask_all(servers: &[ServerRef], delay_ms: u64, limit_ms: u64) -> (Vec<usize>, Vec<usize>) {
    let asks = servers.iter().zip(0..).map(|(server, number)| {
        let call = server.delayed(number, delay_ms).timeout(ms(limit_ms));
        Box::pin(call.ask())
    });
    let mut asks: Vec<_> = asks.map(Some).collect();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    soon(poll_fn(|context| {
        for (at, place) in asks.iter_mut().enumerate() {
            let Some(ask) = place else { continue };
            if let std::task::Poll::Ready(outcome) = ask.as_mut().poll(context) {
                match outcome {
                    Ok(number) => {
                        assert_eq!(number, at as u64, "nobody gets the answer of another");
                        good.push(at);
                    }
                    Err(_) => bad.push(at),
                }
                *place = None;
            }
        }
        match asks.iter().any(Option::is_some) {
            true => std::task::Poll::Pending,
            false => std::task::Poll::Ready(()),
        }
    }))
    .await;
    good.sort_unstable();
    bad.sort_unstable();
    (good, bad)
}

/// gen_server_SUITE: multicall. Servers of one process: all answer, late ones within the limit
/// included; a stopped server is among the failures from then on.
#[tokio::test(start_paused = true)]
async fn many_servers_of_one_process_are_asked_at_once() {
    let servers: Vec<_> = (0..5).map(|_| server().0).collect();
    let begun = Instant::now();
    assert_eq!(ask_all(&servers, 10, 1000).await, (vec![0, 1, 2, 3, 4], vec![]));
    assert_eq!(begun.elapsed(), ms(10), "side by side");
    assert!(servers[2].stop(Local(Reason::Normal)).ask().await.unwrap());
    assert_eq!(ask_all(&servers, 10, 1000).await, (vec![0, 1, 3, 4], vec![2]));
    assert_eq!(ask_all(&servers, 50, 10).await, (vec![], vec![0, 1, 2, 3, 4]));
}

/// gen_server_SUITE: multicall_down. An address without a listener fails soon, and the other
/// servers answer.
#[tokio::test]
async fn a_place_where_nobody_listens_holds_up_nobody() {
    let (local, _said) = server();
    let (_service, client, there, _) = apart(&local).await;
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("tcp://{}/server", free.local_addr().unwrap());
    drop(free);
    let (absent, asked) =
        tokio::join!(soon(client.actor::<Server>(&nobody)), soon(there.number(3).ask()));
    assert!(absent.is_err());
    assert_eq!(asked.unwrap(), 3);
}

/// gen_server_SUITE: multicall_remote. Servers of four nodes and a local one: all answer, and none
/// does within too short a limit. Then one is killed, one node is closed and one server is
/// suspended: the other two answer, and the failed asks yield nothing afterwards.
#[tokio::test]
async fn servers_of_many_nodes_are_asked_at_once() {
    let client = Node::new();
    let (mut nodes, mut locals, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..4 {
        let (node, (local, _)) = (Node::new(), server());
        node.export("server", &local).unwrap();
        let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
        let there = client.actor::<Server>(&format!("{bound}/server")).await;
        servers.push(soon(async { there }).await.unwrap());
        locals.push(local);
        nodes.push(node);
    }
    servers.push(server().0);
    assert_eq!(ask_all(&servers, 1, 60_000).await, (vec![0, 1, 2, 3, 4], vec![]));
    assert_eq!(ask_all(&servers, 600, 50).await, (vec![], vec![0, 1, 2, 3, 4]));
    locals[1].handle().unwrap().kill();
    nodes[2].close(ms(5000)).await;
    locals[3].handle().unwrap().suspend();
    assert_eq!(ask_all(&servers, 1, 1000).await, (vec![0, 4], vec![1, 2, 3]));
    locals[3].handle().unwrap().resume();
    assert_eq!(soon(servers[3].number(9).ask()).await.unwrap(), 9, "it serves again");
    assert_eq!(ask_all(&servers, 1, 60_000).await.0, [0, 3, 4]);
}

/// Asks others while its own mailbox is full.
struct Asker {
    others: Vec<ServerRef>,
    mail: u64,
}

#[wigwag::actor]
impl Asker {
    pub fn mail(&mut self, number: u64) {
        assert_eq!(number, self.mail, "in order");
        self.mail += 1;
    }

    /// Asks all others in each round; returns the number of answers and of failures.
    pub async fn ask_all(&mut self, rounds: u32, delay_ms: u64, limit_ms: u64) -> (u64, u64) {
        let (mut good, mut bad) = (0, 0);
        for _ in 0..rounds {
            let (answered, not) = ask_all(&self.others, delay_ms, limit_ms).await;
            good += answered.len() as u64;
            bad += not.len() as u64;
        }
        (good, bad)
    }

    pub fn handled(&self) -> u64 {
        self.mail
    }
}

/// Calls that wait in the asker's mailbox while it asks.
const MAIL: u64 = 100_000;

/// Returns the answers and failures of an asker with much mail; all its mail is handled afterwards,
/// in order.
async fn with_much_mail(
    others: Vec<ServerRef>,
    rounds: u32,
    delay_ms: u64,
    limit_ms: u64,
) -> (u64, u64) {
    let options = wigwag::ActorOptions::default().mailbox_calls(MAIL as usize + 2);
    let asker = Asker { others, mail: 0 }.spawn_with(options);
    let handle = asker.handle().unwrap();
    handle.suspend();
    let asked = asker.ask_all(rounds, delay_ms, limit_ms).try_ask().unwrap();
    for number in 0..MAIL {
        asker.mail(number).try_tell().unwrap();
    }
    handle.resume();
    let outcome = soon(asked).await.unwrap();
    assert_eq!(soon(asker.handled().ask()).await.unwrap(), MAIL);
    outcome
}

/// gen_server_SUITE: multicall_recv_opt_success. Answers reach an asker whose mailbox is full.
#[tokio::test]
async fn an_asker_with_much_mail_gets_its_answers() {
    let ((first, _said), (second, _too)) = (server(), server());
    let (_service, _client, there, _) = apart(&first).await;
    assert_eq!(with_much_mail(vec![there, second], 50, 0, 60_000).await, (100, 0));
}

/// gen_server_SUITE: multicall_recv_opt_timeout. Time limits expire for such an asker.
#[tokio::test]
async fn an_asker_with_much_mail_meets_its_time_limits() {
    let ((first, _said), (second, _too)) = (server(), server());
    assert_eq!(with_much_mail(vec![first, second], 5, 100, 1).await, (0, 10));
}

/// gen_server_SUITE: multicall_recv_opt_noconnection. The end of a session reaches such an asker.
#[tokio::test]
async fn an_asker_with_much_mail_hears_that_a_way_has_ended() {
    let ((first, _said), (second, _too)) = (server(), server());
    let (service, _client, there, _) = apart(&first).await;
    service.close(ms(5000)).await;
    let kind = failure(there.number(1).ask()).await;
    assert!(is_way_gone(kind), "{kind:?}");
    assert_eq!(with_much_mail(vec![second, there], 50, 0, 60_000).await, (50, 50));
}
