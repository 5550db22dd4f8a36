//! Names that other programs run, and harmless names like them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use std::path::Path;

use place::{METHODS, Place, options, read};
use proptest::prelude::*;
use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::paths::{PathError, PathSandbox};

/// Protected against file tools and commands.
const EXECUTED: &[&str] = &[
    // Version control and hooks.
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".jj/repo/config-id",
    ".jj/workspace-config.toml",
    ".sl/config",
    "_darcs/prefs/defaults",
    ".git/info/attributes",
    ".git/modules/dep/info/attributes",
    ".git/worktrees/w/gitdir",
    ".git/modules/dep/hooks/post-checkout",
    ".gitconfig.local",
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".githooks/pre-push",
    "lefthook.yml",
    "lefthook.toml",
    ".lefthook.json",
    "lefthook-local.yml",
    ".lefthook/pre-commit/run.sh",
    ".config/lefthook.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".pre-commit-hooks.yaml",
    ".overcommit.yml",
    "CVS/Root",
    ".lintstagedrc.json",
    "lint-staged.config.mjs",
    ".cargo-husky/hooks/pre-commit",
    "hk.pkl",
    ".trunk/trunk.yaml",
    "sitecustomize/__init__.py",
    "sitecustomize.pyc",
    "sitecustomize.cpython-311-x86_64-linux-gnu.so",
    "sitecustomize.so",
    "__pycache__/usercustomize.cpython-312.pyc",
    "usercustomize/x.py",
    ".RData",
    "rust-toolchain.toml",
    "sub/rust-toolchain",
    ".prototools",
    ".shadowenv.d/500.lisp",
    ".miserc.toml",
    "rust-analyzer.toml",
    ".neoconf.json",
    "src/.ccls",
    "startup.m",
    "maxima-init.mac",
    ".sage/init.sage",
    ".juliarc.jl",
    ".latexmkrc",
    "latexmkrc",
    "tools/bazel",
    ".claude.json",
    ".tmuxp.yaml",
    ".tmate.conf",
    ".wezterm.lua",
    ".elvish/rc.elv",
    ".envrc.local",
    // Editors.
    ".theia/tasks.json",
    ".emacs.desktop",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".zed/tasks.json",
    ".helix/languages.toml",
    "project.code-workspace",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".vimrc",
    ".gvimrc",
    ".vim/plugin/x.vim",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".emacs",
    ".emacs.d/init.el",
    // Agents.
    ".codex/config.toml",
    ".gemini/settings.json",
    ".opencode/plugin/x.ts",
    "opencode.json",
    "opencode.jsonc",
    ".windsurf/hooks.json",
    ".continue/config.yaml",
    ".aider.conf.yml",
    ".roo/mcp.json",
    ".kiro/hooks/x.json",
    ".amazonq/mcp.json",
    ".clinerules/hooks/x",
    ".qwen/settings.json",
    // Package managers and tools.
    ".cargo/config",
    ".cargo/config.toml",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn-4.cjs",
    ".yarn/plugins/x.cjs",
    ".pnpmfile.cjs",
    ".mvn/jvm.config",
    ".mvn/extensions.xml",
    ".mise.toml",
    "mise.toml",
    "mise.local.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
    ".envrc",
    ".direnv/bin/x",
    "pip.conf",
    ".pip/pip.conf",
    ".pydistutils.cfg",
    ".gemrc",
    ".bundle/config",
    ".gradle/init.d/x.gradle",
    // Interpreters.
    ".Rprofile",
    ".Renviron",
    ".ghci",
    ".irbrc",
    ".pryrc",
    ".gdbinit",
    ".lldbinit",
    ".lldbinit-Xcode",
    ".inputrc",
    ".tmux.conf",
    ".screenrc",
    "sitecustomize.py",
    "usercustomize.py",
    ".pythonrc.py",
    ".iex.exs",
    ".ocamlinit",
    ".sqliterc",
    ".psqlrc",
    ".curlrc",
    ".wgetrc",
    // Shells and logins.
    ".zlogin",
    ".bash_aliases",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".pam_environment",
    ".config/systemd/user/x.service",
    ".config/autostart/x.desktop",
    ".config/environment.d/x.conf",
    ".config/nvim/init.lua",
    ".config/tmux/tmux.conf",
    ".config/zsh/.zshrc",
    ".config/husky/init.sh",
    ".local/bin/ls",
    ".local/share/applications/x.desktop",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    // Editors, agents and desktops of single vendors.
    ".bsp/scala.json",
    ".github/hooks/pre-tool.json",
    ".replit",
    ".stackblitzrc",
    "devfile.yaml",
    ".devfile.yaml",
    ".vibe/config.toml",
    ".grok/settings.json",
    ".pi/extensions/x.ts",
    ".antigravity/x",
    ".config/doom/init.el",
    ".config/lvim/config.lua",
    ".config/nvim-lazy/init.lua",
    ".config/Code - Insiders/User/settings.json",
    ".config/Windsurf/User/settings.json",
    ".config/amp/settings.json",
    ".config/github-copilot/mcp.json",
    ".config/hg/hgrc",
    ".config/irb/irbrc",
    ".config/pry/pryrc",
    ".config/sqlite3/sqliterc",
    ".config/ptpython/config.py",
    ".config/bat/config",
    ".config/labwc/autostart",
    ".config/lxsession/LXDE/autostart",
    ".config/yt-dlp/config",
    ".lite_project.lua",
    ".externalToolBuilders/x.launch",
    ".vnc/xstartup",
    ".fluxbox/startup",
    ".xscreensaver",
    ".asoundrc",
    ".local/share/gnome-shell/extensions/x/extension.js",
    ".local/share/jupyter/kernels/x/kernel.json",
    // Tools and what they put in the way of others.
    ".psysh.php",
    "bunfig.toml",
    ".mavenrc",
    ".antrc",
    ".rpmmacros",
    ".quiltrc",
    ".makepkg.conf",
    ".asdf/shims/x",
    ".nvm/nvm.sh",
    ".pyenv/shims/x",
    ".rbenv/shims/x",
    ".volta/bin/x",
    ".bun/bin/x",
    ".dotnet/tools/x",
];

