//! Names: their owner, how long a registration lasts, and the errors when nobody has the name.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use wigwag::registry::{find, find_any, register, registered, unregister, wait_for};
use wigwag::{
    Actor, Handle, Life, Local, Reason, This,
    lifecycle::{Alive, Down},
    registry::NameError,
};

struct Counter(u64);

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.0 += amount;
        self.0
    }

    pub fn stop(&self, this: &This<Self>) {
        this.stop(Reason::Normal);
    }
}

struct Other;

#[wigwag::actor]
impl Other {
    pub fn nothing(&self) {}
}

#[tokio::test]
async fn a_name_leads_to_its_actor_and_to_no_other_type() {
    let counter = Counter(40).spawn();
    register("a total", &counter).unwrap();
    assert_eq!(find::<Counter>("a total").unwrap().add(2).ask().await.unwrap(), 42);
    let wrong = find::<Other>("a total").unwrap_err();
    let (asked, found) = ("Other", "Counter");
    assert_eq!(wrong, NameError::WrongType { name: "a total".into(), asked, found });
    assert!(wrong.to_string().contains("`Counter` and not a `Other`"), "{wrong}");
    assert_eq!(find::<Counter>("no such").unwrap_err(), NameError::Unknown("no such".into()));
    assert_eq!(find_any("a total"), Some(counter.handle().unwrap()));
    assert!(registered().contains(&"a total".to_owned()));
    assert_eq!(unregister("a total"), Some(counter.handle().unwrap()));
    assert_eq!(unregister("a total"), None);
    assert!(find_any("a total").is_none());
}

#[tokio::test]
async fn the_error_for_a_taken_name_contains_its_holder() {
    let (first, second) = (Counter(1).spawn(), Counter(2).spawn());
    register("taken", &first).unwrap();
    let by = first.handle().unwrap();
    let refused = register("taken", &second).unwrap_err();
    assert_eq!(refused, NameError::Taken { name: "taken".into(), by: by.clone() });
    assert!(refused.to_string().contains(&format!("{by:?}")), "{refused}");
    let long = "x".repeat(256);
    assert_eq!(register(&long, &first), Err(NameError::TooLong(256)));
    by.kill();
    assert_eq!(register("ended", &first), Err(NameError::Ended));
    register("taken", &second).unwrap();
    assert_eq!(find::<Counter>("taken").unwrap().add(0).ask().await.unwrap(), 2);
}

/// A supervised actor's hook registers its name again in each of its lives.
#[tokio::test]
async fn registering_ones_own_name_again_keeps_one_registration() {
    let counter = Counter(1).spawn();
    let handle = counter.handle().unwrap();
    for _ in 0..3 {
        register("its own", &counter).unwrap();
    }
    assert_eq!(unregister("its own"), Some(handle.clone()));
    assert!(find_any("its own").is_none(), "it was one name");
    register("its own", &counter).unwrap();
    drop(counter);
    // One registration holds one reference, and unregistering drops it.
    assert_eq!(unregister("its own"), Some(handle.clone()));
    assert_eq!(handle.ended().await, Reason::Normal);
    let (ended, other) = (Counter(2).spawn(), Counter(3).spawn());
    register("its own", &ended).unwrap();
    ended.handle().unwrap().kill();
    assert_eq!(register("its own", &ended), Err(NameError::Ended));
    register("its own", &other).unwrap();
    unregister("its own");
}

#[tokio::test]
async fn a_name_keeps_its_actor() {
    let counter = Counter(1).spawn();
    let handle = counter.handle().unwrap();
    register("kept", &counter).unwrap();
    drop(counter);
    let ended = tokio::time::timeout(Duration::from_millis(20), handle.ended()).await;
    assert!(ended.is_err());
    unregister("kept").unwrap();
    assert_eq!(handle.ended().await, Reason::Normal);
}

/// Takes the name of an actor that it monitors, at the moment in which it learns of the end.
struct Heir(Sender<Result<(), NameError>>);

#[wigwag::actor(life)]
impl Heir {
    pub fn inherit(&self, this: &This<Self>, from: Local<Handle>) {
        this.monitor(&from.0).unwrap();
    }
}

impl Life for Heir {
    fn down(&mut self, this: &This<Heir>, _: Down) {
        self.0.send(register("throne", &this.reference())).unwrap();
    }
}

#[tokio::test]
async fn a_name_is_free_before_anybody_hears_of_the_end() {
    for kills in [true, false] {
        let (says, heard) = channel();
        let heir = Heir(says).spawn();
        let king = Counter(0).spawn();
        let handle = king.handle().unwrap();
        register("throne", &king).unwrap();
        heir.inherit(Local(handle.clone())).ask().await.unwrap();
        if kills {
            handle.kill();
        } else {
            king.stop().tell().await.unwrap();
        }
        handle.ended().await;
        assert!(find::<Counter>("throne").is_err());
        let outcome = tokio::task::spawn_blocking(move || heard.recv().unwrap());
        assert_eq!(outcome.await.unwrap(), Ok(()));
        assert_eq!(unregister("throne"), Some(heir.handle().unwrap()));
    }
}

#[tokio::test]
async fn waiting_for_a_name_returns_the_actor_when_it_is_registered() {
    let waiting = tokio::spawn(wait_for::<Counter>("later"));
    let wrong = tokio::spawn(wait_for::<Other>("later"));
    tokio::task::yield_now().await;
    register("unrelated", &Counter(0).spawn()).unwrap();
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    register("later", &Counter(6).spawn()).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().add(1).ask().await.unwrap(), 7);
    assert!(matches!(wrong.await.unwrap(), Err(NameError::WrongType { .. })));
    assert!(wait_for::<Counter>("later").await.is_ok());
    unregister("later");
    unregister("unrelated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_has_one_holder_at_a_time() {
    let holds = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let runs = (0..4).map(|_| {
        let holds = holds.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                let counter = Counter(0).spawn();
                let handle = counter.handle().unwrap();
                while let Err(error) = register("only one", &counter) {
                    assert!(matches!(error, NameError::Taken { .. }), "{error}");
                    tokio::task::yield_now().await;
                }
                assert_eq!(holds.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                holds.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                handle.kill();
            }
        })
    });
    for run in runs.collect::<Vec<_>>() {
        tokio::time::timeout(Duration::from_secs(20), run).await.unwrap().unwrap();
    }
    assert!(find_any("only one").is_none());
}

/// Takes a name at the moment in which a task is woken because the name's holder has ended.
struct TakesAtOnce(CounterRef, Sender<Result<(), NameError>>);

impl Wake for TakesAtOnce {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(register("at once", &self.0));
    }
}

#[tokio::test]
async fn a_name_is_free_in_the_moment_in_which_the_end_is_told() {
    let (first, second) = (Counter(1).spawn(), Counter(2).spawn());
    let handle = first.handle().unwrap();
    let (says, heard) = channel();
    let waker = Waker::from(Arc::new(TakesAtOnce(second.clone(), says)));
    let mut ended = Box::pin(handle.ended());
    // This waiter registers before the name does: in order of registration it would be told of the
    // end before the registry.
    assert!(ended.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    register("at once", &first).unwrap();
    handle.kill();
    assert_eq!(heard.try_recv(), Ok(Ok(())));
    assert_eq!(unregister("at once"), second.handle().ok());
}
