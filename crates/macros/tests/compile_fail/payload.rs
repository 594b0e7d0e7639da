//! A type without an encoding is one error at each place where it is written.

struct Underived;

struct Other;

struct Third;

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn argument(&mut self, one: Underived, several: Vec<Underived>) {
        let _ = (one, several);
    }

    pub fn reply(&self) -> Option<Other> {
        None
    }

    pub async fn reply_later(&self) -> Other {
        Other
    }

    pub fn answer(&self, answer: wigwag::Responder<Other>) {
        drop(answer);
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&self) -> impl Future<Output = Other> {
        async { Other }
    }
}

#[wigwag::actor]
trait Interface {
    fn argument(&self, one: Underived) -> Other;
}

#[derive(wigwag::Message)]
struct Message {
    field: Third,
}

#[derive(wigwag::Message)]
enum Choice<T> {
    One(T),
    Two { field: std::sync::Mutex<u8> },
}

fn main() {}
