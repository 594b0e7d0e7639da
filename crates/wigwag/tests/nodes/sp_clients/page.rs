//! The programs of `docs/clients.md`, as they are on the page, against the node of the page.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::runtime::Runtime;
use wigwag::groups::Groups;

use super::outside::peer::{MANGOS, python, wanted};
use super::*;

const PAGE: &str = include_str!("../../../../../docs/clients.md");
/// The address on the page.
const ADDRESS: &str = "tcp://127.0.0.1:7001";
/// The words that a program which asks for the sum prints, with any text between them.
const SUM: [&str; 2] = ["ok", "5"];

struct Sum;

#[wigwag::actor]
impl Sum {
    pub fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

#[derive(Default)]
struct Board {
    notes: Vec<String>,
}

#[wigwag::actor]
impl Board {
    pub fn pin(&mut self, this: &This<Self>, note: String) -> usize {
        self.notes.push(note.clone());
        this.publish("pinned", &note).unwrap();
        self.notes.len()
    }

    pub fn count(&self) -> usize {
        self.notes.len()
    }
}

/// The node of the page.
struct Stage {
    runtime: Runtime,
    _node: Node,
    board: BoardRef,
    _groups: Groups<Board>,
    address: String,
}

impl Stage {
    fn new() -> Stage {
        let runtime = Runtime::new().unwrap();
        let (node, board, groups, address) = runtime.block_on(async {
            let (node, board, groups) = (Node::new(), Board::default().spawn(), Groups::new());
            node.export("sum", &Sum.spawn()).unwrap();
            node.export("board", &board).unwrap();
            groups.join_all("all", &[board.clone(), Board::default().spawn()]).unwrap();
            node.export_group("boards", &groups, "all").unwrap();
            let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
            (node, board, groups, address)
        });
        Stage { runtime, _node: node, board, _groups: groups, address }
    }

    /// The only block of the page in this language, with the address of this node.
    fn block(&self, language: &str) -> String {
        let begin = format!("```{language}\n");
        let (_, rest) = PAGE.split_once(&begin).unwrap();
        let (block, after) = rest.split_once("```").unwrap();
        assert!(!after.contains(&begin), "the page has two blocks of {language}");
        assert!(block.contains(ADDRESS), "the page's {language} has another address");
        block.replace(ADDRESS, &self.address)
    }

    /// The block in a file.
    fn file(&self, language: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients-page");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("ask.{language}"));
        std::fs::write(&path, self.block(language)).unwrap();
        path
    }
}

/// `timeout` with a program below it, both of which are ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It passes this signal on, and cannot pass on the one that `Child::kill` sends.
        let _ = Command::new("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

fn prints_the_sum(command: &mut Command) {
    let output = command.output().unwrap();
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    let out = String::from_utf8(out).unwrap();
    assert!(output.status.success(), "{command:?}: {out}{err}");
    let words: Vec<_> =
        out.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    assert_eq!(words, SUM, "{command:?}");
}

#[test]
fn the_python_program_of_the_page_asks() {
    if wanted() {
        let stage = Stage::new();
        prints_the_sum(Command::new(python()).arg(stage.file("python")));
    }
}

#[test]
fn the_go_program_of_the_page_asks() {
    if wanted() {
        let stage = Stage::new();
        let file = stage.file("go");
        prints_the_sum(Command::new("go").arg("run").arg(file).current_dir(MANGOS));
    }
}

#[test]
fn the_c_program_of_the_page_asks() {
    if wanted() {
        let stage = Stage::new();
        let (source, program) = (stage.file("c"), stage.file("c").with_extension("program"));
        let mut build = Command::new("cc");
        build.arg(source).args(["-Wall", "-Werror", "-o"]).arg(&program).arg("-lnng");
        assert!(build.status().unwrap().success());
        prints_the_sum(&mut Command::new(program));
    }
}

/// Each command prints the lines below it.
#[test]
fn the_commands_of_the_page_print_what_it_shows() {
    if !wanted() {
        return;
    }
    let stage = Stage::new();
    let block = stage.block("console");
    let mut commands = block.split("$ ").skip(1);
    assert_eq!(commands.clone().count(), 6);
    commands.all(|command| {
        let (command, expected) = command.split_once('\n').unwrap();
        runs(&stage, command, &expected.lines().collect::<Vec<_>>());
        true
    });
    let pinned = stage.runtime.block_on(async { stage.board.count().ask().await.unwrap() });
    assert!(pinned > 0, "the push has told the board");
}

fn runs(stage: &Stage, command: &str, expected: &[&str]) {
    let limited = format!("exec timeout {} {command}", PATIENCE.as_secs());
    let mut shell = Command::new("sh");
    let child = shell.args(["-c", &limited]).stdout(Stdio::piped()).spawn().unwrap();
    let mut running = Running(child);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    // A subscriber gets what is published while it is connected.
    let publishing = command.contains("--sub ").then(|| {
        let board = stage.board.clone();
        stage.runtime.spawn(async move {
            loop {
                board.pin("milk".to_owned()).tell().await.unwrap();
                sleep(Duration::from_millis(10)).await;
            }
        })
    });
    // The answers to a survey come in any order.
    let mut printed: Vec<String> =
        lines.by_ref().take(expected.len()).map(Result::unwrap).collect();
    printed.sort();
    assert_eq!(printed, expected, "{command}");
    if expected.is_empty() {
        assert!(running.0.wait().unwrap().success(), "{command}");
        stage.runtime.block_on(until(async || stage.board.count().ask().await.unwrap() > 0));
    }
    publishing.inspect(|publishing| publishing.abort());
}
