//! The scrollback of a terminal that wraps its rows anew.

use std::process::Command;

use crate::program::{Bench, until};

/// A tmux server of its own.
struct Tmux(String);

impl Tmux {
    fn run(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.0, "-f", "/dev/null"])
            .args(args)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-J", "-S", "-", "-E", "-"])
    }

    fn visible(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn every_line_is_in_the_scrollback_once_after_six_resizes() {
    let bench = Bench::new();
    let lines: Vec<String> = (0..200)
        .map(|number| format!("unique-{number:03} {}", "word ".repeat(number % 30)))
        .collect();
    let text = format!("```\\n{}\\n```\\n", lines.join("\\n"));
    bench.home(
        "script.toml",
        &format!("[[steps]]\ntext = \"{text}\"\nchunk_bytes = 50\n"),
    );
    let tmux = Tmux(format!("toolgate-test-{}", std::process::id()));
    let command = format!(
        "cd '{}' && TOOLGATE_HOME='{}' exec '{}' chat --script '{}'",
        bench.workspace().display(),
        bench.home_directory().display(),
        env!("CARGO_BIN_EXE_toolgate"),
        bench.home_directory().join("script.toml").display(),
    );
    tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", &command]);
    until("the chat begins", || {
        tmux.visible().contains("sandboxed") || tmux.visible().contains("refused")
    });
    tmux.run(&["send-keys", "go", "Enter"]);
    until("the answer is whole", || {
        let visible = tmux.visible();
        visible.contains("unique-199") && !visible.contains("working")
    });
    tmux.run(&[
        "send-keys",
        "a draft that is somewhat longer than forty columns of text",
    ]);
    until("the draft is shown", || {
        tmux.visible().contains("columns of text")
    });
    for (number, (columns, rows)) in [(40, 24), (120, 30), (33, 12), (140, 40), (60, 8), (80, 24)]
        .into_iter()
        .enumerate()
    {
        tmux.run(&[
            "resize-window",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
        // A key is drawn after the new size is.
        let mark = format!("{number}#");
        tmux.run(&["send-keys", "-l", &mark]);
        until("the frame after the resize", || {
            tmux.visible().replace('\n', "").contains(&mark)
        });
    }
    let screen = tmux.screen();
    for number in 0..200 {
        let line = format!("unique-{number:03}");
        assert_eq!(screen.matches(&line).count(), 1, "{line}\n{screen}");
    }
}
