//! Requests of req sockets.

use wigwag::sp::Req;

use super::*;

/// Asks, and returns the answer as text.
pub(crate) async fn ask(req: &Req, request: &str) -> String {
    let asking = async { req.ask(request).await };
    let answer = in_time(PATIENCE, asking).await.unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}

pub(crate) async fn req_at(address: &Address) -> Req {
    let req = Req::new();
    in_time(PATIENCE, async { req.dial(&address.to_string()).await }).await.unwrap();
    req
}

#[tokio::test]
async fn a_request_as_json_is_answered_as_json() {
    let (_node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    for (request, answer) in [
        (r#"["desk","add",2,3]"#, r#"["ok",5]"#),
        ("  [\"desk\", \"add\", 2, -3]\n", r#"["ok",-1]"#),
        (r#"["desk","add",{"b":3,"a":2}]"#, r#"["ok",5]"#),
        (r#"["desk","greet","Ada",2]"#, r#"["ok","hello Ada, hello Ada"]"#),
        (r#"["desk","greet","Ada"]"#, r#"["ok","hello Ada"]"#),
        (r#"["desk","greet",{"name":"Ada"}]"#, r#"["ok","hello Ada"]"#),
        (r#"["desk","mirrored",[1,2]]"#, r#"["ok",[2,1]]"#),
        (r#"["desk","bytes",3]"#, r#"["ok",[7,7,7]]"#),
        (r#"["desk","write","a"]"#, r#"["ok",null]"#),
        (r#"["desk","words"]"#, r#"["ok",["a"]]"#),
    ] {
        assert_eq!(ask(&req, request).await, answer, "{request}");
    }
}
