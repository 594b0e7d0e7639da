//! A print shop with a live page: open the address that it prints in a browser.
//!
//! The shop takes orders; a press prints them, one after the other. The foreman can make work: calls of
//! the office, orders that the press of another node is too slow for, letters to somebody who has left.
//! The tests of the page in `page/test` drive it. Arguments: the port of the page, or 0 for a free one,
//! and a token that clients must have; with `-guest` behind it, it is one for the shop alone. The program
//! ends when its standard input does.

#![expect(clippy::print_stdout, reason = "the program says where its page is")]

use std::error::Error;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use wigwag::access::{Access, Principal};
use wigwag::lifecycle::Alive;
use wigwag::{Actor, ActorOptions, Message, Node, NodeOptions, Yield};
use wigwag_gateway::{Gateway, GatewayOptions};

/// Copies that wait for the press at most.
const PRESS_CALLS: usize = 50;

/// A document to print.
#[derive(Clone, Debug, Message)]
struct Order {
    title: String,
    copies: u32,
    paper: Paper,
    note: Option<String>,
}

/// The paper that it is printed on.
#[derive(Clone, Debug, Message)]
enum Paper {
    Plain,
    Glossy,
}

/// Why nothing is printed.
#[derive(Clone, Debug, Message)]
enum Refusal {
    NoCopies,
    /// At most so many.
    TooMany(u32),
}

#[derive(Default)]
struct Shop {
    orders: Vec<Order>,
}

/// Takes orders.
#[wigwag::actor]
impl Shop {
    /// Places an order, and returns its number.
    pub fn place(&mut self, order: Order) -> Result<u64, Refusal> {
        match order.copies {
            0 => Err(Refusal::NoCopies),
            1..=1000 => {
                self.orders.push(order);
                Ok(self.orders.len() as u64)
            }
            _ => Err(Refusal::TooMany(1000)),
        }
    }

    /// The price of some copies, in cents. An express order costs twice as much.
    pub fn price(&self, copies: u64, paper: Paper, express: bool, discount: Option<u8>) -> u64 {
        let each = match paper {
            Paper::Plain => 5,
            Paper::Glossy => 12,
        };
        let times = if express { 2 } else { 1 };
        let sum = copies.saturating_mul(each * times);
        sum - sum / 100 * u64::from(discount.unwrap_or(0).min(100))
    }

    /// Greets a customer by name.
    pub fn greet(&self, name: String) -> String {
        format!("Good morning, {name}")
    }

    /// All orders, one after the other.
    pub async fn orders(&mut self, mut items: Yield<Order>) {
        for order in self.orders.clone() {
            if items.send(order).await.is_err() {
                return;
            }
        }
        items.finish();
    }
}

struct Press;

/// Prints one copy after the other.
#[wigwag::actor]
impl Press {
    /// Prints a copy, which takes some time.
    pub async fn print(&mut self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// Counts what the office is told.
#[derive(Default)]
struct Office {
    notes: u64,
}

/// Keeps notes.
#[wigwag::actor]
impl Office {
    /// Takes a note.
    pub fn note(&mut self, text: String) {
        self.notes += u64::from(!text.is_empty());
    }
}

struct Foreman {
    office: OfficeRef,
    press: PressRef,
    /// The press of another node.
    branch: PressRef,
    /// An actor that has stopped.
    gone: OfficeRef,
}

/// Makes work for the others.
#[wigwag::actor]
impl Foreman {
    /// Tells the office many notes.
    pub async fn work(&mut self, calls: u32) -> u32 {
        let mut told = 0;
        for _ in 0..calls {
            told += u32::from(self.office.note("paper is short".into()).tell().await.is_ok());
        }
        told
    }

    /// Fills the mailbox of the press with copies of this length, and returns how many went in.
    pub fn fill(&mut self, milliseconds: u64) -> u32 {
        let mut told = 0;
        while told < 2 * PRESS_CALLS as u32 && self.press.print(milliseconds).try_tell().is_ok() {
            told += 1;
        }
        told
    }

    /// Sends copies to the press of the branch until its link has no more credit; returns how many.
    pub fn stall(&mut self, milliseconds: u64) -> u32 {
        let mut told = 0;
        while told < 1_000_000 && self.branch.print(milliseconds).try_tell().is_ok() {
            told += 1;
        }
        told
    }

    /// Writes letters to somebody who has left.
    pub fn lose(&mut self, letters: u32) -> u32 {
        let lost = (0..letters).filter(|_| self.gone.note("hello?".into()).try_tell().is_err());
        lost.count() as u32
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().unwrap_or_else(|| "0".into());
    let token = arguments.next();

    let branch = Node::with(NodeOptions::default().name("branch office"));
    branch.export("press", &Press.spawn())?;
    let bound = branch.listen("tcp://127.0.0.1:0").await?;

    let mut node = NodeOptions::default().name("print shop").observable(true);
    let mut page = GatewayOptions::default().live_page(true);
    if let Some(token) = token {
        let (owner, guest) = (Principal::key("owner"), Principal::key("guest"));
        node = node.access(Access::new().allow_all_actors(owner).allow(guest, "shop"));
        page = page.token(&token, "owner").token(&format!("{token}-guest"), "guest");
    }
    let node = Node::with(node);
    let press = Press.spawn_with(ActorOptions::default().mailbox_calls(PRESS_CALLS));
    let office = Office::default().spawn();
    let gone = Office::default().spawn();
    node.export("lodge", &gone)?;
    gone.handle()?.stop();
    gone.handle()?.ended().await;
    let foreman = Foreman {
        office: office.clone(),
        press: press.clone(),
        branch: node.actor::<Press>(&format!("{bound}/press")).await?,
        gone,
    };
    node.export("shop", &Shop::default().spawn())?;
    node.export("press", &press)?;
    node.export("office", &office)?;
    node.export("foreman", &foreman.spawn())?;

    let gateway = Gateway::with(&node, page);
    println!("{}/ui/", gateway.listen(&format!("http://127.0.0.1:{port}")).await?);
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    gateway.close(Duration::from_millis(100)).await;
    Ok(())
}
