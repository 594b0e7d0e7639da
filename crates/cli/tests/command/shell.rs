//! The help, the completions and the manual name every command.

use std::fs;

use crate::process::run;

/// Every command that `wigwag --help` names.
const COMMANDS: [&str; 25] = [
    "req",
    "rep",
    "pub",
    "sub",
    "push",
    "pull",
    "survey",
    "respond",
    "pair",
    "bus",
    "star",
    "device",
    "bench",
    "demo",
    "lab",
    "ask",
    "tell",
    "describe",
    "top",
    "metrics",
    "cert",
    "key",
    "completions",
    "man",
    "help",
];

#[test]
fn the_first_screen_names_every_command_and_no_other() {
    let help = run(["--help"]).out;
    let from = help.find("Sockets").expect("the table of commands");
    let table = &help[from..help.find("\nOptions").expect("the end of it")];
    for command in COMMANDS {
        let named = table.split([' ', ',', '\n']).any(|word| word == command);
        assert!(named, "{command} is missing in: {help}");
    }
    // The completion script is generated from the parser, so it contains every new command.
    let script = run(["completions", "fish"]).out;
    let mut known: Vec<&str> = script
        .lines()
        .filter(|line| line.contains("__fish_wigwag_needs_command"))
        .filter_map(|line| line.split(" -a \"").nth(1)?.split('"').next())
        .collect();
    known.retain(|name| !["lab-participant", "complete-call"].contains(name));
    known.sort_unstable();
    let mut commands = COMMANDS.to_vec();
    commands.sort_unstable();
    assert_eq!(known, commands);
}

#[test]
fn every_socket_command_has_examples() {
    for command in &COMMANDS[..13] {
        let help = run([command, "--help"]);
        assert_eq!(help.code, Some(0));
        let example = format!("  wigwag {command} ");
        let shown =
            help.out.lines().any(|line| line.contains(&example[2..]) && line.starts_with("  "));
        assert!(shown && help.out.contains("Examples:"), "{command}: {}", help.out);
    }
}

#[test]
fn completions_are_generated_for_each_shell() {
    for (shell, sign) in [
        ("bash", "complete -F _wigwag_call"),
        ("zsh", "#compdef wigwag"),
        ("fish", "complete -c wigwag"),
        ("elvish", "edit:completion:arg-completer[wigwag]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let said = run(["completions", shell]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
        assert!(said.out.contains(sign) && said.out.contains("respond"), "{shell}");
    }
    assert_eq!(run(["completions", "tcsh"]).code, Some(2));
}

#[test]
fn the_manual_is_printed_or_written_page_by_page() {
    let page = run(["man"]);
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""));
    assert!(page.out.contains(".TH wigwag 1"), "{}", page.out);
    let folder = std::env::temp_dir().join(format!("wigwag-man-{}", std::process::id()));
    let said = run(["man", "--out", folder.to_str().expect("a plain name")]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = fs::read_to_string(folder.join("wigwag-rep.1")).unwrap();
    assert!(text.contains("exec") && text.contains("Answer requests"), "{text}");
    fs::remove_dir_all(&folder).unwrap();
    let refused = run(["man", "--out", "/proc/no/such"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("hint: "), "{refused:?}");
}
