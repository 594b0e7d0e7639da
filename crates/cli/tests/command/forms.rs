//! The forms of `docs/types.md` in JSON: each value that `wigwag ask` takes or prints is valid by the
//! schema of `wigwag describe --json`, and one that the actor refuses is not.
//!
//! The actor has one method for each type, which replies with its argument. Python's `jsonschema`
//! checks the values, if `WIGWAG_OUTSIDE` is set.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use wigwag::{Actor, Bytes, Message, Node};

use crate::process::run;

/// A place.
#[derive(Message)]
struct Point {
    x: i32,
    name: String,
    /// Where it is shown.
    shade: Option<bool>,
}

#[derive(Message)]
#[repr(u8)]
enum Shape {
    Nothing,
    Circle(u8) = 5,
    Line { from: Point, to: Box<Point> },
}

#[derive(Message)]
struct Tree {
    value: u8,
    branches: Vec<Tree>,
}

#[derive(Message)]
struct Nothing;

/// An actor with a method for each type, and for each method words that it takes and some that it
/// refuses.
macro_rules! forms {
    ($($name:ident: $kind:ty, $good:expr, $wrong:expr;)*) => {
        struct Forms;

        #[wigwag::actor]
        impl Forms {
            $(pub fn $name(&self, value: $kind) -> $kind {
                value
            })*
        }

        const CASES: &[(&str, &[&str], &[&str])] = &[$((stringify!($name), &$good, &$wrong),)*];
    };
}

