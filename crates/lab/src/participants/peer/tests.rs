use super::*;
use std::time::SystemTime;

#[test]
fn a_name_with_a_typing_error_is_recognised() {
    let names = ["counter", "remote", "pingpong"];
    assert_eq!(near("conter", names), ["counter"]);
    assert_eq!(near("ping", names), ["pingpong"]);
    assert_eq!(near("zzz", names), [""; 0]);
    assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (3, 3));
}

fn folder(test: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wigwag-{test}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("peer.toml"), text).unwrap();
    folder
}

#[test]
fn a_peer_that_is_not_set_up_says_what_mends_that() {
    let folder = folder(
        "missing",
        r#"
        name = "go"
        language = "Go"
        license = "BSD-3-Clause"
        setup = [["go", "build"]]
        installed = "build/go"
        sources = ["peer.toml"]
        [role]
        counter = ["build/go", "counter"]
        "#,
    );
    let peer = Peer::read(&folder).unwrap();
    let missing = peer.missing().unwrap();
    assert_eq!(missing, "build/go is not there: wigwag lab setup go (runs: go build)");
    assert!(peer.ordered && !peer.known_bad);
    assert_eq!(peer.cells, REMOTE_CELLS_AT_LEAST);
    assert_eq!(peer.source_lines(), Some(8));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_peer_whose_sources_were_changed_must_be_set_up_again() {
    let folder = folder(
        "stale",
        r#"
        name = "go"
        language = "Go"
        license = "BSD-3-Clause"
        setup = [["go", "build"]]
        installed = "program"
        sources = ["main.go"]
        [role]
        counter = ["./program", "counter"]
        "#,
    );
    for file in ["main.go", "program"] {
        fs::write(folder.join(file), "").unwrap();
    }
    let peer = Peer::read(&folder).unwrap();
    let set = |file: &str, seconds| {
        let file = fs::File::options().write(true).open(folder.join(file)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    set("main.go", 1_000);
    set("program", 1_001);
    assert_eq!(peer.missing(), None);
    set("main.go", 1_002);
    let missing = peer.missing().unwrap();
    let due = "program is older than main.go: wigwag lab setup go (runs: go build)";
    assert_eq!(missing, due);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_bad_file_is_named_with_what_is_wrong() {
    let folder = folder(
        "bad",
        "name = \"x\"\nlanguage = \"C\"\nlicense = \"MIT\"\n[role]\nconter = [\"a\"]\n",
    );
    let error = Peer::read(&folder).unwrap_err().to_string();
    assert!(error.contains("no role \"conter\"") && error.contains("counter"), "{error}");
    let cells = "cells = [\"tell\", \"shout\"]\n[role]\n";
    let text = format!("name = \"x\"\nlanguage = \"C\"\nlicense = \"MIT\"\n{cells}");
    fs::write(folder.join("peer.toml"), text).unwrap();
    let error = Peer::read(&folder).unwrap_err().to_string();
    assert!(error.contains("no cell \"shout\"") && error.contains("naive-ask"), "{error}");
    let sockets = "sp = [\"push\", \"bus\"]\n[lacks]\nthreads = \"none\"\n[role]\n";
    let text = format!("name = \"x\"\nlanguage = \"C\"\nlicense = \"MIT\"\n{sockets}");
    fs::write(folder.join("peer.toml"), &text).unwrap();
    let error = Peer::read(&folder).unwrap_err().to_string();
    assert!(error.contains("no cell \"bus\"") && error.contains("pair"), "{error}");
    fs::write(folder.join("peer.toml"), text.replace("bus", "pair")).unwrap();
    let peer = Peer::read(&folder).unwrap();
    assert!(peer.sp == ["push", "pair"] && peer.lacks["threads"] == "none");
    fs::write(folder.join("peer.toml"), "name = 3").unwrap();
    assert!(matches!(Peer::read(&folder), Err(PeerError::BadFile(..))));
    fs::remove_dir_all(folder).unwrap();
}
