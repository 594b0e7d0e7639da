//! Banking: a teller orders 50,000 transfers between 1,000 accounts. The paying account asks the
//! receiving one to take the money and handles nothing else until that is done; the teller goes on
//! meanwhile. Checks that money is conserved and that each account has its expected balance.
//!
//! As in the suite, money goes to accounts of higher numbers only: two accounts that pay each other
//! at the same moment would both wait.

use std::sync::Arc;

use tokio::sync::oneshot;
use wigwag::{Actor, Local};

use super::{Alive, Dice, PATIENCE, run};

const ACCOUNTS: u64 = 1_000;
const TRANSFERS: u32 = 50_000;
/// Transfers under way at once: fewer than the teller's mailbox holds, so that the notice of a
/// payment always finds room.
const UNDER_WAY: u32 = 512;
const START: i64 = 1_000_000;

struct Account {
    balance: i64,
    _alive: Alive,
}

#[wigwag::actor]
impl Account {
    pub async fn pay(&mut self, amount: i64, to: AccountRef, teller: TellerRef) {
        self.balance -= amount;
        to.take(amount).timeout(PATIENCE).ask().await.unwrap();
        teller.paid(teller.clone()).try_tell().unwrap();
    }

    pub fn take(&mut self, amount: i64) {
        self.balance += amount;
    }

    pub fn balance(&self) -> i64 {
        self.balance
    }
}

struct Teller {
    accounts: Arc<[AccountRef]>,
    dice: Dice,
    ordered: u32,
    paid: u32,
    done: Option<oneshot::Sender<u32>>,
    _alive: Alive,
}

/// The payer, the payee and the amount of a random transfer.
fn transfer(dice: &mut Dice) -> (usize, usize, i64) {
    let from = dice.below(ACCOUNTS * 8 / 10);
    let to = from + 1 + dice.below(ACCOUNTS - from - 1);
    (from as usize, to as usize, 1 + dice.below(1000) as i64)
}

#[wigwag::actor]
impl Teller {
    pub fn start(&mut self, me: TellerRef, done: Local<oneshot::Sender<u32>>) {
        self.done = Some(done.0);
        for _ in 0..UNDER_WAY {
            self.order(me.clone());
        }
    }

    pub fn paid(&mut self, me: TellerRef) {
        self.paid += 1;
        if self.ordered < TRANSFERS {
            self.order(me);
        } else if self.paid == TRANSFERS
            && let Some(done) = self.done.take()
        {
            done.send(self.paid).unwrap();
        }
    }

    fn order(&mut self, me: TellerRef) {
        self.ordered += 1;
        let (from, to, amount) = transfer(&mut self.dice);
        let to = self.accounts[to].clone();
        self.accounts[from].pay(amount, to, me).try_tell().unwrap();
    }
}

#[test]
fn banking() {
    run(async |alive| {
        const SEED: u64 = 1;
        let account = |_| Account { balance: START, _alive: alive.clone() }.spawn();
        let accounts: Arc<[AccountRef]> = (0..ACCOUNTS).map(account).collect();
        let teller = Teller {
            accounts: accounts.clone(),
            dice: Dice(SEED),
            ordered: 0,
            paid: 0,
            done: None,
            _alive: alive.clone(),
        }
        .spawn();
        let (done, ended) = oneshot::channel();
        teller.start(teller.clone(), Local(done)).tell().await.unwrap();
        assert_eq!(ended.await.unwrap(), TRANSFERS);

        let mut expected = vec![START; ACCOUNTS as usize];
        let mut dice = Dice(SEED);
        for _ in 0..TRANSFERS {
            let (from, to, amount) = transfer(&mut dice);
            expected[from] -= amount;
            expected[to] += amount;
        }
        let mut found = Vec::new();
        for account in accounts.iter() {
            found.push(account.balance().ask().await.unwrap());
        }
        assert_eq!(found.iter().sum::<i64>(), START * ACCOUNTS as i64);
        assert_eq!(found, expected);
    });
}
