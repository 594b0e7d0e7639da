//! The example of the lab's contract, run as it stands there.

use std::fs;
use std::io::Write;

use crate::process::run;
use crate::runs::{Peers, rows};

const CONTRACT: &str = include_str!("../../../../docs/lab-contract.md");

/// The code block of `language` that follows `after`.
fn block(after: &str, language: &str) -> &'static str {
    let begin = CONTRACT.find(after).expect("the contract has the example");
    let fence = format!("```{language}\n");
    let begin = begin + CONTRACT[begin..].find(&fence).expect("a block") + fence.len();
    let end = CONTRACT[begin..].find("```").expect("the block ends");
    &CONTRACT[begin..begin + end]
}

/// Needs python3: runs when `WIGWAG_OUTSIDE=1` is set, and then a missing one is a failure.
#[test]
fn the_contracts_example_is_a_participant() {
    let _alone = crate::alone();
    if std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1") {
        let peers = Peers::new("example");
        let folder = std::path::Path::new(peers.path()).join("mine");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("peer.toml"), block("`peer.toml`:", "toml")).unwrap();
        let program = block("`count.py`:", "python");
        fs::write(folder.join("count.py"), program).unwrap();
        let lines = program.lines().filter(|line| !line.is_empty()).count();
        assert!(lines <= 20, "{lines} lines");
        let words = ["lab", "--peers-folder", peers.path(), "run", "counter"];
        let said = run(words.into_iter().chain(["--peers", "raw,mine", "--quick", "--json", "-"]));
        assert_eq!(said.code, Some(0), "{said:?}");
        let rows = rows(&said.out);
        let mine = rows.iter().find(|row| row["participant"] == "mine").expect("its row");
        assert!(mine["verdict"] != "void" && mine["rate"]["median"].is_f64(), "{mine}");
        assert!(mine["verified"]["received"].as_u64().unwrap() > 0, "{mine}");
        assert_eq!(mine["verified"]["sent"], mine["verified"]["received"]);
        assert_eq!(mine["source_lines"], lines);
    } else {
        // The harness shows nothing of a test that passes but what is written past its macros.
        let told = writeln!(
            std::io::stdout(),
            "not run: set WIGWAG_OUTSIDE=1 to try the contract's example with python3"
        );
        told.expect("standard output");
    }
}
