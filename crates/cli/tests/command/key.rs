//! `wigwag key`, and commands that prove the key.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tokio::runtime::Runtime;
use wigwag::access::{Access, Principal, SharedKey};
use wigwag::{Actor, Node, NodeOptions};

use crate::process::{Said, run};

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

#[test]
fn a_command_proves_its_key_and_is_refused_without_it() {
    let folder = Folder::new("calls");
    let (worker_file, worker) = folder.key("worker");
    let (stranger_file, _) = folder.key("stranger");
    let runtime = Runtime::new().expect("a runtime");
    let (_node, sum) = runtime.block_on(async {
        let access = Access::new().allow_methods(Principal::key("worker"), "sum", ["add"]);
        let node = Node::with(NodeOptions::default().accept_keys([worker]).access(access));
        node.export("sum", &Sum.spawn()).expect("a free name");
        let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port");
        (node, format!("{bound}/sum"))
    });
    let ask = |more: &[&str]| run(["ask", &sum, "add", "2", "3"].iter().chain(more).copied());
    let asked = ask(&["--shared-key", &worker_file]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "5\n"), "{asked:?}");
    failed(&ask(&[]), 8, "authentication is required");
    failed(&ask(&["--shared-key", &stranger_file]), 8, "authentication failed");
    failed(&ask(&["--shared-key", &folder.path("none.key")]), 2, "cannot be read");
    fs::write(folder.path("broken.key"), "worker").expect("a file");
    failed(&ask(&["--shared-key", &folder.path("broken.key")]), 2, "in hexadecimal");

    let described = run(["describe", &sum, "--shared-key", &worker_file]);
    assert!(described.out.contains("add(") && !described.out.contains("reset"), "{described:?}");
    let described = run(["describe", &sum, "--json", "--shared-key", &worker_file]);
    assert!(!described.out.contains("\"\""), "{described:?}");
}
