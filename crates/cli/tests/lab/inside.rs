//! Actors within one process: slow ones, asks, rings, and very many.

use serde_json::Value;

use crate::process::run;
use crate::runs::{Peers, has_no_number, roles, rows};

/// Each cell is played by a peer of its own name, since a quick run has each peer once.
fn play(embedded: &str, cells: &[&str]) -> Vec<Value> {
    let peers = Peers::new(&format!("inside-{embedded}"));
    for cell in cells {
        let inside = format!("inside = [{cell:?}]\n");
        peers.add(&format!("{embedded}-{cell}"), &(inside + &roles(embedded, &["counter"])));
    }
    let names: Vec<String> = cells.iter().map(|cell| format!("{embedded}-{cell}")).collect();
    let folder = ["lab", "--peers-folder", peers.path(), "run", "counter", "--quick"];
    let names = names.join(",");
    let said = run(folder.into_iter().chain(["--runs", "1", "--peers", &names, "--json", "-"]));
    assert_eq!(said.code, Some(0), "{said:?}");
    rows(&said.out)
}

#[test]
fn wigwag_and_the_limit_do_every_cell_as_ordered() {
    let _alone = crate::alone();
    let of_wigwag = play("wigwag", &["slow", "ask", "bounce", "ring", "spawn", "actors"]);
    let of_raw = play("raw", &["slow", "ask", "bounce", "actors"]);
    let cells = |rows: &[Value]| -> Vec<String> {
        rows.iter().map(|row| row["cell"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(cells(&of_wigwag), ["slow", "local ask", "bounce", "ring", "spawn", "1000 actors"]);
    assert_eq!(cells(&of_raw), ["slow", "local ask", "bounce", "1000 actors"]);
    for row in of_wigwag.iter().chain(&of_raw) {
        assert!(row["rate"]["median"].as_f64() > Some(0.0), "{row}");
        assert_eq!(row["verified"]["sent"], row["verified"]["received"], "{row}");
        let asks_memory = ["slow", "spawn"].contains(&row["cell"].as_str().unwrap());
        assert_eq!(row["runs"][0]["grown_bytes"].is_u64(), asks_memory, "{row}");
    }
    // Twenty thousand actors cannot be had for nothing, and a bounded mailbox holds little.
    assert!(of_wigwag[4]["runs"][0]["grown_bytes"].as_u64() > Some(20_000 * 16), "{of_wigwag:?}");
    assert!(of_wigwag[0]["runs"][0]["grown_bytes"].as_u64() < Some(16 << 20), "{of_wigwag:?}");
}

/// A row of a longer run contains the reason why a participant is not in it.
#[test]
fn a_participant_without_a_workload_has_a_reason_in_its_row() {
    let _alone = crate::alone();
    let peers = Peers::new("lacks");
    let lacks = "[lacks]\nring = \"a ring is too long for it\"\n";
    peers.add("short", &(lacks.to_owned() + &roles("broken-crash", &["counter"])));
    let words = ["lab", "--peers-folder", peers.path(), "run", "counter", "--runs", "1"];
    let said = run(words.into_iter().chain(["--peers", "short", "--json", "-"]));
    let rows = rows(&said.out);
    let row = |cell: &str| rows.iter().find(|row| row["cell"] == cell).expect("a row");
    assert_eq!(row("ring")["verdict"], "absent");
    assert_eq!(row("ring")["reasons"][0], "a ring is too long for it");
    assert_eq!(row("spawn")["reasons"][0], "its programs know no CELL=spawn");
    assert_eq!(row("8 senders")["verdict"], "void");
    has_no_number(row("ring"));
}

#[test]
fn a_cell_of_counter_that_there_is_not_is_named() {
    let peers = Peers::new("no-such");
    peers.add("odd", &("inside = [\"rings\"]\n".to_owned() + &roles("raw", &["counter"])));
    let said = run(["lab", "--peers-folder", peers.path(), "run", "counter", "--peers", "raw"]
        .into_iter()
        .chain(["--quick", "--runs", "1"]));
    assert!(said.err.contains("counter has no cell \"rings\""), "{said:?}");
}
