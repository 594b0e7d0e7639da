//! Actors of generic types: their references, messages and interfaces have the same parameters.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::mpsc;

use wigwag::{
    Actor, CallErrorKind, Interface, Local, Message, Node, Responder, This, Yield, lifecycle::Alive,
};

/// A cache of values of one type by keys of another.
struct Cache<K, V> {
    held: HashMap<K, V>,
    asked: Vec<(K, Responder<V>)>,
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Cache<K, V> {
        Cache { held: HashMap::new(), asked: Vec::new() }
    }
}

#[wigwag::actor]
impl<K: Message + Eq + Hash, V: Message> Cache<K, V>
where
    V: Clone,
{
    pub fn put(&mut self, key: K, value: V) -> Option<V> {
        let (now, later) =
            std::mem::take(&mut self.asked).into_iter().partition(|(of, _)| *of == key);
        self.asked = later;
        let now: Vec<_> = now;
        now.into_iter().for_each(|(_, answer)| answer.send(value.clone()));
        self.held.insert(key, value)
    }

    pub async fn get(&mut self, key: K) -> Option<V> {
        tokio::task::yield_now().await;
        self.held.get(&key).cloned()
    }

    /// Answers when there is such a value.
    pub fn wait(&mut self, key: K, answer: Responder<V>) {
        match self.held.get(&key) {
            Some(value) => answer.send(value.clone()),
            None => self.asked.push((key, answer)),
        }
    }

    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn put_later(&self, key: K, value: V, this: &This<Self>) -> impl Future<Output = usize> {
        let this = this.clone();
        async move {
            let put = this.visit(|cache: &mut Self| cache.put(key, value)).await;
            put.map_or(0, |former| 1 + usize::from(former.is_some()))
        }
    }

    pub fn all(&self, mut items: Yield<V>) {
        for value in self.held.values() {
            let _ = items.try_send(value.clone());
        }
        items.finish();
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    pub fn note(&mut self, _text: &str) {}
}

/// An actor with a parameter that no call mentions, and one that is a number.
struct Window<T, const SIZE: usize>(Vec<T>, fn(T) -> f64);

#[wigwag::actor]
impl<T: Copy + Send + 'static, const SIZE: usize> Window<T, SIZE> {
    pub fn sum(&self) -> f64 {
        self.0.iter().rev().take(SIZE).map(|&one| self.1(one)).sum()
    }
}

/// Holds values that cannot be encoded.
struct Printer<T>(mpsc::Sender<T>);

#[wigwag::actor(local)]
impl<T: Display + Send + 'static> Printer<T> {
    pub fn print(&mut self, value: T) -> String {
        let text = value.to_string();
        self.0.send(value).unwrap();
        text
    }
}

/// The interface of a cache of texts by numbers, as a caller of another program knows it.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Texts {
    fn put(&mut self, key: u64, value: String) -> Option<String>;
    fn get(&self, key: u64) -> Option<String>;
    fn len(&self) -> usize;
}

/// Code that is generic itself.
async fn fill<V: Message + Clone>(cache: &CacheRef<u64, V>, value: V) -> usize {
    for key in 0..10 {
        cache.put(key, value.clone()).tell().await.unwrap();
    }
    cache.len().ask().await.unwrap()
}

async fn calls(numbers: &CacheRef<u64, u64>, texts: &CacheRef<u64, String>) {
    assert_eq!(fill(numbers, 7).await, 10);
    assert_eq!(fill(texts, "seven".into()).await, 10);
    assert_eq!(numbers.get(3).ask().await.unwrap(), Some(7));
    assert_eq!(texts.put(3, "eight".into()).ask().await.unwrap(), Some("seven".into()));
    assert_eq!(texts.put_later(3, "nine".into()).ask().await.unwrap(), 2);
    let waiting = texts.wait(11).into_ask();
    let waiting = tokio::spawn(waiting);
    texts.put(11, "eleven".into()).tell().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), "eleven");
    texts.note("unused").tell().await.unwrap();
    let mut pipeline = numbers.pipeline(4).unwrap();
    for key in 0..4 {
        pipeline.push(numbers.get(key), key).await.unwrap();
    }
    while let Some((_, answer)) = pipeline.answer().await {
        assert_eq!(answer.unwrap(), Some(7));
    }
    let inside = numbers.clone();
    let sum = wigwag::spawn(async move {
        // Calls of one method and of fixed width, which form a run.
        for key in 0..1_000 {
            inside.put(key, 2 * key).tell().await.unwrap();
        }
        inside.len().ask().await.unwrap()
    });
    assert_eq!(sum.await.unwrap(), 1_000);
    assert_eq!(numbers.get(999).ask().await.unwrap(), Some(1_998));
}

