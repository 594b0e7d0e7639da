//! `wigwag key`, and commands that prove the key.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use tokio::runtime::Runtime;
use wigwag::access::{Access, Principal, SharedKey};
use wigwag::{Actor, Node, NodeOptions};

use crate::process::{Said, run};
use crate::running::Running;

struct Sum;

#[wigwag::actor]
impl Sum {
    pub fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    pub fn reset(&self) {}
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("wigwag-key-{}-{name}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).expect("a temporary folder");
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain name").to_owned()
    }

    /// Makes a key, and reads it again.
    fn key(&self, name: &str) -> (String, SharedKey) {
        let path = self.path(&format!("{name}.key"));
        let made = run(["key", name, &path]);
        assert_eq!(made.code, Some(0), "{made:?}");
        assert!(made.out.contains("--shared-key"), "{made:?}");
        let text = fs::read_to_string(&path).expect("a file");
        (path, text.parse().expect("a key"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn failed(said: &Said, code: i32, what: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(said.err.contains(what) && said.err.contains("hint: "), "{said:?}");
}

#[test]
fn a_key_is_written_once_and_its_owner_alone_can_read_it() {
    let folder = Folder::new("files");
    let (path, key) = folder.key("worker");
    assert_eq!(&**key.name(), "worker");
    let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    failed(&run(["key", "worker", &path]), 2, "cannot be written");
    assert_eq!(fs::read_to_string(&path).expect("a file").trim_end(), key.to_text());
    let bad = folder.path("bad.key");
    failed(&run(["key", "a:b", &bad]), 2, "without a colon");
    assert!(!fs::exists(&bad).expect("a folder"));
}

/// A part of a key would be in the way of the next try. The shell lets the command write no byte.
#[test]
fn a_key_that_cannot_be_written_whole_leaves_no_file() {
    let folder = Folder::new("partial");
    let path = folder.path("worker.key");
    let mut shell = Command::new("sh");
    let line = "trap '' XFSZ; ulimit -f 0; exec \"$0\" key worker \"$1\"";
    shell.args(["-c", line, env!("CARGO_BIN_EXE_wigwag"), &path]);
    failed(&Running::of(shell, b"").end(), 2, "File too large");
    assert!(!fs::exists(&path).expect("a folder"));
}

#[test]
fn a_key_is_read_from_a_pipe_and_not_without_end() {
    let ask = |file: &str, input: &[u8]| {
        let words = ["ask", "tcp://127.0.0.1:1/sum", "add", "--shared-key", file];
        Running::start(&words, input).end()
    };
    failed(&ask("/dev/zero", b""), 2, "more than 4096 bytes");
    let key = format!("{}\n", SharedKey::generate("worker").to_text());
    // Nobody listens there: the key is all right.
    let asked = ask("/dev/stdin", key.as_bytes());
    assert_eq!(asked.code, Some(3), "{asked:?}");
}

#[test]
fn a_command_proves_its_key_and_is_refused_without_it() {
    let folder = Folder::new("calls");
    let (worker_file, worker) = folder.key("worker");
    let (stranger_file, _) = folder.key("stranger");
    let runtime = Runtime::new().expect("a runtime");
    let (_node, sum) = runtime.block_on(async {
        let access = Access::new().allow_methods(Principal::key("worker"), "sum", ["add"]);
        let access = access.allow(Principal::key("worker"), "/metrics");
        let options = NodeOptions::default().accept_keys([worker]).access(access);
        let node = Node::with(options.observable(true));
        node.export("sum", &Sum.spawn()).expect("a free name");
        let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port");
        (node, format!("{bound}/sum"))
    });
    let ask = |more: &[&str]| run(["ask", &sum, "add", "2", "3"].iter().chain(more).copied());
    let asked = ask(&["--shared-key", &worker_file]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "5\n"), "{asked:?}");
    let nobody = ask(&[]);
    failed(&nobody, 8, "authentication is required");
    let stranger = ask(&["--shared-key", &stranger_file]);
    failed(&stranger, 8, "authentication failed");
    for said in [nobody, stranger] {
        assert!(said.err.contains("with --shared-key"), "{said:?}");
    }
    failed(&ask(&["--shared-key", &folder.path("none.key")]), 2, "cannot be read");
    fs::write(folder.path("broken.key"), "worker").expect("a file");
    failed(&ask(&["--shared-key", &folder.path("broken.key")]), 2, "in hexadecimal");

    let described = run(["describe", &sum, "--shared-key", &worker_file]);
    assert!(described.out.contains("add(") && !described.out.contains("reset"), "{described:?}");
    let described = run(["describe", &sum, "--json", "--shared-key", &worker_file]);
    assert!(!described.out.contains("\"\""), "{described:?}");

    let node = sum.strip_suffix("/sum").expect("its name");
    for watch in [["top", node, "--count=1"].as_slice(), &["metrics", node]] {
        failed(&run(watch.iter().copied()), 8, "authentication is required");
        let watched = run(watch.iter().copied().chain(["--shared-key", &worker_file]));
        assert!(watched.code == Some(0) && watched.out.contains("sum"), "{watched:?}");
    }
}
