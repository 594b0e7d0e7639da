//! Sockets in programs without a runtime of their own.

use std::io::Write;
use std::thread;
use std::time::Duration;

use wigwag_net::socket::{Pair, Pull, Push, Rep, Req, SocketErrorKind};

/// Two plain threads talk; the crate's own thread does the work.
#[test]
fn plain_threads_use_sockets_without_a_runtime() {
    let rep = Rep::new();
    let address = rep.blocking_listen("tcp://127.0.0.1:0").unwrap();
    let answering = thread::spawn(move || {
        for _ in 0..100 {
            let question = rep.blocking_recv().unwrap();
            rep.blocking_send(question).unwrap();
        }
        rep.blocking_close();
    });
    let req = Req::new();
    req.blocking_dial(&address.to_string()).unwrap();
    for number in 0..100 {
        let question = format!("question {number}");
        assert_eq!(req.blocking_ask(question.clone()).unwrap(), question);
    }
    answering.join().unwrap();
}

/// Enough of them, and enough messages, for the threads to take turns.
#[test]
fn threads_that_send_at_once_on_one_socket_lose_and_reorder_nothing() {
    const THREADS: u8 = 8;
    const EACH: u32 = 20_000;
    let pull = Pull::new();
    let address = pull.blocking_listen("tcp://127.0.0.1:0").unwrap().to_string();
    let push = Push::new();
    push.blocking_dial(&address).unwrap();
    thread::scope(|scope| {
        for sender in 0..THREADS {
            let push = &push;
            scope.spawn(move || {
                for number in 0..EACH {
                    let mut message = vec![sender];
                    message.extend(number.to_be_bytes());
                    push.blocking_send(message).unwrap();
                }
            });
        }
        let mut next = [0; THREADS as usize];
        for _ in 0..u32::from(THREADS) * EACH {
            let message = pull.blocking_recv().unwrap();
            let due = &mut next[usize::from(message[0])];
            assert_eq!(u32::from_be_bytes(message[1..].try_into().unwrap()), *due);
            *due += 1;
        }
    });
}

/// A turn ends with a write, and a peer that does not read lets none through.
#[test]
fn threads_that_send_at_once_to_a_peer_that_does_not_read_time_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let push = Push::new();
    push.set_send_timeout(Some(Duration::from_millis(200)));
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let _peer = thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let mut peer = listener.accept().unwrap().0;
            peer.write_all(b"\0SP\0\0\x51\0\0").unwrap();
            peer
        });
        push.blocking_dial(&address).unwrap();
        accepting.join().unwrap()
    });
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let refused = loop {
                    if let Err(refused) = push.blocking_send([7; 16]) {
                        break refused;
                    }
                };
                assert!(matches!(refused.error.kind, SocketErrorKind::TimedOut(_)), "{refused}");
                assert_eq!(refused.message.len(), 16);
            });
        }
    });
}

#[test]
fn the_background_thread_is_named_after_the_project() {
    let pull = Pull::new();
    pull.blocking_listen("inproc://names").unwrap();
    let named = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok())
        .filter(|name| name.trim() == "wigwag")
        .count();
    assert_eq!(named, 1);
}

/// A socket created inside a runtime is used from a plain thread.
#[test]
fn a_plain_thread_uses_a_socket_of_a_runtime() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (left, right) = {
        let _entered = runtime.enter();
        (Pair::new(), Pair::new())
    };
    let address = left.blocking_listen("tcp://127.0.0.1:0").unwrap();
    right.blocking_dial(&address.to_string()).unwrap();
    left.blocking_send("from a thread").unwrap();
    let heard = runtime.block_on(right.recv()).unwrap();
    assert_eq!(heard, "from a thread");
}

/// The runtime under a socket is dropped: calls end with an error instead of waiting for ever.
#[test]
fn a_socket_whose_runtime_is_gone_is_closed() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pull = {
        let _entered = runtime.enter();
        Pull::new()
    };
    pull.blocking_listen("tcp://127.0.0.1:0").unwrap();
    let pull = std::sync::Arc::new(pull);
    let waiting = thread::spawn({
        let pull = pull.clone();
        move || pull.blocking_recv()
    });
    drop(runtime);
    let ended = waiting.join().unwrap().unwrap_err();
    assert!(matches!(ended.kind, SocketErrorKind::Closed), "{ended}");
    let later = pull.try_recv().unwrap_err();
    assert!(matches!(later.kind, SocketErrorKind::Closed), "{later}");
}

/// The executor that waits is not the one that works: a future is polled by hand on a thread
/// without any runtime.
#[test]
fn any_executor_may_wait_for_a_socket() {
    let (push, pull) = (Push::new(), Pull::new());
    let address = block_on(pull.listen("tcp://127.0.0.1:0")).unwrap();
    block_on(push.dial(&address.to_string())).unwrap();
    push.set_send_timeout(Some(Duration::from_secs(20)));
    block_on(push.send("hello")).unwrap();
    assert_eq!(block_on(pull.recv()).unwrap(), "hello");
    block_on(pull.close());
}

/// The smallest executor: it parks the thread until it is woken.
fn block_on<T>(call: impl Future<Output = T>) -> T {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut call = std::pin::pin!(call);
    loop {
        if let std::task::Poll::Ready(done) = call.as_mut().poll(&mut context) {
            return done;
        }
        thread::park();
    }
}