forms! {
    unit: (), ["null"], ["0", "[]"];
    boolean: bool, ["true"], ["1"];
    byte: u8, ["0", "255"], ["256", "-1", "1.5"];
    int: i16, ["-32768", "32767"], ["32768"];
    long: u64, ["18446744073709551615"], ["-1"];
    longest: u128, ["7", "18446744073709551615"], ["-1", "[1, 2]"];
    not_zero: std::num::NonZero<u8>, ["1"], ["0"];
    not_zero_signed: std::num::NonZeroI32, ["-1"], ["0"];
    wrapping: std::num::Wrapping<u8>, ["7"], ["256"];
    float: f64, ["1.5", "7"], ["null"];
    floats: Vec<f32>, ["[1.5, 7]"], ["[null]", "[true]"];
    letter: char, ["\"é\"", "\"7\""], ["\"ab\""];
    text: String, ["some text", "\"7\""], [];
    boxed: std::sync::Arc<str>, ["text", "\"7\""], [];
    bytes: Bytes, ["[1, 200]", "text"], ["[256]", "[1, null]"];
    fixed_bytes: [u8; 2], ["[1, 2]", "ab"], ["[1]", "[1, 2, 3]"];
    list: Vec<u16>, ["[]", "[1, 2]"], ["[-1]", "7"];
    lists: Vec<Vec<u8>>, ["[[1, 2], []]"], ["[[256]]"];
    array: [u16; 2], ["[1, 2]"], ["[1]", "[1, 2, 3]"];
    set: BTreeSet<u16>, ["[2, 1]"], ["[-1]"];
    map: BTreeMap<String, u8>, [r#"{"a": 1}"#], [r#"{"a": 256}"#, "[]"];
    tuple: (u8, String), [r#"[1, "a"]"#], ["[1]", r#"[1, "a", 2]"#];
    option: Option<u8>, ["null", "7"], ["256"];
    options: Option<Option<u8>>, ["null", "[null]", "[7]"], ["[256]"];
    option_of_unit: Option<()>, ["null", "[null]"], ["[1]"];
    result: Result<u8, String>, ["[0, 7]", r#"[1, "no"]"#], ["[2, 7]", "[0, 256]", "7"];
    range: std::ops::Range<u8>, ["[1, 7]"], ["[1]"];
    ordering: std::cmp::Ordering, ["-1", "1"], ["2"];
    duration: Duration, ["[1, 500000000]"], ["[1]", "[-1, 0]"];
    moment: std::time::SystemTime, ["[-1, 500]"], ["[1]"];
    ip: std::net::IpAddr, ["127.0.0.1", "::1"], ["\"127.0.0\""];
    ip4: std::net::Ipv4Addr, ["127.0.0.1"], ["\"::1\""];
    socket: std::net::SocketAddr, ["127.0.0.1:80", r#"["[::1]:80", 7]"#], ["7"];
    path: std::path::PathBuf, ["/tmp/a"], ["7"];
    id: uuid::Uuid, ["0f8fad5b-d9cb-469f-a165-70867728950e"], ["\"0f8fad5b\"", "7"];
    decimal: rust_decimal::Decimal, ["\"-12.50\"", "7"], ["1.5", "\"x\""];
    anything: Value, [r#"{"a": [null, 1.5]}"#, "null"], [];
    maybe_anything: Option<Value>, ["null", "[7]"], [];
    instant: chrono::DateTime<chrono::Utc>, ["[1700000000, 5]"], ["[1]", "\"today\""];
    local: chrono::DateTime<chrono::FixedOffset>, ["[1700000000, 5, 3600]", "[1, 2]"], ["[1]"];
    offset: time::OffsetDateTime, ["[1700000000, 5, -3600]"], ["[1]"];
    naive: chrono::NaiveDateTime, ["[1700000000, 5]"], ["[1]"];
    date: chrono::NaiveDate, ["[2026, 11, 26]"], ["[2026, 13, 1]", "[2026, 11]"];
    day: time::Date, ["[2026, 11, 26]"], ["[2026, 13, 1]"];
    time_of_day: chrono::NaiveTime, ["[3600, 5]"], ["[86400, 0]"];
    clock: time::Time, ["[3600, 5]"], ["[86400, 0]"];
    point: Point, [r#"[-1, "a", true]"#, r#"[1, "a"]"#], ["[1]", r#"["a", 1]"#, r#"{"x": 1}"#];
    points: Option<Vec<Point>>, [r#"[[1, "a", null]]"#], ["[[1]]"];
    shape: Shape, ["[0]", "[5, 7]", r#"[6, [1, "a", null], [2, "b"]]"#], ["[1, 7]", "[5]", "5"];
    tree: Tree, ["[1, [[2, []], [3, [[4, []]]]]]"], ["[1, [[2]]]"];
    nothing: Nothing, ["[]"], ["null"];
}

/// The value that a word stands for.
fn value(word: &str) -> Value {
    serde_json::from_str(word).unwrap_or_else(|_| word.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_ask_takes_and_prints_are_valid_by_the_schema_and_refused_ones_are_not() {
    let node = Node::new();
    node.export("forms", &Forms.spawn()).unwrap();
    let forms = format!("{}/forms", node.listen("tcp://127.0.0.1:0").await.unwrap());
    let checked = tokio::task::spawn_blocking(move || {
        let described = run(["describe", &forms, "--json"]);
        let schema: Value = serde_json::from_str(&described.out).unwrap();
        let mut checks = Vec::new();
        for (method, good, wrong) in CASES {
            let pointer = |part: &str| format!("#/methods/{method}/{part}");
            for word in *good {
                let said = run(["ask", &forms, method, word]);
                assert_eq!(said.code, Some(0), "{method} {word}: {said:?}");
                let reply: Value = serde_json::from_str(&said.out).unwrap();
                checks.push((pointer("reply"), reply, true));
                checks.push((pointer("arguments"), json!({"value": value(word)}), true));
            }
            for word in *wrong {
                let said = run(["ask", &forms, method, word]);
                assert_eq!(said.code, Some(2), "{method} {word}: {said:?}");
                checks.push((pointer("arguments"), json!({"value": value(word)}), false));
            }
            checks.push((pointer("arguments"), json!({"valu": null}), false));
        }
        // Numbers that JSON does not have are printed as texts.
        checks.push(("#/methods/floats/reply".into(), json!([1.5, "NaN", "-inf"]), true));
        checks.push(("#/methods/floats/reply".into(), json!(["nan"]), false));
        let count = checks.len();
        (json!({"schema": schema, "checks": checks}), count)
    });
    let (document, count) = checked.await.unwrap();
    node.close(Duration::from_secs(5)).await;
    if !std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1") {
        let written = writeln!(std::io::stdout(), "not run: set WIGWAG_OUTSIDE=1 to check schemas");
        return written.expect("standard output");
    }
    assert_eq!(surprises(&document), format!("checked {count}\n"));
}

/// The failed checks that the other program prints.
fn surprises(document: &Value) -> String {
    let python = concat!(env!("CARGO_TARGET_TMPDIR"), "/jsonschema/bin/python");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/json_schema/check.py");
    let started =
        Command::new(python).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child =
        started.unwrap_or_else(|error| panic!("{python}: {error}\n hint: cargo xtask test"));
    let mut input = child.stdin.take().expect("piped");
    input.write_all(document.to_string().as_bytes()).expect("the program reads it");
    drop(input);
    let output = child.wait_with_output().expect("a child can be waited for");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}
