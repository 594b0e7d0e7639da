//! Programs of other implementations, and the addresses to meet them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use wigwag_net::NetErrorKind;

/// A peer that is silent for this long will not send anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const ALL: [&str; 4] = ["nanocat", "nngcat", "mangos", "pynng"];
/// The programs that have more than nanomsg: pair version 1, abstract names.
pub(crate) const NEWER: [&str; 3] = ["nngcat", "mangos", "pynng"];
/// Our own programs around their libraries, with options of our choice.
pub(crate) const OURS: [&str; 2] = ["mangos", "pynng"];
/// The folder of the Go module that has mangos.
pub(crate) const MANGOS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../net/tests/outside_sp/mangos");
const SCHEMES: [&str; 3] = ["tcp", "ipc", "ws"];

pub(crate) fn wanted() -> bool {
    let wanted = std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1");
    if !wanted {
        // The test harness hides output of passing tests unless it bypasses the print macros.
        let told = writeln!(
            std::io::stdout(),
            "not run: set WIGWAG_OUTSIDE=1 to talk to nanocat, nngcat, mangos and pynng"
        );
        told.expect("standard output");
    }
    wanted
}

/// Held for reading while a program starts. Until it has begun, its process has every descriptor of this
/// one, so a listener that is closed here meanwhile goes on accepting connections in the kernel.
static STARTS: RwLock<()> = RwLock::new(());

/// Starts a program of another test only before or after `work`.
pub(crate) fn between_starts<T>(work: impl FnOnce() -> T) -> T {
    let _none = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Starts a program. Every test of this binary does so here.
pub(crate) fn spawn(command: &mut Command) -> Child {
    let started = {
        let _start = STARTS.read().unwrap_or_else(PoisonError::into_inner);
        command.spawn()
    };
    let program = command.get_program().display();
    started.unwrap_or_else(|error| panic!("{program} cannot be started: {error}"))
}

/// A program that runs until it is dropped.
pub(crate) struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a program; `role` has no dashes; `connect` dials, otherwise the program listens.
    pub(crate) fn start(
        program: &str,
        role: &str,
        connect: bool,
        address: &str,
        more: &[&str],
    ) -> Peer {
        let patience = PATIENCE.as_secs().to_string();
        // push and pub receive nothing, and nanocat does not start with options for it.
        let receives: &[&str] = match role {
            "push" | "pub" => &[],
            _ if more.contains(&"--raw") => &["--recv-timeout", &patience],
            _ if OURS.contains(&program) => &[],
            _ => &["--quoted", "--recv-timeout", &patience],
        };
        let mut child = spawn(
            command(program)
                .arg(format!("--{role}"))
                .arg(if connect { "--connect" } else { "--bind" })
                .arg(address)
                .args(receives)
                .args(more)
                .stdout(Stdio::piped()),
        );
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Peer { child, lines }
    }

    /// The next message that the program has received.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        line.trim().trim_matches('"').to_owned()
    }

    /// The next `size` bytes that the program has printed, for programs that print messages as they
    /// are.
    pub(crate) fn bytes(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        self.lines.read_exact(&mut bytes).expect("as many bytes as were sent");
        bytes
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(program: &str) -> Command {
    match program {
        "mangos" => Command::new(mangos()),
        "pynng" => {
            let mut command = Command::new(python());
            command
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../net/tests/outside_sp/pynng/peer.py"));
            command
        }
        other => Command::new(other),
    }
}

/// The Python interpreter with pynng, where `cargo xtask test` installed it.
pub(crate) fn python() -> &'static str {
    let python = concat!(env!("CARGO_TARGET_TMPDIR"), "/pynng/bin/python");
    let there = std::path::Path::new(python).exists();
    assert!(there, "{python} is missing\n hint: cargo xtask test");
    python
}

/// The program for mangos, which is a Go library; built once.
fn mangos() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = concat!(env!("CARGO_TARGET_TMPDIR"), "/mangoscat");
        let mut build = Command::new("go");
        build.args(["build", "-o", program, "."]).current_dir(MANGOS).stderr(Stdio::piped());
        let built = spawn(&mut build).wait_with_output().expect("a child of this process");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "go build ended with {}: {said}", built.status);
        program.to_owned()
    })
}

/// A folder for the socket files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("wigwag-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a fresh folder");
        Folder(folder)
    }

    /// The address where our socket can listen.
    fn ours(&self, scheme: &str) -> String {
        match scheme {
            "ws" | "wss" => format!("{scheme}://127.0.0.1:0/sp"),
            "tcp" | "tls+tcp" => format!("{scheme}://127.0.0.1:0"),
            _ => format!("ipc://{}/ours", self.0.display()),
        }
    }

    /// The address where a program can listen: it cannot report its port, so it gets one that was
    /// free a moment ago, on a loopback address that no other test uses.
    fn theirs(&self, program: &str, scheme: &str) -> String {
        match scheme {
            "tcp" | "tls+tcp" | "ws" | "wss" => {
                let [.., high, low] = std::process::id().to_be_bytes();
                let host = Ipv4Addr::new(127, 64 | (high & 63), low, fresh() as u8);
                let probe = TcpListener::bind((host, 0)).expect("a free port");
                // nanomsg listens without a path.
                let path =
                    if scheme.starts_with("ws") && program != "nanocat" { "/sp" } else { "" };
                format!("{scheme}://{}{path}", probe.local_addr().expect("bound"))
            }
            _ => format!("ipc://{}/theirs", self.0.display()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Dials until the program has come up.
pub(crate) fn dial<T>(dial: impl Fn() -> Result<T, wigwag_net::NetError>) {
    for _ in 0..PATIENCE.as_millis() / 10 {
        match dial() {
            Ok(_) => return,
            // A program that begins may listen before it serves.
            Err(error)
                if matches!(
                    error.kind,
                    NetErrorKind::NobodyListens | NetErrorKind::Closed { .. }
                ) =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the program does not listen");
}

/// An unused name inside this process.
pub(crate) fn inproc() -> String {
    format!("inproc://outside-{}", fresh())
}

/// A number that no other test of this process has.
fn fresh() -> u32 {
    static USED: Mutex<u32> = Mutex::new(0);
    let mut used = USED.lock().expect("nothing panics under it");
    *used += 1;
    *used
}

/// Waits until a condition holds that no call can wait for.
#[track_caller]
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / 5 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("it has not come to hold within {PATIENCE:?}");
}

/// Runs `test` for each program and scheme with our address and theirs.
pub(crate) fn each(name: &str, programs: &[&str], test: impl Fn(&str, &str, &str)) {
    each_over(&SCHEMES, name, programs, test);
}

/// [`each`] over other schemes.
pub(crate) fn each_over(
    schemes: &[&str],
    name: &str,
    programs: &[&str],
    test: impl Fn(&str, &str, &str),
) {
    if !wanted() {
        return;
    }
    for program in programs {
        for scheme in schemes {
            eprintln!("{name}: {program} over {scheme}");
            let folder = Folder::new(&format!("{name}-{program}"));
            test(program, &folder.ours(scheme), &folder.theirs(program, scheme));
        }
    }
}
