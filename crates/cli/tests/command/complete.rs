//! Completion of the names that a running node knows, by bash itself.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::Serving;

/// The folder of the command.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_wigwag")).parent().expect("it is in a folder")
}

/// The words that bash offers for a line whose end is the cursor.
///
/// Bash splits the words of a line at blanks, `:` and `=`, where those signs are words too; the
/// function that the script registers gets the last word as its second argument.
fn offered(line: &str) -> Vec<String> {
    let folder = folder();
    let program = r#"
        PATH="$FOLDER:$PATH"
        source <(wigwag completions bash) || exit 1
        registered=$(complete -p wigwag) || exit 1
        [[ $registered =~ -F\ ([a-z_]+) ]] || exit 1
        COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_TYPE=9
        COMP_WORDS=() word=
        for ((at = 0; at < ${#LINE}; at++)); do
            sign=${LINE:at:1}
            case $sign in
                ' ') [[ -n $word ]] && COMP_WORDS+=("$word"); word= ;;
                :|=) [[ -n $word ]] && COMP_WORDS+=("$word"); COMP_WORDS+=("$sign"); word= ;;
                *) word+=$sign ;;
            esac
        done
        COMP_WORDS+=("$word") COMP_CWORD=${#COMP_WORDS[@]}-1
        "${BASH_REMATCH[1]}" wigwag "$word" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "--noprofile", "-c", program])
        .env("FOLDER", folder)
        .env("LINE", line)
        .output()
        .expect("bash is on every system that this runs on");
    let text = |bytes| String::from_utf8(bytes).expect("names are UTF-8");
    assert_eq!(text(output.stderr), "", "{line}");
    assert!(output.status.success(), "{line}");
    text(output.stdout).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_completes_actors_methods_and_names_of_arguments() {
    let serving = Serving::start();
    let (sum, counter) = (serving.actor("sum"), serving.actor("counter"));
    let port = serving.address.rsplit_once(':').unwrap().1;
    let cases = [
        // Bash replaces what is behind the last colon only.
        (
            format!("wigwag ask {}/", serving.address),
            vec![format!("{port}/counter"), format!("{port}/sum")],
        ),
        (format!("wigwag describe --json {}/s", serving.address), vec![format!("{port}/sum")]),
        (
            format!("wigwag ask {counter} "),
            vec!["count".into(), "get_and_reset".into(), "verify_and_reset".into()],
        ),
        (format!("wigwag tell --deadline 1s {counter} g"), vec!["get_and_reset".into()]),
        (format!("wigwag ask {sum} add "), vec!["a=".into(), "b=".into()]),
        (format!("wigwag ask {sum} add a=2 "), vec!["b=".into()]),
        (format!("wigwag tell {counter} count am"), vec!["amount=".into()]),
        (format!("wigwag ask {sum} add 2 "), vec![]),
        (format!("wigwag ask {sum} add a=2"), vec![]),
    ];
    for (line, expected) in cases {
        let mut names = offered(&line);
        // Where there are no names, the options of the command may follow.
        names.retain(|name| !name.starts_with('-'));
        assert_eq!(names, expected, "{line}");
    }
}

#[test]
fn fish_completes_the_same_names() {
    if !std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1") {
        let written = writeln!(std::io::stdout(), "not run: set WIGWAG_OUTSIDE=1 to start fish");
        return written.expect("standard output");
    }
    let serving = Serving::start();
    let (node, sum) = (&serving.address, serving.actor("sum"));
    for (line, expected) in [
        (format!("wigwag ask {node}/"), vec![serving.actor("counter"), sum.clone()]),
        (format!("wigwag ask {node}/c"), vec![serving.actor("counter")]),
        (format!("wigwag ask {sum} "), vec!["add".into()]),
        (format!("wigwag ask {sum} add a=2 "), vec!["b=".into()]),
        ("wigwag describ".into(), vec!["describe".into()]),
    ] {
        let program = "set PATH $FOLDER $PATH; wigwag completions fish | source; complete -C $LINE";
        let output = Command::new("fish")
            .args(["--no-config", "-c", program])
            .env("FOLDER", folder())
            .env("LINE", &line)
            .output()
            .expect("`cargo xtask test` installs fish");
        let text = String::from_utf8(output.stdout).unwrap();
        // The help of a command follows a tab.
        let names: Vec<_> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names, expected, "{line}");
    }
}

#[test]
fn other_words_are_completed_as_before() {
    assert_eq!(offered("wigwag describ"), ["describe"]);
    let options = offered("wigwag ask --dead");
    assert_eq!(options, ["--deadline"]);
}

/// A node that does not answer, or is not there, costs at most the time that a person hardly notices.
#[test]
fn a_node_that_does_not_answer_offers_nothing_and_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || stream.read_to_end(&mut Vec::new()));
        }
    });
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for place in [silent, gone] {
        for line in
            [format!("wigwag ask tcp://{place}/sum a"), format!("wigwag ask tcp://{place}/")]
        {
            let begun = Instant::now();
            let names = offered(&line).into_iter().find(|name| !name.starts_with('-'));
            assert_eq!(names, None, "{line}");
            // The limit is 300 ms; this only tells it from the 5 s of a call.
            assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        }
    }
}
