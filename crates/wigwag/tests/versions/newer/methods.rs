//! Changes of methods and their arguments: the newer version.

pub(super) mod actor_renamed {
    use crate::version::print;

    pub(crate) struct Counter;

    #[wigwag::actor]
    impl Counter {
        pub fn difference(&self, from: u64, to: u64) -> u64 {
            to - from
        }
    }

    pub(crate) async fn call(counter: CounterRef) {
        print("difference", counter.difference(2, 5).ask().await);
    }
}

pub(super) mod methods_added {
    use crate::version::print;

    #[derive(wigwag::Message)]
    pub(crate) struct Tree {
        pub(crate) value: u64,
        pub(crate) branches: Vec<Tree>,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn added(&self) -> u64 {
            1
        }

        pub fn sum(&self, tree: Tree) -> u64 {
            tree.value + tree.branches.into_iter().map(|branch| self.sum(branch)).sum::<u64>()
        }

        pub fn narrow(&self, number: u64) -> u64 {
            number
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("added", desk.added().ask().await);
        let leaf = |value| Tree { value, branches: Vec::new() };
        let tree = Tree { value: 1, branches: vec![leaf(2), leaf(3)] };
        print("sum", desk.sum(tree).ask().await);
        print("narrow", desk.narrow(7).ask().await);
    }
}

pub(super) mod method_removed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn kept(&self) -> u64 {
            2
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("kept", desk.kept().ask().await);
    }
}

pub(super) mod methods_renamed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        #[wigwag::was("spread")]
        pub fn distance(&self, from: u64, to: u64) -> u64 {
            to - from
        }

        pub fn tight(&self, number: u64) -> u64 {
            number
        }

        pub fn portion(&self, whole: u64, parts: u64) -> u64 {
            whole / parts
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("distance", desk.distance(2, 5).ask().await);
        print("tight", desk.tight(7).ask().await);
        print("portion", desk.portion(6, 3).ask().await);
    }
}

pub(super) mod arguments_moved {
    use crate::version::{print, print_line};

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn distance(&self, to: u64, from: u64) -> u64 {
            to - from
        }

        pub fn note(&self, author: Option<String>, text: String) -> String {
            format!("{} by {author:?}", text.len())
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("distance", desk.distance(5, 2).ask().await);
        print("note", desk.note(Some("me".into()), "a".repeat(300)).ask().await);
        let (mut asks, mut sum) = (desk.pipeline(256).unwrap(), 0);
        for number in 0..200 {
            asks.push(desk.distance(number + 3, number), ()).await.unwrap();
        }
        while let Some(((), answer)) = asks.answer().await {
            sum += answer.unwrap();
        }
        print_line(&format!("pipeline: {sum}"));
        let turn = wigwag::spawn(async move {
            let mut sum = 0;
            for number in 0..200 {
                desk.distance(number, number).tell().await.unwrap();
                sum += desk.distance(number + 3, number).ask().await.unwrap();
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
        pub fn share(&self, parts: u64, #[wigwag::was("of")] whole: u64) -> u64 {
            whole / parts
        }

        pub fn narrow(&self, value: u64) -> u64 {
            value
        }

        pub fn distance(&self, begin: u64, to: u64) -> u64 {
            to - begin
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("share", desk.share(3, 6).ask().await);
        print("narrow", desk.narrow(7).ask().await);
        print("distance", desk.distance(2, 5).ask().await);
    }
}

pub(super) mod option_added {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn note(&self, author: Option<String>, text: String) -> String {
            format!("{text} by {author:?}")
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("note", desk.note(Some("me".into()), "a".into()).ask().await);
    }
}

pub(super) mod argument_added {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn distance(&self, from: u64, to: u64, unit: u64) -> u64 {
            (to - from) / unit
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("distance", desk.distance(2, 5, 1).ask().await);
    }
}