#[tokio::test]
async fn an_actor_of_a_generic_type_is_called_in_its_process() {
    let (numbers, texts) = (Cache::default().spawn(), Cache::default().spawn());
    calls(&numbers, &texts).await;
    let mut all = texts.all();
    let mut count = 0;
    while let Some(item) = all.next().await {
        assert!(!item.unwrap().is_empty());
        count += 1;
    }
    assert_eq!(count, 11);
    let held = numbers.visit(|cache: &mut Cache<u64, u64>| cache.held.len()).await.unwrap();
    assert_eq!(held, 1_000);
    let window = Window::<u32, 2>(vec![1, 2, 4], f64::from).spawn();
    assert!((window.sum().ask().await.unwrap() - 6.0).abs() < 1e-9);
    numbers.handle().unwrap().kill();
    numbers.handle().unwrap().ended().await;
    let refused = numbers.put(1, 2).try_tell().unwrap_err();
    assert!(matches!(refused.message, CacheMessage::Put { key: 1, value: 2 }));
}

#[tokio::test]
async fn an_actor_of_a_generic_type_is_called_from_another_process() {
    let (service, client) = (Node::new(), Node::new());
    service.export("numbers", &Cache::<u64, u64>::default().spawn()).unwrap();
    service.export("texts", &Cache::<u64, String>::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let numbers = client.actor::<Cache<u64, u64>>(&format!("{bound}/numbers")).await.unwrap();
    let texts = client.actor::<Cache<u64, String>>(&format!("{bound}/texts")).await.unwrap();
    calls(&numbers, &texts).await;
    let known = client.actor::<TextsInterface>(&format!("{bound}/texts")).await.unwrap();
    assert_eq!(known.get(3).ask().await.unwrap(), Some("nine".into()));
    assert_eq!(TextsRef::from(&texts).len().ask().await.unwrap(), 11);
}

#[tokio::test]
async fn another_instance_of_a_generic_type_is_not_mistaken_for_the_one() {
    let (service, client) = (Node::new(), Node::new());
    service.export("numbers", &Cache::<u64, u64>::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    // Of numbers the width is compared when the reference is fetched, of others the form when a
    // value comes.
    assert_ne!(Cache::<u64, u64>::SCHEMA.hash, Cache::<u32, u64>::SCHEMA.hash);
    assert_ne!(Cache::<u64, u64>::SCHEMA.hash, Cache::<u64, String>::SCHEMA.hash);
    let address = format!("{bound}/numbers");
    let texts = client.actor::<Cache<u64, String>>(&address).await.unwrap();
    let error = texts.put(1, "one".into()).ask().await.unwrap_err();
    assert_eq!(error.kind(), CallErrorKind::BadArguments);
    let narrow = client.actor::<Cache<u32, u64>>(&address).await.unwrap();
    assert_eq!(narrow.put(1, 5).ask().await.unwrap(), None);
    assert_eq!(narrow.get(1).ask().await.unwrap(), Some(5));
}

#[tokio::test]
async fn a_local_actor_may_be_generic() {
    let (prints, printed) = mpsc::channel();
    let printer = Printer(prints).spawn();
    let shared: std::sync::Arc<str> = "shared".into();
    assert_eq!(printer.print(shared.clone()).ask().await.unwrap(), "shared");
    assert!(std::sync::Arc::ptr_eq(&printed.recv().unwrap(), &shared));
    let _ = Local(printer);
}
