//! Changes of types of arguments and replies: the older version.

pub(super) mod numbers {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn double(&self, number: u32) -> u32 {
            number.wrapping_mul(2)
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("double", desk.double(7).ask().await);
        print("double", desk.double(u32::MAX).ask().await);
    }
}

pub(super) mod type_changed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn note(&self, text: String) -> u64 {
            text.len() as u64
        }

        pub fn added(&self) -> u64 {
            1
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("note", desk.note("a".into()).ask().await);
        print("added", desk.added().ask().await);
    }
}

pub(super) mod fields_moved {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) from: u64,
        pub(crate) to: u64,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn length(&self, of: Range) -> u64 {
            of.to - of.from
        }

        pub fn all(&self) -> Range {
            Range { from: 1, to: 9 }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("length", desk.length(Range { from: 2, to: 5 }).ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod fields_renamed {
    use crate::version::print;

    /// The newer version declares `from`.
    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) from: u64,
    }

    /// The newer version has the name that is declared here.
    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Span {
        #[message(was = "begin")]
        pub(crate) from: u64,
    }

    /// The newer version has another name, which is not declared.
    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Gap {
        pub(crate) from: u64,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn range(&self, range: Range) -> Range {
            range
        }

        pub fn span(&self, span: Span) -> Span {
            span
        }

        pub fn gap(&self, gap: Gap) -> u64 {
            gap.from
        }

        pub fn a_gap(&self) -> Gap {
            Gap { from: 1 }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("range", desk.range(Range { from: 2 }).ask().await);
        print("span", desk.span(Span { from: 2 }).ask().await);
        print("gap", desk.gap(Gap { from: 2 }).ask().await);
        print("a_gap", desk.a_gap().ask().await);
    }
}

pub(super) mod option_field_added {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) from: u64,
        pub(crate) to: u64,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn text(&self, of: Range) -> String {
            format!("{of:?}")
        }

        pub fn all(&self) -> Range {
            Range { from: 1, to: 9 }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("text", desk.text(Range { from: 2, to: 5 }).ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod field_added {
    pub(crate) use super::option_field_added::*;
}

pub(super) mod variant_added {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) enum Shape {
        Circle(u64),
        Square(u64),
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn text(&self, of: Vec<Shape>) -> String {
            format!("{of:?}")
        }

        pub fn known(&self) -> Vec<Shape> {
            vec![Shape::Circle(1), Shape::Square(2)]
        }

        pub fn all(&self) -> Vec<Shape> {
            self.known()
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        let shapes = vec![Shape::Circle(1), Shape::Square(2)];
        print("text", desk.text(shapes).ask().await);
        print("known", desk.known().ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod variants_moved {
    pub(crate) use super::variant_added::*;
}
