//! Requests of req sockets.

use wigwag::codec::{Buffer, Encode};

use super::*;

#[tokio::test]
async fn a_request_as_json_is_answered_as_json() {
    let (_node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    for (request, answer) in [
        (r#"["desk","add",2,3]"#, r#"["ok",5]"#),
        ("  [\"desk\", \"add\", 2, -3]\n", r#"["ok",-1]"#),
        (r#"["desk","add",{"b":3,"a":2}]"#, r#"["ok",5]"#),
        (r#"["desk","greet","Ada",2]"#, r#"["ok","hello Ada, hello Ada"]"#),
        (r#"["desk","hello","Ada"]"#, r#"["ok","hello Ada"]"#),
        (r#"["desk","greet",{"name":"Ada"}]"#, r#"["ok","hello Ada"]"#),
        (r#"["desk","mirrored",[1,2]]"#, r#"["ok",[2,1]]"#),
        (r#"["desk","bytes",3]"#, r#"["ok",[7,7,7]]"#),
        (r#"["desk","length",[1,2,3]]"#, r#"["ok",3]"#),
        (r#"["desk","length","four"]"#, r#"["ok",4]"#),
        (r#"["desk","write","a"]"#, r#"["ok",null]"#),
        (r#"["desk","words"]"#, r#"["ok",["a"]]"#),
    ] {
        assert_eq!(ask(&req, request).await, answer, "{request}");
    }
}

/// Each error has the name of its code, and a text for people.
#[tokio::test]
async fn a_request_that_fails_is_answered_with_the_name_of_the_error() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    node.export("short", &Desk::default().spawn()).unwrap();
    let req = req_at(&bound).await;
    for (request, name, text) in [
        ("hello", "Protocol", "begins with no array"),
        ("", "Protocol", "begins with no array"),
        ("[", "Protocol", "EOF"),
        (r#"["desk"]"#, "Protocol", "no names"),
        (r#"["desk",7]"#, "Protocol", "no names"),
        (r#"["desk","add",1,2] more"#, "Protocol", "trailing"),
        (r#"["nobody","add",1,2]"#, "NoSuchActor", "nobody"),
        (r#"["desk","subtract",1,2]"#, "NoSuchMethod", "Desk has no method \\\"subtract\\\""),
        (
            r#"["desk","add",1]"#,
            "BadArguments",
            "add(a: i64, b: i64): wrong number of arguments: 1",
        ),
        (r#"["desk","add",1,"two"]"#, "BadArguments", "argument 2 is not of type i64"),
        (r#"["desk","add",{"a":1}]"#, "BadArguments", "the argument \\\"b\\\" is missing"),
        (r#"["desk","add",{"a":1,"b":2,"c":3}]"#, "BadArguments", "no argument \\\"c\\\""),
        (r#"["desk","mirrored","x"]"#, "BadArguments", "mirrored"),
        (r#"["desk","bytes",600000]"#, "TooLarge", "1048576"),
        (r#"["desk","refuses"]"#, "0x8007", "not today"),
        (r#"["short","fails"]"#, "Panicked", "panicked"),
        (r#"["short","fails"]"#, "NoSuchActor", "short"),
    ] {
        let answer = ask(&req, request).await;
        assert!(answer.starts_with(&format!("[\"error\",\"{name}\",\"")), "{request}: {answer}");
        assert!(answer.contains(text), "{request}: {answer}");
    }
    let statistics = node.sp_client_statistics();
    assert_eq!((statistics.requests, statistics.connections), (17, 1), "{statistics:?}");
    assert_eq!(ask(&req, r#"["desk","add",1,2]"#).await, r#"["ok",3]"#, "the connection goes on");
}

#[tokio::test]
async fn a_request_as_messagepack_is_answered_as_messagepack() {
    let (_node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    let encoded = |value: &dyn Fn(&mut Buffer)| {
        let mut out = Buffer::new();
        value(&mut out);
        out.as_slice().to_vec()
    };
    let named = [&b"\x93\xa4desk\xa3add\x82\xa1b\x03\xa1a\x02"[..]].concat();
    let point = Point { x: 1, y: 2 };
    for (request, answer) in [
        (encoded(&|out| ("desk", "add", 2, 3).encode(out)), encoded(&|out| ("ok", 5).encode(out))),
        (named, encoded(&|out| ("ok", 5).encode(out))),
        (
            encoded(&|out| ("desk", "mirrored", &point).encode(out)),
            encoded(&|out| ("ok", Point { x: 2, y: 1 }).encode(out)),
        ),
    ] {
        let got = in_time(PATIENCE, async { req.ask(request.clone()).await }).await.unwrap();
        assert_eq!(got, answer, "{request:x?}");
    }
    for (request, name) in [
        (encoded(&|out| ("desk", "add", 2).encode(out)), "BadArguments"),
        (encoded(&|out| ("desk", "add", 2, "x").encode(out)), "BadArguments"),
        (encoded(&|out| ("desk",).encode(out)), "Protocol"),
        (b"\x94\xa4desk\xa3add\x01".to_vec(), "Protocol"),
        (b"\x92\xa4desk\xa3add\x01".to_vec(), "Protocol"),
        (b"\xdd\xff\xff\xff\xff".to_vec(), "Protocol"),
        ([&b"\x93\xa4desk\xa3add"[..], &[0x91; 5000]].concat(), "Protocol"),
    ] {
        let got = in_time(PATIENCE, async { req.ask(request.clone()).await }).await.unwrap();
        let begin = encoded(&|out| ("error", name, "").encode(out));
        assert!(got.starts_with(&begin[..begin.len() - 1]), "{request:x?}: {got:?}");
    }
}

/// Also with the bytes of the largest value that is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_requests_and_long_answers_arrive_whole() {
    let (_node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    req.set_receive_limit(2 * 1024 * 1024);
    for length in [10, 20_000, 1_000_000] {
        let word = "x".repeat(length);
        let answer = ask(&req, &format!(r#"["desk","greet","{word}"]"#)).await;
        assert_eq!(answer.len(), length + r#"["ok","hello "]"#.len());
    }
    let answer = ask(&req, r#"["desk","bytes",500000]"#).await;
    assert_eq!(answer.len(), 1_000_000 + r#"["ok",[]]"#.len() - 1);
}

/// Answers come in the order in which they are ready, each to its request.
#[tokio::test]
async fn the_requests_of_one_connection_do_not_wait_for_each_other() {
    let (_node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    let (slow, quick) = (req.context().unwrap(), req.context().unwrap());
    slow.send(r#"["desk","hold"]"#).await.unwrap();
    until(async || desk.held().ask().await.unwrap() == 1).await;
    quick.send(r#"["desk","add",1,1]"#).await.unwrap();
    assert_eq!(quick.recv().await.unwrap(), r#"["ok",2]"#);
    desk.release().ask().await.unwrap();
    assert_eq!(slow.recv().await.unwrap(), r#"["ok",0]"#);
}

/// The ask does not begin, or its actor learns that nobody waits.
#[tokio::test]
async fn the_asks_of_a_client_that_goes_are_cancelled() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    req.send(r#"["desk","hold"]"#).await.unwrap();
    until(async || desk.held().ask().await.unwrap() == 1).await;
    req.close().await;
    until(async || desk.held().ask().await.unwrap() == 0).await;
    until(async || node.sp_client_statistics().connections == 0).await;
}
