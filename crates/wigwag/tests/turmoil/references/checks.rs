//! The claims about calls and monitors, when nothing is on its way any more.

use wigwag::Reason;

use super::links;
use super::world::{ActorRecord, Fate, SenderRecord, State, WatchRecord, World};

/// Notes what is wrong.
pub(crate) fn check(world: &World) {
    let mut state = world.state();
    let mut wrong = Vec::new();
    let wrong_calls = state
        .senders
        .iter()
        .filter_map(|sender| wrong_call(&state, sender, world.loses_sessions()));
    wrong.extend(wrong_calls);
    let is_wrong = |watch: &&WatchRecord| !is_fine(&state, watch, world.loses_sessions());
    wrong.extend(state.watches.iter().filter(is_wrong).map(|watch| format!("{watch:?}")));
    wrong.extend(links::wrong_links(&state, world.loses_sessions()));
    state.wrong.extend(wrong);
}

/// A call whose fate is another one than its caller was told.
fn wrong_call(state: &State, sender: &SenderRecord, loses_sessions: bool) -> Option<String> {
    let SenderRecord { how, sent, handled, actor } = sender;
    // Calls that wait for an actor which is stopped are lost with it, and tells with a session. Nothing is
    // known of an actor that no call has reached.
    let may_lose =
        loses_sessions || actor.is_none_or(|actor| was_stopped(&state.actors[actor as usize]));
    let wrong = (0..).zip(sent).find(|(number, fate)| {
        let is_handled = handled.contains(number);
        match fate {
            Fate::Told => !is_handled && !may_lose,
            Fate::Handled => !is_handled,
            Fate::NotHandled => is_handled,
            Fate::Unknown => false,
        }
    });
    wrong.map(|(number, fate)| {
        format!("{number} of {how} is not {fate:?}: {sent:?} were sent, {handled:?} came")
    })
}

fn was_stopped(actor: &ActorRecord) -> bool {
    actor.is_gone && actor.reason != Some(Reason::Normal)
}

/// A monitor tells once, with the reason, when its actor has ended.
fn is_fine(state: &State, watch: &WatchRecord, loses_sessions: bool) -> bool {
    let WatchRecord { watcher, target, told } = watch;
    let [watcher, target] = [watcher, target].map(|actor| &state.actors[*actor as usize]);
    let reason = match watcher.node == target.node {
        true => target.end_reason().clone(),
        false => links::sent(target.end_reason()),
    };
    match &told[..] {
        // A reference whose node is called through another one, which does not relay or is gone.
        [Reason::Unreachable(_)] => true,
        [] => !target.is_gone || watcher.is_gone || loses_sessions,
        [told] => loses_sessions || (target.is_gone && *told == reason),
        _ => false,
    }
}
