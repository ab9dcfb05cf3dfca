//! The manual page and the completions that the program prints.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::run;

fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_manual_page_has_every_command_and_option() {
    let page = printed(&["man"]);
    for name in ["SERVE", "IMPORT", "STORE CHECK", "STORE BACKUP", "CONFIG CHECK", "STATUS"] {
        assert!(page.contains(&format!(".SH \"MILEPOST {name}\"")), "{name}");
    }
    let help = printed(&["serve", "--help"]);
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let options: Vec<_> = options.filter_map(|line| line.split(' ').next()).collect();
    assert!(options.len() > 30, "{options:?}");
    for option in options {
        assert!(page.contains(&format!("\\-\\-{}", option.replace('-', "\\-"))), "--{option}");
    }
}

#[test]
fn the_manual_page_is_valid_where_there_is_man() {
    let Ok(mut man) = Command::new("man")
        .args(["--warnings", "--local-file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
    else {
        return;
    };
    man.stdin.take().unwrap().write_all(printed(&["man"]).as_bytes()).unwrap();
    let output = man.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = printed(&["completions", shell]);
        for word in ["max-waiting", "backup", "compact"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(&["completions", "other"]).status.code(), Some(2));
}
