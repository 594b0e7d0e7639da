//! Full mailboxes in a circle: asks, tells that wait for room, and both mixed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval};
use wigwag::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX};
use wigwag::{ActorOptions, CallErrorKind, Local, lifecycle::Alive};

use super::ring::{MemberMessage, MemberRef, Ring, Way, count, member};
use super::{Counts, SECOND, Tally, kind};

/// The longest circle of asks that is refused at once, in actors, as given in
/// `wigwag_actor::limits`.
const CYCLE_ACTORS_MAX: usize = 64;

/// Asks a member ten times a second until it is stopped; returns the number of answers.
fn neighbour(member: MemberRef, tally: Arc<Tally>) -> (JoinHandle<u32>, Arc<tokio::sync::Notify>) {
    let enough = Arc::new(tokio::sync::Notify::new());
    let until = enough.clone();
    let asks = tokio::spawn(async move {
        let (mut answered, mut ticks) = (0, interval(SECOND / 10));
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = until.notified() => return answered,
            }
            let call = member.plain(Local(tally.guard())).timeout(HANDLER_WAIT_MAX / 2);
            assert_eq!(kind(call.ask().await), Ok(()), "a neighbour goes on");
            answered += 1;
        }
    });
    (asks, enough)
}

/// Each ask comes back to a member that waits and is refused at once, without any time limit.
#[tokio::test(start_paused = true)]
async fn asks_in_a_circle_of_full_mailboxes_are_all_refused_at_once() {
    let begun = Instant::now();
    for capacity in 1..=4 {
        for askers in [1, 32] {
            let ring = Ring::new(capacity, [Way::Asks; 3], &Arc::default()).await;
            let counts = count(ring.flood(askers, 9, None).await).await;
            assert_eq!(counts, Counts { circle: askers * 3, ..Counts::default() });
            ring.goes_on().await;
            ring.end().await;
        }
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// Two hops are no circle by themselves, but the hops of other calls may close one.
#[tokio::test(start_paused = true)]
async fn asks_that_lead_to_an_end_are_answered_unless_others_close_the_circle() {
    for capacity in 1..=4 {
        let ring = Ring::new(capacity, [Way::Asks; 3], &Arc::default()).await;
        let begun = Instant::now();
        let counts = count(ring.flood(32, 2, None).await).await;
        assert_eq!(counts.answered + counts.circle, 96, "{counts:?}");
        assert!(counts.circle > 0, "{counts:?}");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        ring.goes_on().await;
        ring.end().await;
    }
}

/// Builds a ring in which each member asks the next; returns the first answer and the time it took.
async fn ring_of(members: usize) -> (Result<(), CallErrorKind>, Duration) {
    let tally = Arc::new(Tally::default());
    let ring: Vec<MemberRef> =
        (0..members).map(|_| member(Way::Asks, ActorOptions::default(), &tally)).collect();
    for (at, one) in ring.iter().enumerate() {
        one.meet(ring[(at + 1) % members].clone()).ask().await.unwrap();
    }
    let begun = Instant::now();
    let hops = u32::try_from(members).unwrap();
    let call = ring[0].go_on(0, hops, Local(tally.guard())).without_limit();
    let outcome = kind(call.ask().await).and_then(|end| end.0);
    let took = begun.elapsed();
    for one in &ring {
        one.part().ask().await.unwrap();
    }
    (outcome, took)
}

/// The last member's ask leads back through all the others, up to the documented limit; a longer
/// ring ends by the time limit of its asks.
#[tokio::test(start_paused = true)]
async fn a_circle_is_refused_at_once_up_to_its_longest_and_ends_by_the_limit_beyond() {
    for members in [1, 2, 4, CYCLE_ACTORS_MAX / 2, CYCLE_ACTORS_MAX] {
        assert_eq!(ring_of(members).await, (Err(CallErrorKind::CallCycle), Duration::ZERO));
    }
    assert_eq!(
        ring_of(CYCLE_ACTORS_MAX + 1).await,
        (Err(CallErrorKind::Overloaded), HANDLER_WAIT_MAX)
    );
}

/// A tell is no part of a circle of asks, so this circle is not detected; it ends by the time
/// limits.
#[tokio::test(start_paused = true)]
async fn a_circle_of_asks_with_a_tell_in_it_ends_by_the_limits() {
    for capacity in 1..=4 {
        let ways = [Way::Asks, Way::Tells, Way::Asks];
        let ring = Ring::new(capacity, ways, &Arc::default()).await;
        let begun = Instant::now();
        let counts = count(ring.flood(32, 9, None).await).await;
        // Each round handles one call of each member. The waiting callers give up at the moment in
        // which the next three calls time out, and either may come first.
        let rounds = ASK_WAIT_MAX.as_secs() / HANDLER_WAIT_MAX.as_secs();
        let expected = [rounds - 1, rounds].map(|rounds| {
            let overloaded = 3 * u32::try_from(rounds).unwrap();
            Counts { overloaded, timeout: 96 - overloaded, ..Counts::default() }
        });
        assert!(expected.contains(&counts), "{counts:?}");
        assert_eq!(begun.elapsed(), ASK_WAIT_MAX);
        ring.goes_on().await;
        ring.end().await;
    }
}

/// Holds each member in its first call, which tells the next member once its gate opens; the
/// member's mailbox is full, and more senders wait for room in it.
async fn fill(
    ring: &Ring,
    capacity: u32,
    parked: u32,
) -> (Vec<oneshot::Sender<()>>, Vec<JoinHandle<()>>) {
    let (mut gates, mut tellers) = (Vec::new(), Vec::new());
    for (at, member) in (0_u32..).zip(&ring.members) {
        let (opens, gate) = oneshot::channel();
        gates.push(opens);
        member.visit(move |one| one.gate = Some(gate)).await.unwrap();
        let call = |number: u32| {
            let (hops, guard) = (u32::from(number == 0), Local(ring.tally.guard()));
            member.go_on(at * 1000 + number, hops, guard)
        };
        call(0).try_tell().unwrap();
        while member.handle().unwrap().waiting() > 0 {
            tokio::task::yield_now().await;
        }
        for number in 1..=capacity {
            call(number).try_tell().unwrap();
        }
        for number in capacity + 1..=capacity + parked {
            let (member, message) = (member.clone(), call(number).into_message());
            tellers.push(tokio::spawn(async move {
                member.call::<()>(message).tell().await.unwrap();
            }));
        }
    }
    (gates, tellers)
}

/// Each member holds a call for the next one, whose mailbox is full, and no mailbox is drained.
/// Returns how many of these calls came back: on threads the first call to do so may make room for
/// the others.
async fn tells_in_a_circle(capacity: u32, late: Duration) -> usize {
    let (tally, parked) = (Arc::new(Tally::default()), 8);
    let ring = Ring::new(capacity as usize, [Way::Tells; 3], &tally).await;
    let other = member(Way::Asks, ActorOptions::default(), &tally);
    let (asks, enough) = neighbour(other, tally.clone());
    let (gates, tellers) = fill(&ring, capacity, parked).await;
    let begun = Instant::now();
    for gate in gates {
        gate.send(()).unwrap();
    }
    for teller in tellers {
        teller.await.unwrap();
    }
    ring.goes_on().await;
    assert!(begun.elapsed() >= HANDLER_WAIT_MAX, "{:?}", begun.elapsed());
    assert!(begun.elapsed() <= HANDLER_WAIT_MAX + late, "{:?}", begun.elapsed());
    enough.notify_one();
    let answered = asks.await.unwrap();
    assert!(answered >= 10, "the neighbour was answered {answered} times");
    let (mut came, mut held) = (0, Vec::new());
    for (at, member) in (0_u32..).zip(&ring.members) {
        let visit = member.visit(|one| (one.came.len(), std::mem::take(&mut one.held)));
        let (calls, refused) = visit.await.unwrap();
        came += calls;
        held.extend(refused.into_iter().map(|refused| (at, refused)));
    }
    let refused = held.len();
    assert_eq!(came, 3 * (1 + capacity + parked) as usize + 3 - refused, "none is lost or doubled");
    for (at, held) in held {
        assert_eq!(held.kind, CallErrorKind::Overloaded);
        assert!(held.after >= HANDLER_WAIT_MAX && held.after <= HANDLER_WAIT_MAX + late);
        // A refused message is returned to the sender, which may send it again.
        let is_it = |message: &MemberMessage| match message {
            MemberMessage::GoOn { number, hops, .. } => (*number, *hops) == (at * 1000, 0),
            _ => false,
        };
        assert!(is_it(&held.message));
        let next = &ring.members[(at as usize + 1) % 3];
        next.call::<Local<Result<(), CallErrorKind>>>(held.message).ask().await.unwrap().0.unwrap();
        let last = next.visit(|member| member.came.pop()).await.unwrap();
        assert_eq!(last, Some(at * 1000));
    }
    ring.end().await;
    refused
}

#[tokio::test(start_paused = true)]
async fn tells_in_a_circle_of_full_mailboxes_come_back_when_the_limit_is_over() {
    for capacity in 1..=4 {
        // All limits expire at once, but the first call to return may make room for those behind
        // it.
        assert!((1..=3).contains(&tells_in_a_circle(capacity, SECOND / 500).await));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_in_a_circle_come_back_on_threads_too() {
    assert!((1..=3).contains(&tells_in_a_circle(2, 4 * HANDLER_WAIT_MAX).await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circles_end_on_threads_too() {
    const HOPS: u32 = 9;
    let begun = Instant::now();
    for capacity in 1..=4 {
        let ring = Ring::new(capacity, [Way::Asks; 3], &Arc::default()).await;
        let counts = count(ring.flood(64, 9, None).await).await;
        assert_eq!(counts, Counts { circle: 192, ..Counts::default() });
        ring.goes_on().await;
        ring.end().await;
    }
    // These are refused at once.
    assert!(begun.elapsed() < HANDLER_WAIT_MAX, "{:?}", begun.elapsed());
    let ways = [Way::Asks, Way::Tells, Way::Asks];
    let ring = Ring::new(1, ways, &Arc::default()).await;
    let counts = count(ring.flood(32, HOPS, Some(SECOND / 2)).await).await;
    assert_eq!(counts.all(), 96, "{counts:?}");
    assert!(counts.timeout > 0 && counts.stopped == 0, "{counts:?}");
    ring.goes_on().await;
    ring.end().await;
    // A tell outlives the ask that it came from, and each of its hops may wait for room; the order on
    // threads decides how many do.
    assert!(begun.elapsed() < (HOPS + 1) * HANDLER_WAIT_MAX, "{:?}", begun.elapsed());
}
