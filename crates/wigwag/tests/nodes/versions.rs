//! Two versions of an interface between two nodes: one test for each row of `docs/versions.md`.

use std::fmt::Debug;

use wigwag::codec::Exportable;
use wigwag::{Actor, AskError, CallErrorKind, Interface, Message, Node, Ref};

/// A service that exports `actor`, and a client that knows it as `I`.
async fn between<I: Interface, A: Interface<Codec: Exportable>>(
    actor: &impl AsRef<Ref<A>>,
) -> (Node, Node, I::Ref) {
    let (service, client) = (Node::new(), Node::new());
    service.export("desk", actor).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<I>(&format!("{bound}/desk")).await.unwrap();
    (service, client, there)
}

/// The call was refused before it was sent, with a text that has all these words.
fn refused<T: Debug, M>(answer: Result<T, AskError<M>>, kind: CallErrorKind, words: &[&str]) {
    let Err(AskError::Refused(refused)) = answer else { panic!("it was sent: {answer:?}") };
    assert_eq!(refused.error.kind, kind);
    let text = refused.error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

/// The call was sent, and failed.
fn failed<T: Debug, M>(answer: Result<T, AskError<M>>, kind: CallErrorKind) {
    let Err(AskError::Failed(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.kind, kind, "{error}");
}

#[derive(Message, Debug, PartialEq)]
struct Range {
    from: u64,
    to: u64,
}

/// The present version.
#[derive(Default)]
struct Desk;

#[wigwag::actor]
impl Desk {
    pub fn added(&self) -> u8 {
        1
    }

    #[wigwag::was("spread")]
    pub fn distance(&self, from: u64, to: u64) -> u64 {
        to - from
    }

    pub fn share(&self, #[wigwag::was("of")] whole: u64, parts: u64) -> u64 {
        whole / parts
    }

    pub fn note(&self, text: String, author: Option<String>) -> String {
        format!("{text} by {author:?}")
    }

    pub fn narrow(&self, number: u32) -> u32 {
        number
    }

    pub fn length(&self, of: Range) -> u64 {
        of.to - of.from
    }

    pub fn all(&self) -> Range {
        Range { from: 1, to: 9 }
    }
}

/// A version whose methods stand in another order, and that lacks one and has another one.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Methods {
    fn narrow(&self, number: u32) -> u32;
    fn distance(&self, from: u64, to: u64) -> u64;
    fn removed(&self) -> u64;
}

#[tokio::test]
async fn methods_may_be_added_and_moved_and_a_removed_one_is_refused() {
    let (_service, _client, desk) = between::<MethodsInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.narrow(7).ask().await.unwrap(), 7);
    assert_eq!(desk.distance(2, 5).ask().await.unwrap(), 3);
    refused(desk.removed().ask().await, CallErrorKind::NoSuchMethod, &["removed"]);
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Renamed {
    /// The receiver declares this as a former name.
    fn spread(&self, from: u64, to: u64) -> u64;
    /// This side declares the name that the receiver still has.
    #[wigwag::was("narrow")]
    fn tight(&self, number: u32) -> u32;
    /// Nobody declares this.
    fn portion(&self, whole: u64, parts: u64) -> u64;
}

#[tokio::test]
async fn a_renamed_method_is_found_where_either_side_declares_it() {
    let (_service, _client, desk) = between::<RenamedInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.spread(2, 5).ask().await.unwrap(), 3);
    assert_eq!(desk.tight(7).ask().await.unwrap(), 7);
    refused(desk.portion(6, 3).ask().await, CallErrorKind::NoSuchMethod, &["portion"]);
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Moved {
    fn distance(&self, to: u64, from: u64) -> u64;
    fn note(&self, author: Option<String>, text: String) -> String;
}

#[tokio::test]
async fn arguments_that_have_changed_places_are_matched_by_their_names() {
    let (_service, _client, desk) = between::<MovedInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.distance(5, 2).ask().await.unwrap(), 3);
    let noted = desk.note(Some("me".into()), "a".repeat(300)).ask().await.unwrap();
    assert_eq!(noted, format!("{} by Some(\"me\")", "a".repeat(300)));
    // In every way of sending: a pipeline, and a turn with runs of calls.
    let mut asks = desk.pipeline(256).unwrap();
    for number in 0..200 {
        asks.push(desk.distance(number + 3, number), ()).await.unwrap();
    }
    while let Some(((), answer)) = asks.answer().await {
        assert_eq!(answer.unwrap(), 3);
    }
    drop(asks);
    let turn = wigwag::spawn(async move {
        for number in 0..200 {
            desk.distance(number, number).tell().await.unwrap();
            assert_eq!(desk.distance(number + 1, 1).ask().await.unwrap(), number);
        }
    });
    turn.await.unwrap();
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait OtherNames {
    /// The receiver declares `of`.
    fn share(&self, parts: u64, of: u64) -> u64;
    /// Nobody declares `begin`.
    fn distance(&self, begin: u64, to: u64) -> u64;
    /// This side declares `number`.
    fn narrow(&self, #[wigwag::was("number")] value: u32) -> u32;
}

#[tokio::test]
async fn a_renamed_argument_is_refused_unless_either_side_declares_it() {
    let (_service, _client, desk) = between::<OtherNamesInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.share(3, 6).ask().await.unwrap(), 2);
    assert_eq!(desk.narrow(7).ask().await.unwrap(), 7);
    let words = ["(from: u64, to: u64) there", "(begin: u64, to: u64) here", "`from`"];
    refused(desk.distance(2, 5).ask().await, CallErrorKind::BadArguments, &words);
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Fewer {
    fn note(&self, text: String) -> String;
    fn narrow(&self, number: u32, hint: Option<u8>) -> u32;
    fn distance(&self, from: u64) -> u64;
    fn length(&self, of: Range, unit: String) -> u64;
}

#[tokio::test]
async fn an_optional_argument_may_be_missing_at_either_side_and_another_may_not() {
    let (_service, _client, desk) = between::<FewerInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.note("a".into()).ask().await.unwrap(), "a by None");
    assert_eq!(desk.narrow(7, Some(1)).ask().await.unwrap(), 7);
    refused(desk.distance(2).ask().await, CallErrorKind::BadArguments, &["`to`"]);
    let length = desk.length(Range { from: 1, to: 2 }, "m".into()).ask().await;
    refused(length, CallErrorKind::BadArguments, &["`unit`"]);
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait OtherTypes {
    fn narrow(&self, number: u64) -> u64;
    fn note(&self, text: u64) -> String;
    fn added(&self) -> String;
}

#[tokio::test]
async fn a_wider_number_is_accepted_where_it_fits_and_another_type_is_rejected() {
    let (_service, _client, desk) = between::<OtherTypesInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.narrow(7).ask().await.unwrap(), 7);
    failed(desk.narrow(1 << 40).ask().await, CallErrorKind::BadArguments);
    failed(desk.note(7).ask().await, CallErrorKind::BadArguments);
    failed(desk.added().ask().await, CallErrorKind::BadReply);
}

/// An earlier or later version of [`Range`] in each module, under its name.
mod ranges {
    pub(crate) mod swapped {
        #[derive(wigwag::Message, Debug)]
        pub(crate) struct Range {
            pub(crate) to: u64,
            pub(crate) from: u64,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Desk {
            fn length(&self, of: Range) -> u64;
            fn all(&self) -> Range;
        }
    }

    pub(crate) mod renamed {
        #[derive(wigwag::Message, Debug)]
        pub(crate) struct Range {
            #[message(was = "from")]
            pub(crate) begin: u64,
            pub(crate) to: u64,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Desk {
            fn length(&self, of: Range) -> u64;
        }
    }

    pub(crate) mod undeclared {
        #[derive(wigwag::Message, Debug)]
        pub(crate) struct Range {
            pub(crate) begin: u64,
            pub(crate) to: u64,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Desk {
            fn length(&self, of: Range) -> u64;
        }
    }

    pub(crate) mod longer {
        #[derive(wigwag::Message, Debug)]
        pub(crate) struct Range {
            pub(crate) from: u64,
            pub(crate) to: u64,
            pub(crate) step: Option<u64>,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Desk {
            fn length(&self, of: Range) -> u64;
            fn all(&self) -> Range;
        }
    }

    pub(crate) mod required {
        #[derive(wigwag::Message, Debug)]
        pub(crate) struct Range {
            pub(crate) from: u64,
            pub(crate) to: u64,
            pub(crate) step: u64,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Desk {
            fn length(&self, of: Range) -> u64;
            fn all(&self) -> Range;
        }
    }
}

#[tokio::test]
async fn fields_that_have_changed_places_are_refused_in_arguments_and_replies() {
    use ranges::swapped::{DeskInterface, Range};
    let (_service, _client, desk) = between::<DeskInterface, _>(&Desk.spawn()).await;
    let words = ["`Range` has the parts from, to there and to, from here"];
    let length = desk.length(Range { to: 5, from: 2 }).ask().await;
    refused(length, CallErrorKind::BadArguments, &words);
    refused(desk.all().ask().await, CallErrorKind::BadArguments, &words);
}

#[tokio::test]
async fn a_renamed_field_is_refused_unless_it_is_declared() {
    {
        use ranges::renamed::{DeskInterface, Range};
        let (_service, _client, desk) = between::<DeskInterface, _>(&Desk.spawn()).await;
        assert_eq!(desk.length(Range { begin: 2, to: 5 }).ask().await.unwrap(), 3);
    }
    use ranges::undeclared::{DeskInterface, Range};
    let (_service, _client, desk) = between::<DeskInterface, _>(&Desk.spawn()).await;
    let length = desk.length(Range { begin: 2, to: 5 }).ask().await;
    refused(length, CallErrorKind::BadArguments, &["`from` and `begin` stand in one place"]);
}

#[tokio::test]
async fn a_field_may_be_added_at_the_end_and_an_optional_one_may_be_missing() {
    {
        use ranges::longer::{DeskInterface, Range};
        let (_service, _client, desk) = between::<DeskInterface, _>(&Desk.spawn()).await;
        let length = desk.length(Range { from: 2, to: 5, step: Some(1) }).ask().await;
        assert_eq!(length.unwrap(), 3);
        assert_eq!(desk.all().ask().await.unwrap().step, None);
    }
    use ranges::required::{DeskInterface, Range};
    let (_service, _client, desk) = between::<DeskInterface, _>(&Desk.spawn()).await;
    assert_eq!(desk.length(Range { from: 2, to: 5, step: 1 }).ask().await.unwrap(), 3);
    failed(desk.all().ask().await, CallErrorKind::BadReply);
}

mod shapes {
    #[derive(wigwag::Message, Debug, PartialEq)]
    pub(crate) enum Shape {
        Circle(u64),
        Square(u64),
    }

    pub(crate) struct Sizes;

    #[wigwag::actor]
    impl Sizes {
        pub fn size(&self, of: Vec<Shape>) -> u64 {
            let size = |shape: &Shape| match shape {
                Shape::Circle(radius) => 3 * radius * radius,
                Shape::Square(side) => side * side,
            };
            of.iter().map(size).sum()
        }
    }

    pub(crate) mod more {
        #[derive(wigwag::Message, Debug)]
        pub(crate) enum Shape {
            Circle(u64),
            Square(u64),
            Point,
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Sizes {
            fn size(&self, of: Vec<Shape>) -> u64;
        }
    }

    pub(crate) mod swapped {
        #[derive(wigwag::Message, Debug)]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) enum Shape {
            Square(u64),
            Circle(u64),
        }

        #[wigwag::actor]
        #[allow(dead_code, reason = "an interface")]
        pub(crate) trait Sizes {
            fn size(&self, of: Vec<Shape>) -> u64;
        }
    }
}

#[tokio::test]
async fn a_variant_may_be_added_at_the_end_and_variants_that_have_changed_places_are_refused() {
    {
        use shapes::more::{Shape, SizesInterface};
        let (_service, _client, sizes) = between::<SizesInterface, _>(&shapes::Sizes.spawn()).await;
        let known = vec![Shape::Circle(1), Shape::Square(2)];
        assert_eq!(sizes.size(known).ask().await.unwrap(), 7);
        failed(sizes.size(vec![Shape::Point]).ask().await, CallErrorKind::BadArguments);
    }
    use shapes::swapped::{Shape, SizesInterface};
    let (_service, _client, sizes) = between::<SizesInterface, _>(&shapes::Sizes.spawn()).await;
    let words = ["`Shape` has the parts Circle, Square there and Square, Circle here"];
    refused(sizes.size(vec![Shape::Square(2)]).ask().await, CallErrorKind::BadArguments, &words);
}

/// Types that contain themselves have names too.
#[derive(Message, Debug, PartialEq)]
struct Tree {
    value: u64,
    branches: Vec<Tree>,
}

struct Forest;

#[wigwag::actor]
impl Forest {
    pub fn count(&self, tree: Tree) -> u64 {
        1 + tree.branches.into_iter().map(|branch| self.count(branch)).sum::<u64>()
    }
}

#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Wood {
    #[wigwag::was("count")]
    fn number(&self, tree: Tree) -> u64;
}

#[tokio::test]
async fn the_actor_may_be_renamed_and_types_may_contain_themselves() {
    let (_service, _client, wood) = between::<WoodInterface, _>(&Forest.spawn()).await;
    let leaf = |value| Tree { value, branches: Vec::new() };
    let tree = Tree { value: 1, branches: vec![leaf(2), leaf(3)] };
    assert_eq!(wood.number(tree).ask().await.unwrap(), 3);
}
