//! The cells of `counter` beside the plain one, for whoever has threads and a bounded channel and
//! nothing else: work on each message, asks, and a number that threads hand round, each with a channel
//! of its own.

/// Writes `play`, which plays the cell that was ordered, with the `Sender` and the `bounded` that are
/// in reach where it stands.
#[macro_export]
macro_rules! channel_cells {
    () => {
        /// Plays the cell that was ordered; false if it is the plain counter.
        pub fn play() -> $crate::Result<bool> {
            match ::std::env::var("CELL").as_deref() {
                Ok("slow") => slow()?,
                Ok("ask") => ask()?,
                Ok("bounce" | "ring") => ring()?,
                _ => return Ok(false),
            }
            Ok(true)
        }

        struct Count {
            amount: u64,
            number: u64,
            sender: u32,
            payload: u32,
        }

        fn slow() -> $crate::Result<()> {
            let (senders, amount, seed): (u32, u64, u32) =
                ($crate::order("SENDERS")?, $crate::order("AMOUNT")?, $crate::order("SEED")?);
            let (each, draws) = ($crate::order::<u64>("MESSAGES")? / u64::from(senders), $crate::order("WORK")?);
            let (inbox, messages) = bounded::<Count>($crate::CHANNEL_MESSAGES_MAX);
            $crate::ready_and_wait_for_go()?;
            for sender in 0..senders {
                let inbox = inbox.clone();
                ::std::thread::spawn(move || {
                    for (number, payload) in (0..each).zip($crate::Payloads::new(seed, sender)) {
                        // Refused when the counter has ended, and then nobody wants to know.
                        let _ = inbox.send(Count { amount, number, sender, payload });
                    }
                });
            }
            drop(inbox);
            let (mut total, mut worked, mut seen) = (0_u64, 0_u64, $crate::Seen::new(senders as usize));
            for Count { amount, number, sender, payload } in messages {
                total += amount;
                seen.accept(sender, number, payload);
                worked = worked.wrapping_add($crate::work(draws, payload));
            }
            let seen = seen.account();
            $crate::say_and_stay(&format!(r#"{{"total": {total}, {seen}, "worked": "{worked}"}}"#))
        }

        /// Number, payload, and the way back.
        type Ask = (u64, u32, Sender<u64>);

        fn ask() -> $crate::Result<()> {
            let (asks, mut asker) = ($crate::order::<u64>("MESSAGES")?, $crate::Asker::new($crate::order("SEED")?));
            let (inbox, messages) = bounded::<Ask>($crate::CHANNEL_MESSAGES_MAX);
            let answerer = ::std::thread::spawn(move || {
                let mut seen = $crate::Seen::new(1);
                for (number, payload, reply) in messages {
                    seen.accept(0, number, payload);
                    // An asker that is gone needs no answer.
                    let _ = reply.send(number + u64::from(payload));
                }
                seen
            });
            $crate::ready_and_wait_for_go()?;
            let (reply, answers) = bounded(1);
            for _ in 0..asks {
                let (number, payload) = asker.ask();
                inbox.send((number, payload, reply.clone())).map_err(|_| "the answerer is gone")?;
                asker.hold(answers.recv()?);
            }
            drop(inbox);
            $crate::say(&asker.account(&answerer.join().map_err(|_| "the answerer panicked")?))
        }

        fn ring() -> $crate::Result<()> {
            let (places, seed) = ($crate::Place::all()?, $crate::order("SEED")?);
            let (first, mut incoming) = bounded::<(u64, u32)>($crate::CHANNEL_MESSAGES_MAX);
            let (done, ended) = bounded(1);
            let last = places.len() - 1;
            let mut threads = Vec::new();
            for (at, mut place) in places.into_iter().enumerate() {
                let (mut next, following) = bounded($crate::CHANNEL_MESSAGES_MAX);
                if at == last {
                    next = first.clone();
                }
                let (messages, done) = (::std::mem::replace(&mut incoming, following), done.clone());
                threads.push(::std::thread::spawn(move || {
                    for (number, value) in messages {
                        // Refused when the next one has ended, which is after the last hop.
                        match place.pass(number, value) {
                            $crate::Hop::On(number, value) => drop(next.send((number, value))),
                            $crate::Hop::End(value) => {
                                let _ = done.send(value);
                                break;
                            }
                        }
                    }
                    place
                }));
            }
            $crate::ready_and_wait_for_go()?;
            first.send((0, seed)).map_err(|_| "the ring has ended")?;
            drop(first);
            let value = ended.recv()?;
            let places = threads.into_iter().map(::std::thread::JoinHandle::join);
            let places: ::std::result::Result<Vec<$crate::Place>, _> = places.collect();
            $crate::say(&$crate::Place::account(value, places.map_err(|_| "one of the ring panicked")?))
        }
    };
}