/// Denied to file tools, and kept from commands that would plant them.
const DENIED_AND_OBEYED: &[&str] = &[
    ".npmrc",
    "app/.npmrc",
    ".ssh/config",
    ".ssh/rc",
    ".gnupg/gpg.conf",
    ".aws/config",
    ".kube/config",
    ".docker/config.json",
    "a/.docker/config.json",
];

/// Protected against file tools only.
const WRITTEN_BY_PROGRAMS: &[&str] = &[
    ".git/rebase-merge/git-rebase-todo",
    ".git/worktrees/w/rebase-merge/git-rebase-todo",
    ".git/rebase-apply/next",
    ".git/sequencer/todo",
    ".venv/lib/python3.12/site-packages/x.pth",
    "lib/python3/dist-packages/x.pth",
    ".venv/bin/activate",
    "env/bin/activate.fish",
    ".venv/pyvenv.cfg",
    "node_modules/.bin/eslint",
];

/// Files that a project changes every day.
const ORDINARY: &[&str] = &[
    "Makefile",
    "package.json",
    "build.rs",
    "conftest.py",
    "Cargo.toml",
    "setup.py",
    "pyproject.toml",
    "flake.nix",
    "src/.cargo.rs",
    ".cargo/registry/index",
    ".tool-versions",
    ".editorconfig",
    ".eslintrc.json",
    ".prettierrc",
    ".perltidyrc",
    ".rspec",
    ".gitignore",
    ".gitattributes",
    ".git/info/exclude",
    ".github/workflows/ci.yml",
    ".pylintrc",
    "ansible.cfg",
    ".jvmopts",
    "env/bin/python",
    "src/hooks/replit.ts",
    ".docker/Dockerfile",
    ".pyenv/version",
    ".dotnet/README",
    "docs/.config/batman",
    "bun.lock",
    ".config/nextest.toml",
    ".yarn/cache/x.zip",
    ".node_repl_history",
    "weights/model.pth",
    "checkpoints/lib/model.pth",
    "hooks/useState.ts",
    "vim/README.md",
    "docs/mise.md",
    "src/lefthook.rs",
    "local/bin/run",
    "bin/deploy",
    "venv.md",
    "AGENTS.md",
    "sitecustomize.md",
    "docs/usercustomize.rst",
    "tools/bazel.md",
    "src/startup.rs",
    ".envrc.example",
];

