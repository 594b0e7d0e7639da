//! An actor whose methods take and answer structs, enums and containers.

use std::collections::BTreeMap;

use wigwag::{Items, Message, Yield};

/// A purchase.
#[derive(Clone, Debug, Message)]
pub(crate) struct Order {
    /// The name of the thing.
    thing: String,
    count: u32,
    /// In cents.
    price: i64,
    note: Option<String>,
}

/// The state of an order.
#[derive(Clone, Debug, Message)]
pub(crate) enum State {
    Open,
    /// The sum in cents.
    Paid(i64),
    Sent {
        day: u32,
        by: String,
    },
}

/// Why there is no order.
#[derive(Clone, Debug, Message)]
pub(crate) enum Refusal {
    SoldOut,
    /// At most so many.
    TooMany(u32),
}

#[derive(Default)]
pub(crate) struct Shop {
    orders: Vec<(Order, State)>,
}

/// Sells things.
#[wigwag::actor]
impl Shop {
    /// Places an order, and returns its number.
    pub fn place(&mut self, order: Order) -> Result<u32, Refusal> {
        if order.thing == "nothing" {
            return Err(Refusal::SoldOut);
        }
        if order.count > 10 {
            return Err(Refusal::TooMany(10));
        }
        self.orders.push((order, State::Open));
        Ok(self.orders.len() as u32 - 1)
    }

    /// Places all orders that come, and returns how many were placed.
    pub async fn place_all(&mut self, mut orders: Items<Order>) -> u32 {
        let mut placed = 0;
        while let Some(Ok(order)) = orders.next().await {
            placed += u32::from(self.place(order).is_ok());
        }
        placed
    }

    /// The state of an order.
    pub fn state(&self, number: u32) -> Option<State> {
        self.orders.get(number as usize).map(|(_, state)| state.clone())
    }

    /// Sets the state of an order. False if there is no such order.
    pub fn set(&mut self, number: u32, state: State) -> bool {
        let found = self.orders.get_mut(number as usize);
        found.map(|(_, old)| *old = state).is_some()
    }

    /// The sums of all orders by the names of the things.
    pub fn sums(&self) -> BTreeMap<String, i64> {
        let mut sums = BTreeMap::new();
        for (order, _) in &self.orders {
            let sum = order.price * i64::from(order.count);
            *sums.entry(order.thing.clone()).or_default() += sum;
        }
        sums
    }

    /// All orders, one after the other.
    pub async fn orders(&mut self, mut items: Yield<Order>) {
        for (order, _) in self.orders.clone() {
            if items.send(order).await.is_err() {
                return;
            }
        }
        items.finish();
    }
}
