//! Changes of methods and their arguments: the older version.

pub(super) mod actor_renamed {
    use crate::version::print;

    pub(crate) struct Till;

    #[wigwag::actor]
    impl Till {
        pub fn difference(&self, from: u64, to: u64) -> u64 {
            to - from
        }
    }

    pub(crate) async fn call(till: TillRef) {
        print("difference", till.difference(2, 5).ask().await);
    }
}

pub(super) mod methods_added {
    use crate::version::print;

    /// A type that contains itself has names too.
    #[derive(wigwag::Message)]
    pub(crate) struct Tree {
        pub(crate) value: u64,
        pub(crate) branches: Vec<Tree>,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn narrow(&self, number: u64) -> u64 {
            number
        }

        pub fn sum(&self, tree: Tree) -> u64 {
            tree.value + tree.branches.into_iter().map(|branch| self.sum(branch)).sum::<u64>()
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        let leaf = |value| Tree { value, branches: Vec::new() };
        print("narrow", desk.narrow(7).ask().await);
        let tree = Tree { value: 1, branches: vec![leaf(2), leaf(3)] };
        print("sum", desk.sum(tree).ask().await);
    }
}

pub(super) mod method_removed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn removed(&self) -> u64 {
            1
        }

        pub fn kept(&self) -> u64 {
            2
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("removed", desk.removed().ask().await);
        print("kept", desk.kept().ask().await);
    }
}

pub(super) mod methods_renamed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        /// The newer version declares this name.
        pub fn spread(&self, from: u64, to: u64) -> u64 {
            to - from
        }

        /// The newer version has the name that is declared here.
        #[wigwag::was("tight")]
        pub fn narrow(&self, number: u64) -> u64 {
            number
        }

        /// The newer version has another name, which is not declared.
        pub fn share(&self, whole: u64, parts: u64) -> u64 {
            whole / parts
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("spread", desk.spread(2, 5).ask().await);
        print("narrow", desk.narrow(7).ask().await);
        print("share", desk.share(6, 3).ask().await);
    }
}

pub(super) mod arguments_moved {
    use crate::version::{print, print_line};

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn distance(&self, from: u64, to: u64) -> u64 {
            to - from
        }

        pub fn note(&self, text: String, author: Option<String>) -> String {
            format!("{} by {author:?}", text.len())
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("distance", desk.distance(2, 5).ask().await);
        print("note", desk.note("a".repeat(300), Some("me".into())).ask().await);
        // The other ways of sending: a pipeline, and a turn with runs of calls.
        let (mut asks, mut sum) = (desk.pipeline(256).unwrap(), 0);
        for number in 0..200 {
            asks.push(desk.distance(number, number + 3), ()).await.unwrap();
        }
        while let Some(((), answer)) = asks.answer().await {
            sum += answer.unwrap();
        }
        print_line(&format!("pipeline: {sum}"));
        let turn = wigwag::spawn(async move {
            let mut sum = 0;
            for number in 0..200 {
                desk.distance(number, number).tell().await.unwrap();
                sum += desk.distance(number, number + 3).ask().await.unwrap();
            }
            sum
        });
        print_line(&format!("turn: {}", turn.await.unwrap()));
    }
}

pub(super) mod arguments_renamed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        /// The newer version declares `of`, and has the arguments in another order.
        pub fn share(&self, of: u64, parts: u64) -> u64 {
            of / parts
        }

        /// The newer version has the name that is declared here.
        pub fn narrow(&self, #[wigwag::was("value")] number: u64) -> u64 {
            number
        }

        /// The newer version has another name than `from`, which is not declared.
        pub fn distance(&self, from: u64, to: u64) -> u64 {
            to - from
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("share", desk.share(6, 3).ask().await);
        print("narrow", desk.narrow(7).ask().await);
        print("distance", desk.distance(2, 5).ask().await);
    }
}

pub(super) mod option_added {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn note(&self, text: String) -> String {
            text
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("note", desk.note("a".into()).ask().await);
    }
}

pub(super) mod argument_added {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn distance(&self, from: u64, to: u64) -> u64 {
            to - from
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("distance", desk.distance(2, 5).ask().await);
    }
}
