//! The calls that rules allow, and the actors that they hide.

use wigwag::access::{Access, Peers, Principal};
use wigwag::sp::{Push, Req, Sub};
use wigwag::{CallErrorKind, Node};
use wigwag_testkit::ledger::in_time;

use super::super::sessions::PATIENCE;
use super::{VaultRef, fetch, holder, key, kind, vault_at};

/// Guests may look, and the owner may do all.
fn guests_look() -> Access {
    Access::new()
        .allow_methods(Peers::Authenticated, "vault", ["look"])
        .allow(Principal::key("owner"), "vault")
}

fn error(answer: &str) -> String {
    answer.replace("vault", "absent")
}

#[tokio::test]
async fn a_forbidden_actor_is_answered_like_an_absent_one() {
    let [guest, owner, other] = ["guest", "owner", "other"].map(key);
    let access = Access::new()
        .allow_methods(Principal::key("guest"), "vault", ["look"])
        .allow(Principal::key("owner"), "vault");
    let (_node, address, there) =
        vault_at("tcp://127.0.0.1:0", &[&guest, &owner, &other], access).await;
    let [guest, owner, other] = [guest, owner, other].map(|key| holder(&key));

    let absent = other.actor::<super::Vault>(&format!("{address}/absent")).await.err().unwrap();
    let forbidden = fetch(&other, &address).await.err().unwrap();
    assert_eq!(forbidden.call_error(), Some(CallErrorKind::NoSuchActor));
    assert_eq!(error(&forbidden.to_string()), absent.to_string());

    let vault = fetch(&guest, &address).await.unwrap();
    assert_eq!(vault.look().ask().await.unwrap(), 1);
    assert_eq!(kind(vault.open().ask().await), CallErrorKind::NoSuchMethod);
    let dynamic = guest.dynamic(&format!("{address}/vault")).await.unwrap();
    let text = |outcome: Result<_, wigwag::CallError>| outcome.err().unwrap().to_string();
    let [open, none] = ["open", "none"].map(|it| it.to_owned());
    let forbidden = text(dynamic.ask(&open, &[0x90]).await);
    assert_eq!(forbidden.replace("open", "none"), text(dynamic.ask(&none, &[0x90]).await));
    let vault = fetch(&owner, &address).await.unwrap();
    assert_eq!(vault.open().ask().await.unwrap(), 1, "the forbidden ones were not handled");
    drop(there);
}

/// Tells come in runs of one method, and in runs of several.
async fn tell_many(vault: &VaultRef, tells: u64) {
    for _ in 0..tells {
        vault.look().tell().await.unwrap();
        vault.add(1).tell().await.unwrap();
    }
    for _ in 0..tells {
        vault.add(1).tell().await.unwrap();
    }
    for _ in 0..tells {
        vault.look().tell().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forbidden_tell_in_a_run_is_rejected_and_the_others_are_handled() {
    let guest = key("guest");
    let (node, address, there) = vault_at("tcp://127.0.0.1:0", &[&guest], guests_look()).await;
    let guest = holder(&guest);
    let vault = fetch(&guest, &address).await.unwrap();
    tell_many(&vault, 1000).await;
    assert_eq!(vault.look().ask().await.unwrap(), 2001);
    assert_eq!(there.open().ask().await.unwrap(), 1, "no `add` was handled");
    assert_eq!(node.statistics()[0].session.tells_undeliverable, 2000);
}

#[tokio::test]
async fn a_peer_is_told_of_what_it_may_call_and_of_nothing_else() {
    let [guest, owner] = ["guest", "owner"].map(key);
    let (node, address, there) =
        vault_at("tcp://127.0.0.1:0", &[&guest, &owner], guests_look()).await;
    node.export("hidden", &there).unwrap();
    let guest = holder(&guest);
    let listed = guest.list_actors(&address).await.unwrap();
    let names: Vec<_> = listed.iter().map(|actor| actor.name.as_str()).collect();
    assert_eq!(names, ["vault"]);
    let dynamic = guest.dynamic(&format!("{address}/vault")).await.unwrap();
    let methods = &dynamic.described().methods;
    let shown: Vec<_> = methods.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(shown, ["look"]);
    let owner = holder(&owner).dynamic(&format!("{address}/vault")).await.unwrap();
    assert_eq!(owner.described().methods[1].0, "open");
}

#[tokio::test]
async fn a_user_of_this_machine_and_a_program_in_this_process_are_known() {
    let uid = std::fs::metadata("/proc/self").map(|it| std::os::unix::fs::MetadataExt::uid(&it));
    let access = Access::new()
        .allow_methods(Principal::User(uid.unwrap()), "vault", ["look"])
        .allow_methods(Principal::Process, "vault", ["open"]);
    let name = format!("rules-{}", std::process::id());
    let (node, ipc, _vault) = vault_at(&format!("abstract://{name}"), &[], access).await;
    let inproc = node.listen(&format!("inproc://{name}")).await.unwrap().to_string();
    let [user, own] = [Node::new(), Node::new()];
    let vault = fetch(&user, &ipc).await.unwrap();
    assert_eq!(vault.look().ask().await.unwrap(), 1);
    assert_eq!(kind(vault.open().ask().await), CallErrorKind::NoSuchMethod);
    let vault = fetch(&own, &inproc).await.unwrap();
    assert_eq!(vault.open().ask().await.unwrap(), 1);
    assert_eq!(kind(vault.look().ask().await), CallErrorKind::NoSuchMethod);
}

#[tokio::test]
async fn rules_hold_for_sp_clients() {
    let access = Access::new()
        .allow_methods(Peers::Any, "vault", ["look", "announce"])
        .allow_all_actors(Principal::Process);
    let (node, address, there) = vault_at("tcp://127.0.0.1:0", &[], access).await;
    let (req, push) = (Req::new(), Push::new());
    req.dial(&address).await.unwrap();
    push.dial(&address).await.unwrap();
    let ask = async |request: &str| {
        String::from_utf8(in_time(PATIENCE, req.ask(request.to_owned())).await.unwrap().to_vec())
    };
    assert_eq!(ask(r#"["vault","look"]"#).await.unwrap(), r#"["ok",1]"#);
    let forbidden = ask(r#"["vault","open"]"#).await.unwrap();
    assert_eq!(forbidden.replace("open", "none"), ask(r#"["vault","none"]"#).await.unwrap());
    node.export("hidden", &there).unwrap();
    let forbidden = ask(r#"["hidden","look"]"#).await.unwrap();
    assert_eq!(forbidden.replace("hidden", "absent"), ask(r#"["absent","look"]"#).await.unwrap());
    push.send(r#"["vault","open"]"#).await.unwrap();
    in_time(PATIENCE, async {
        while node.sp_client_statistics().rejected_tells < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(there.open().ask().await.unwrap(), 1);

    // A SUB gets everything, so only a peer that may call everything is served.
    let name = format!("inproc://rules-sp-{}", std::process::id());
    node.listen(&name).await.unwrap();
    let sub = Sub::new();
    assert!(sub.dial(&address).await.is_err());
    sub.dial(&name).await.unwrap();
    sub.subscribe("").unwrap();
    let heard = async {
        loop {
            there.announce().ask().await.unwrap();
            let next = tokio::time::timeout(std::time::Duration::from_millis(50), sub.recv()).await;
            if let Ok(Ok(line)) = next {
                return line;
            }
        }
    };
    let line = in_time(PATIENCE, heard).await;
    assert!(line.ends_with(b"/opened 1"), "{line:?}");
}