fn refused(answer: Result<impl Sized, PathError>, path: &str) {
    match answer {
        Ok(_) => panic!("{path} is written"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ProtectedPath, "{path}: {error}"),
    }
}

fn check(sandbox: &PathSandbox, path: &str) {
    refused(sandbox.preflight(path, Access::Write), path);
    refused(sandbox.preflight(path, Access::Delete), path);
    refused(sandbox.stage(path, options(true)), path);
    refused(sandbox.rename("plain.txt", path, true), path);
}

#[test]
fn names_that_other_programs_run_are_protected_existing_or_not() {
    for method in METHODS {
        for existing in [false, true] {
            let place = Place::in_memory();
            place.make("file plain.txt");
            let sandbox = place.sandbox(method);
            for path in EXECUTED.iter().chain(WRITTEN_BY_PROGRAMS) {
                for path in [(*path).to_owned(), format!("a/b/{path}")] {
                    if existing {
                        place.make(&format!("file {path}"));
                        assert!(read(&sandbox, &path).is_ok(), "{path} is not read");
                    }
                    check(&sandbox, &path);
                }
            }
        }
    }
}

#[test]
fn commands_may_change_only_names_that_programs_write_themselves() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let rule = |path: &str| sandbox.protected_by(0, Path::new(path));
    for path in EXECUTED.iter().chain(DENIED_AND_OBEYED) {
        assert!(rule(path).is_some(), "{path}");
    }
    for path in WRITTEN_BY_PROGRAMS.iter().chain(ORDINARY) {
        assert_eq!(rule(path), None, "{path}");
    }
}

#[test]
fn everyday_project_files_are_not_protected() {
    for method in METHODS {
        let place = Place::in_memory();
        let sandbox = place.sandbox(method);
        for path in ORDINARY {
            place::write(&sandbox, path, true).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
}

#[test]
fn denied_names_stay_denied_where_they_are_protected_as_well() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    for path in DENIED_AND_OBEYED {
        for access in [Access::Read, Access::Write] {
            let error = sandbox.preflight(path, access).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DeniedPattern, "{path}");
        }
    }
}

#[test]
fn files_of_credentials_are_denied() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    for path in [
        ".my.cnf",
        ".mylogin.cnf",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".config/gh/hosts.yml",
        ".config/rclone/rclone.conf",
        ".vault-token",
        ".htpasswd",
    ] {
        place.make(&format!("file {path}"));
        let error = read(&sandbox, path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeniedPattern, "{path}");
    }
    place.make("file .config/gh/config.yml");
    assert!(read(&sandbox, ".config/gh/config.yml").is_ok());
}

#[test]
fn programs_of_a_virtual_environment_are_known_by_its_configuration() {
    for method in METHODS {
        let place = Place::new();
        let sandbox = place.sandbox(method);
        for path in ["env/bin/pip", "env/Scripts/pip.exe", "a/my env/bin/x/y"] {
            assert!(sandbox.preflight(path, Access::Write).is_ok(), "{path}");
            assert!(sandbox.stage(path, options(true)).is_ok(), "{path}");
        }
        place.make("file env/pyvenv.cfg");
        place.make("file a/my env/pyvenv.cfg");
        for path in [
            "env/bin/pip",
            "env/BIN/pip",
            "env/Scripts/pip.exe",
            "a/my env/bin/x/y",
        ] {
            refused(sandbox.stage(path, options(true)), path);
        }
        let ordinary = sandbox.stage("env/share/doc", options(true));
        assert!(ordinary.is_ok());
    }
}

