//! Changes of types of arguments and replies: the newer version.

pub(super) mod numbers {
    use wigwag::dead_letters::{DeadLetterEvent, dead_letters};

    use crate::version::{print, print_line};

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn double(&self, number: u64) -> u64 {
            number * 2
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("double", desk.double(7).ask().await);
        print("double", desk.double(1 << 40).ask().await);
        // The outcomes of a receipt and a tell.
        let receipt = desk.double(1 << 40).receipt().await.unwrap();
        print_line(&format!("receipt: {}", receipt.await));
        let mut letters = dead_letters();
        desk.double(1 << 40).tell().await.unwrap();
        if let DeadLetterEvent::Letter(letter) = letters.next().await {
            print_line(&format!("tell: {:?}, {}", letter.loss, letter.method));
        }
    }
}

pub(super) mod type_changed {
    use crate::version::print;

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn note(&self, text: u64) -> u64 {
            text
        }

        pub fn added(&self) -> String {
            "one".into()
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("note", desk.note(7).ask().await);
        print("added", desk.added().ask().await);
    }
}

pub(super) mod fields_moved {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) to: u64,
        pub(crate) from: u64,
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

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        #[message(was = "from")]
        pub(crate) begin: u64,
    }

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Span {
        pub(crate) begin: u64,
    }

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Gap {
        pub(crate) begin: u64,
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
            gap.begin
        }

        pub fn a_gap(&self) -> Gap {
            Gap { begin: 1 }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("range", desk.range(Range { begin: 2 }).ask().await);
        print("span", desk.span(Span { begin: 2 }).ask().await);
        print("gap", desk.gap(Gap { begin: 2 }).ask().await);
        print("a_gap", desk.a_gap().ask().await);
    }
}

pub(super) mod option_field_added {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) from: u64,
        pub(crate) to: u64,
        pub(crate) step: Option<u64>,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn text(&self, of: Range) -> String {
            format!("{of:?}")
        }

        pub fn all(&self) -> Range {
            Range { from: 1, to: 9, step: Some(2) }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("text", desk.text(Range { from: 2, to: 5, step: Some(1) }).ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod field_added {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) struct Range {
        pub(crate) from: u64,
        pub(crate) to: u64,
        pub(crate) step: u64,
    }

    pub(crate) struct Desk;

    #[wigwag::actor]
    impl Desk {
        pub fn text(&self, of: Range) -> String {
            format!("{of:?}")
        }

        pub fn all(&self) -> Range {
            Range { from: 1, to: 9, step: 2 }
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        print("text", desk.text(Range { from: 2, to: 5, step: 1 }).ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod variant_added {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) enum Shape {
        Circle(u64),
        Square(u64),
        Point,
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
            vec![Shape::Circle(1), Shape::Square(2), Shape::Point]
        }
    }

    pub(crate) async fn call(desk: DeskRef) {
        let shapes = vec![Shape::Circle(1), Shape::Square(2)];
        print("text", desk.text(shapes).ask().await);
        print("text", desk.text(vec![Shape::Point]).ask().await);
        print("known", desk.known().ask().await);
        print("all", desk.all().ask().await);
    }
}

pub(super) mod variants_moved {
    use crate::version::print;

    #[derive(wigwag::Message, Debug)]
    pub(crate) enum Shape {
        Square(u64),
        Circle(u64),
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
