//! The actor that all references lead to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use wigwag::lifecycle::{Alive, Down, Exit, Monitor};
use wigwag::{Actor, ActorOptions, Items, Life, Message, Reason, Responder, This, Yield};

use super::links;
use super::world::{Held, World};

/// References within other values.
#[derive(Message)]
pub(crate) struct Folder {
    pub(crate) desk: Option<DeskRef>,
    pub(crate) more: Vec<DeskRef>,
}

/// The limit of calls that an actor makes for others.
const BEHIND: Duration = Duration::from_secs(20);
/// References that an actor holds at most.
const HELD_MAX: usize = 12;

/// An actor that keeps, finds and passes on references to others of its kind.
pub(crate) struct Desk {
    pub(super) id: u64,
    node: usize,
    pub(super) world: Arc<World>,
    held: Held,
    watched: Held,
    watches: HashMap<Monitor, u64>,
    /// It is exported, and goes on whatever happens.
    is_exported: bool,
}

/// Starts an actor of a node.
pub(crate) fn spawn(world: &Arc<World>, node: usize, options: ActorOptions) -> (u64, DeskRef) {
    start(world, node, options, false)
}

/// Starts the actor that a node exports.
pub(crate) fn spawn_exported(world: &Arc<World>, node: usize) -> (u64, DeskRef) {
    start(world, node, ActorOptions::default(), true)
}

fn start(
    world: &Arc<World>,
    node: usize,
    options: ActorOptions,
    is_exported: bool,
) -> (u64, DeskRef) {
    let (id, held, watched) = world.new_actor(node);
    world.state().actors[id as usize].is_exported = is_exported;
    let desk = Desk {
        id,
        node,
        world: world.clone(),
        held,
        watched,
        watches: HashMap::new(),
        is_exported,
    };
    let desk = desk.spawn_with(options);
    let mut state = world.state();
    let record = &mut state.actors[id as usize];
    record.number = desk.handle().ok().map(|handle| handle.number());
    record.survives = is_exported || id.is_multiple_of(2);
    drop(state);
    (id, desk)
}

impl Desk {
    fn keep(&self, desk: DeskRef) {
        let gone = {
            let mut held = self.held.lock().unwrap();
            let gone = (held.len() >= HELD_MAX).then(|| held.remove(0));
            held.push(desk);
            gone
        };
        drop(gone);
    }

    fn last(&self) -> Option<DeskRef> {
        self.held.lock().unwrap().last().cloned()
    }
}

#[wigwag::actor(life)]
impl Desk {
    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn note(&mut self, sender: u64, number: u64) -> u64 {
        self.world.handled(self.id, sender, number);
        number
    }

    pub async fn note_later(&mut self, sender: u64, number: u64, milliseconds: u64) -> u64 {
        sleep(Duration::from_millis(milliseconds)).await;
        self.note(sender, number)
    }

    pub fn put(&mut self, desk: DeskRef) -> u64 {
        self.keep(desk);
        self.held.lock().unwrap().len() as u64
    }

    pub fn put_all(&mut self, folder: Folder, last: Option<DeskRef>) {
        for desk in folder.desk.into_iter().chain(folder.more).chain(last) {
            self.keep(desk);
        }
    }

    pub fn ignore(&mut self, _folder: Folder, _last: Option<DeskRef>) {}

    pub fn echo(&self, desk: DeskRef) -> DeskRef {
        desk
    }

    pub fn swap(&mut self, desk: DeskRef) -> Option<DeskRef> {
        let before = self.held.lock().unwrap().pop();
        self.keep(desk);
        before
    }

    pub fn find(&self) -> Option<DeskRef> {
        self.last()
    }

    pub fn look_up(&self, fails: bool) -> Result<DeskRef, String> {
        self.last().filter(|_| !fails).ok_or_else(|| "not there".to_owned())
    }

    pub async fn find_later(&self, milliseconds: u64) -> Option<DeskRef> {
        sleep(Duration::from_millis(milliseconds)).await;
        self.last()
    }

    pub fn find_aside(&self, milliseconds: u64, answer: Responder<Option<DeskRef>>) {
        let found = self.last();
        tokio::spawn(async move {
            sleep(Duration::from_millis(milliseconds)).await;
            answer.send(found);
        });
    }

    pub fn never_found(&self, answer: Responder<Option<DeskRef>>) {
        drop(answer);
    }

    pub fn all(&self) -> Vec<DeskRef> {
        self.held.lock().unwrap().clone()
    }

    pub fn folder(&self) -> Folder {
        Folder { desk: self.last(), more: self.all() }
    }

    pub fn itself(&self, this: &This<Self>) -> DeskRef {
        this.reference()
    }

