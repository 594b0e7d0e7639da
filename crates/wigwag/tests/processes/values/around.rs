//! Values inside of every composite, three levels deep.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use proptest::prelude::*;
use wigwag::Message;

/// Values of one type within composites within composites.
#[derive(Message, Clone, Debug, PartialEq)]
pub(crate) struct Around<T> {
    listed: Vec<Option<(T, Box<T>)>>,
    mapped: BTreeMap<String, Result<[T; 2], VecDeque<T>>>,
    optional: Option<Option<Option<T>>>,
    chosen: Choice<Vec<Choice<T>>>,
    shared: Option<Arc<Option<T>>>,
}

/// An enum with a variant of each kind.
#[derive(Message, Clone, Debug, PartialEq)]
pub(crate) enum Choice<T> {
    Nothing,
    One(T),
    Two { first: Option<T>, second: T },
}

pub(crate) fn around<T: Clone + Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Around<T>> {
    let v = || value.clone();
    let pair = (v(), v().prop_map(Box::new));
    let result =
        prop_oneof![[v(), v()].prop_map(Ok), prop::collection::vec_deque(v(), 0..3).prop_map(Err),];
    (
        prop::collection::vec(prop::option::of(pair), 0..3),
        prop::collection::btree_map("[a-z]{0,3}", result, 0..3),
        prop::option::of(prop::option::of(prop::option::of(v()))),
        choice(prop::collection::vec(choice(v()), 0..3)),
        prop::option::of(prop::option::of(v()).prop_map(Arc::new)),
    )
        .prop_map(|(listed, mapped, optional, chosen, shared)| Around {
            listed,
            mapped,
            optional,
            chosen,
            shared,
        })
}

pub(crate) fn choice<T: Clone + Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Choice<T>> + Clone {
    prop_oneof![
        Just(Choice::Nothing),
        value.clone().prop_map(Choice::One),
        (prop::option::of(value.clone()), value)
            .prop_map(|(first, second)| Choice::Two { first, second }),
    ]
}
