//! Files: read, written, and followed while they grow.

use std::io::Write;
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;
use wigwag::io::{self, End, Limits};
use wigwag::lifecycle::Alive;

use super::recorder::{Heard, RecorderRef, expect_silence, line, next, recorder};
use super::{LONG, alone, descriptors, until};

/// A temporary folder, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("wigwag-io-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn lines_written_to_a_file_are_read_from_it() {
    let _alone = alone().await;
    let folder = Folder::new("written");
    let path = folder.file("log");
    let (actor, mut heard) = recorder(false);
    let missing = io::open(&path).await.unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    for file in [io::create(&path).await.unwrap(), io::append(&path).await.unwrap()] {
        let output = io::write_to(file).owned_by(&actor).unwrap();
        for number in 0..1000 {
            output.write(format!("{number}\n")).await.unwrap();
        }
        output.close();
        assert_eq!(tokio::time::timeout(LONG, output.ended()).await.unwrap(), End::Stopped);
    }
    let file = io::open(&path).await.unwrap();
    let _input = io::lines_of(file).deliver(&actor, RecorderRef::line).unwrap();
    for number in (0..1000).chain(0..1000) {
        assert_eq!(next(&mut heard).await, Heard::Line(number.to_string()));
    }
    assert_eq!(next(&mut heard).await, Heard::End(End::Closed));
}

/// A thread that waits for nothing writes the lines in pieces that end anywhere.
#[tokio::test]
async fn a_file_is_followed_while_it_grows() {
    const LINES: u32 = 10_000;
    let _alone = alone().await;
    let folder = Folder::new("grows");
    let path = folder.file("log");
    let mut file = std::fs::File::create(&path).unwrap();
    let (actor, mut heard) = recorder(false);
    let input = io::follow(&path).deliver(&actor, RecorderRef::followed).unwrap();
    let writes = std::thread::spawn(move || {
        let text: String = (0..LINES).map(|number| format!("line {number}\n")).collect();
        let mut rest = text.as_bytes();
        for size in [1, 7, 64, 3, 501].into_iter().cycle() {
            let (piece, left) = rest.split_at(size.min(rest.len()));
            file.write_all(piece).unwrap();
            rest = left;
            if rest.is_empty() {
                return;
            }
        }
    });
    for number in 0..LINES {
        assert_eq!(next(&mut heard).await, Heard::Line(format!("line {number}")));
    }
    writes.join().unwrap();
    expect_silence(&mut heard).await;
    input.close();
    assert_eq!(next(&mut heard).await, Heard::End(End::Stopped));
    until("file and watch are closed", || descriptors() + open_files(&path) == 0).await;
}

async fn write(path: &PathBuf, text: &str) {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

async fn expect(heard: &mut UnboundedReceiver<Heard>, all: impl IntoIterator<Item = Heard>) {
    for expected in all {
        assert_eq!(next(heard).await, expected);
    }
}

#[tokio::test]
async fn a_followed_file_may_be_truncated_replaced_and_deleted() {
    let _alone = alone().await;
    let folder = Folder::new("changes");
    let path = folder.file("log");
    write(&path, "old\n").await;
    let (actor, mut heard) = recorder(false);
    let limits = Limits::default().line_bytes_max(16);
    let follow = io::follow(&path).limits(limits).from_end();
    let _input = follow.deliver(&actor, RecorderRef::followed).unwrap();
    // The file is opened at its end and earlier writes are skipped, so wait until it is open.
    until("it is open at its end", || read_position(&path) == Some(4)).await;
    write(&path, "one\nbegun").await;
    expect(&mut heard, [line("one")]).await;
    until("the line that was begun is read", || read_position(&path) == Some(13)).await;
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    expect(&mut heard, [Heard::Part("begun".into()), Heard::Truncated(13)]).await;
    write(&path, "new\n").await;
    expect(&mut heard, [line("new")]).await;
    write(&path, &format!("{}\ntwo\n", "x".repeat(100_000))).await;
    expect(&mut heard, [Heard::TooLong, line("two")]).await;

    std::fs::rename(&path, folder.file("log.1")).unwrap();
    write(&folder.file("log.1"), "last of the old\n").await;
    write(&path, "first of the new\n").await;
    expect(&mut heard, [line("last of the old"), Heard::Replaced]).await;
    expect(&mut heard, [line("first of the new")]).await;

    std::fs::remove_file(&path).unwrap();
    expect_silence(&mut heard).await;
    write(&path, "again\n").await;
    expect(&mut heard, [Heard::Replaced, line("again")]).await;

    let handle = actor.handle().unwrap();
    handle.kill();
    until("it is closed", || open_files(&path) == 0).await;
}

#[tokio::test]
async fn a_file_that_is_not_there_is_an_end() {
    let _alone = alone().await;
    let folder = Folder::new("missing");
    let (actor, mut heard) = recorder(false);
    let follow = io::follow(folder.file("nothing"));
    let _input = follow.deliver(&actor, RecorderRef::followed).unwrap();
    let Heard::End(End::Failed { kind, .. }) = next(&mut heard).await else { panic!("no error") };
    assert_eq!(kind, std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_slow_actor_is_not_read_ahead_of() {
    let _alone = alone().await;
    let folder = Folder::new("slow");
    let path = folder.file("log");
    write(&path, &"line\n".repeat(10_000)).await;
    let (actor, mut heard) = recorder(false);
    let limits = Limits::default().granted_by_hand();
    let follow = io::follow(&path).limits(limits);
    let input = follow.deliver(&actor, RecorderRef::followed).unwrap();
    for _ in 0..3 {
        input.grant(5);
        for _ in 0..5 {
            assert_eq!(next(&mut heard).await, line("line"));
        }
        expect_silence(&mut heard).await;
    }
}

/// How many descriptors of this process refer to a file.
fn open_files(path: &PathBuf) -> usize {
    descriptors_of(path).count()
}

/// The read position of this process in a file that it has open once.
fn read_position(path: &PathBuf) -> Option<u64> {
    let descriptor = descriptors_of(path).next()?;
    let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    told.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()
}

fn descriptors_of(path: &PathBuf) -> impl Iterator<Item = String> {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    let opened = all
        .filter_map(|one| one.ok())
        .filter(move |one| std::fs::read_link(one.path()).is_ok_and(|link| link == *path));
    opened.map(|one| one.file_name().to_string_lossy().into_owned())
}
