//! Calls that exist only in some builds, by `#[cfg(…)]`.

use wigwag::{Actor, Interface, Node, This};

/// A type that exists in no build, so that code which mentions it does not compile.
#[cfg(any())]
struct Missing;

#[derive(Default)]
struct Gauge {
    value: u64,
}

#[wigwag::actor]
impl Gauge {
    #[cfg(any())]
    pub fn first(&mut self, missing: Missing) -> Missing {
        missing
    }

    pub fn set(&mut self, value: u64) {
        self.value = value;
    }

    #[cfg(not(unix))]
    pub fn scale(&mut self, by: Missing) {}

    #[cfg(unix)]
    pub fn scale(&mut self, by: u64) -> u64 {
        self.value *= by;
        self.value
    }

    #[cfg(any())]
    pub async fn wait(&mut self, missing: Missing) {}

    #[cfg(any())]
    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn beside(&mut self, key: Missing) -> impl Future<Output = Missing> {
        async move { key }
    }

    #[cfg(unix)]
    #[cfg(not(any()))]
    pub fn get(&self, this: &This<Self>, name: &str) -> (u64, String) {
        let _ = this;
        (self.value, name.to_owned())
    }

    #[cfg(any())]
    pub fn stream(&self, items: wigwag::Yield<Missing>) {}

    pub async fn last(&self) -> u64 {
        self.value
    }
}

/// The calls without those that do not exist.
#[wigwag::actor]
trait Plain {
    fn set(&mut self, value: u64);
    fn scale(&mut self, by: u64) -> u64;
    fn get(&self, name: &str) -> (u64, String);
    fn last(&self) -> u64;
}

#[wigwag::actor]
trait Conditional {
    fn set(&mut self, value: u64);
    #[cfg(any())]
    fn scale(&mut self, by: Missing);
    fn scale(&mut self, by: u64) -> u64;
    #[cfg(any())]
    fn none(&self) -> Missing;
    fn get(&self, name: &str) -> (u64, String);
    #[cfg(unix)]
    fn last(&self) -> u64;
}

/// All of its calls wait, but for one that does not exist.
struct Waiting;

#[wigwag::actor]
impl Waiting {
    #[cfg(any())]
    pub fn never(&self) {}

    #[cfg(unix)]
    pub async fn wait(&self) -> u8 {
        7
    }
}

#[test]
fn a_call_that_does_not_exist_is_not_in_the_schema() {
    assert_eq!(Gauge::SCHEMA.hash, PlainInterface::SCHEMA.hash);
    assert_eq!(ConditionalInterface::SCHEMA.hash, PlainInterface::SCHEMA.hash);
    let names: Vec<_> = Gauge::SCHEMA.methods.iter().map(|method| method.name).collect();
    assert_eq!(names, ["set", "scale", "get", "last"]);
}

#[tokio::test]
async fn calls_after_one_that_does_not_exist_reach_their_methods() {
    let here = Gauge::default().spawn();
    let (service, client) = (Node::new(), Node::new());
    service.export("gauge", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = format!("{bound}/gauge");
    let there = client.actor::<Gauge>(&address).await.unwrap();
    let plain = client.actor::<PlainInterface>(&address).await.unwrap();
    for gauge in [&here, &there] {
        gauge.set(3).tell().await.unwrap();
        assert_eq!(gauge.scale(5).ask().await.unwrap(), 15);
        assert_eq!(gauge.get("a").ask().await.unwrap(), (15, "a".to_owned()));
        assert_eq!(gauge.last().ask().await.unwrap(), 15);
    }
    plain.set(2).tell().await.unwrap();
    assert_eq!(plain.scale(2).ask().await.unwrap(), 4);
    assert_eq!(plain.last().ask().await.unwrap(), 4);
    assert_eq!(Waiting.spawn().wait().ask().await.unwrap(), 7);
}