#[test]
fn a_workspace_inside_a_known_directory_has_its_rules() {
    for method in METHODS {
        for (workspace, denied, protected, free) in [
            (".config", "gh/hosts.yml", "nvim/init.lua", "notes/init.lua"),
            (".m2", "settings.xml", ".bashrc", "repository/settings.xml"),
            (
                ".git/modules/dep",
                "config",
                "hooks/pre-commit",
                "description",
            ),
        ] {
            let place = Place::new();
            let root = place.out().join(workspace);
            std::fs::create_dir_all(&root).unwrap();
            for path in [denied, protected, free] {
                std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
                std::fs::write(root.join(path), "x").unwrap();
            }
            let rules = toolgate_sandbox::PathRules::new(&root);
            let sandbox = PathSandbox::open_with(&rules, method).unwrap();
            let kind = |path: &str, access| {
                let looked = sandbox.preflight(path, access).map(drop);
                looked.map_err(|error| error.kind())
            };
            let found = read(&sandbox, denied)
                .map(drop)
                .map_err(|error| error.kind());
            assert_eq!(found, Err(ErrorKind::DeniedPattern), "{workspace}/{denied}");
            let found = kind(protected, Access::Write);
            assert_eq!(
                found,
                Err(ErrorKind::ProtectedPath),
                "{workspace}/{protected}"
            );
            assert_eq!(kind(free, Access::Write), Ok(()), "{workspace}/{free}");
        }
    }
}

/// Spellings that some file system takes for the same name.
fn spelled(path: &str, how: u8, at: usize) -> String {
    match how {
        0 => path.to_uppercase(),
        1 => {
            let mut letters: Vec<char> = path.chars().collect();
            letters.insert(at % (letters.len() + 1), '\u{200c}');
            letters.into_iter().collect()
        }
        2 => format!("{path}."),
        3 => format!("{path}::$DATA"),
        _ => path.replace('/', "\\"),
    }
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn no_spelling_and_no_depth_opens_a_protected_name(
        path in prop::sample::select(EXECUTED.to_vec()),
        how in 0_u8..5,
        at in 0_usize..40,
        above in "([a-z]{1,4}/){0,3}",
        below in "(/[a-z]{1,4}){0,2}",
    ) {
        let place = Place::in_memory();
        let sandbox = place.sandbox(METHODS[0]);
        let path = format!("{above}{}{below}", spelled(path, how, at));
        let refused = sandbox.preflight(&path, Access::Write).map(drop);
        prop_assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::ProtectedPath), "{}", path);
    }
}

#[test]
fn hooks_that_the_users_own_configuration_names_are_protected() {
    let directory = tempfile::tempdir().unwrap();
    let (home, root) = (directory.path().join("home"), directory.path().join("ws"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(root.join(".git/objects")).unwrap();
    std::fs::write(
        home.join(".gitconfig"),
        "[core]\n\thooksPath = tools/hk\n[include]\n\tpath = more.inc\n",
    )
    .unwrap();
    std::fs::write(home.join("more.inc"), "[alias]\n\tup = !./up.sh\n").unwrap();
    let protected = |home: Option<&Path>| {
        let mut rules = toolgate_sandbox::paths::PathRules::new(&root);
        rules.home = home.map(Path::to_path_buf);
        let sandbox = PathSandbox::open(&rules).unwrap();
        ["tools/hk/pre-commit", "up.sh", "tools/other", "down.sh"].map(|path| {
            let looked = sandbox.preflight(path, Access::Write);
            matches!(looked, Err(PathError::Protected { .. }))
        })
    };
    assert_eq!(protected(Some(&home)), [true, true, false, false]);
    assert_eq!(protected(None), [false; 4]);
}