    /// A new actor, which only the caller knows.
    pub fn fresh(&self) -> DeskRef {
        spawn(&self.world, self.node, ActorOptions::default()).1
    }

    /// Asks the actor that this one holds for what it holds, and passes it on.
    pub fn find_behind(&self, answer: Responder<Option<DeskRef>>) {
        let Some(held) = self.last() else { return answer.send(None) };
        tokio::spawn(async move {
            let found = held.find().timeout(BEHIND).ask().await;
            answer.send(found.ok().flatten());
        });
    }

    pub fn find_through(&self, answer: Responder<Option<DeskRef>>) {
        let Some(held) = self.last() else { return answer.send(None) };
        tokio::spawn(async move {
            let found = held.find().pipe::<Desk>().find().timeout(BEHIND).ask().await;
            answer.send(found.ok().flatten());
        });
    }

    pub fn forget(&mut self) {
        self.held.lock().unwrap().clear();
    }

    pub fn stop(&self, this: &This<Self>) {
        if !self.is_exported {
            this.stop(Reason::Shutdown);
        }
    }

    pub fn fail(&self, this: &This<Self>) {
        if !self.is_exported {
            this.stop(Reason::failed(format_args!("{} on purpose", self.id)));
        }
    }

    pub fn watch(&mut self, desk: DeskRef, target: u64, this: &This<Self>) -> bool {
        let watch = self.world.new_watch(self.id, target);
        let Ok(monitor) = this.monitor_ref(&desk) else { return false };
        self.watches.insert(monitor, watch);
        // A monitor lasts as long as its process holds a reference.
        self.watched.lock().unwrap().push(desk);
        true
    }

    pub fn link(&mut self, desk: DeskRef, target: u64, this: &This<Self>) -> bool {
        self.link_to(desk, target, this)
    }

    pub fn unlink(&mut self) {
        self.unlink_all();
    }

    pub async fn numbers(&mut self, count: u64, mut items: Yield<u64>) {
        for number in 0..count {
            if items.send(number).await.is_err() {
                return;
            }
        }
        items.finish();
    }

    pub fn numbers_aside(&mut self, count: u64, mut items: Yield<u64>) {
        tokio::spawn(async move {
            for number in 0..count {
                if number % 7 == 6 {
                    sleep(Duration::from_millis(2)).await;
                }
                if items.send(number).await.is_err() {
                    return;
                }
            }
            items.finish();
        });
    }

    pub async fn desks(&mut self, mut items: Yield<DeskRef>) {
        for desk in self.all() {
            if items.send(desk).await.is_err() {
                return;
            }
        }
        items.finish();
    }

    /// Reads some items. Answers how many came, and whether they have ended well.
    pub fn read(&mut self, mut rows: Items<u64>, most: u64, answer: Responder<(u64, bool)>) {
        let (world, id) = (self.world.clone(), self.id);
        tokio::spawn(async move {
            let mut count = 0;
            while count < most {
                match rows.next().await {
                    Some(Ok(number)) if number == count => count += 1,
                    Some(Ok(number)) => {
                        world.wrong(format!("{id} read {number} instead of {count}"));
                        break;
                    }
                    Some(Err(_)) => return answer.send((count, false)),
                    None => return answer.send((count, true)),
                }
            }
            answer.send((count, false));
        });
    }

    pub fn drop_rows(&mut self, _rows: Items<u64>) {}

    pub async fn read_desks(&mut self, mut rows: Items<DeskRef>, most: u64) {
        for _ in 0..most {
            let Some(Ok(desk)) = rows.next().await else { return };
            self.keep(desk);
        }
    }

    /// Has the actor that this one holds read the items.
    pub fn pass(&mut self, rows: Items<u64>, most: u64, answer: Responder<(u64, bool)>) {
        let Some(held) = self.last() else { return answer.send((0, false)) };
        tokio::spawn(async move {
            let read = held.read(rows, most).timeout(BEHIND).ask().await;
            answer.send(read.unwrap_or((0, false)));
        });
    }
}

impl Life for Desk {
    async fn stopped(&mut self, _: &This<Desk>, reason: &Reason) {
        self.world.state().actors[self.id as usize].reason = Some(reason.clone());
    }

    fn exited(&mut self, _: &This<Desk>, exit: Exit) -> Result<(), Reason> {
        match self.world.exited(self.id, &exit) {
            true => Err(links::linked(&exit.reason)),
            false => Ok(()),
        }
    }

    fn down(&mut self, _: &This<Desk>, down: Down) {
        match self.watches.get(&down.monitor) {
            Some(watch) => {
                self.world.state().watches[*watch as usize].told.push(down.reason);
            }
            None => {
                self.world.wrong(format!("{} was told of no monitor: {:?}", self.id, down.reason))
            }
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.world.state().actors[self.id as usize].is_gone = true;
    }
}
