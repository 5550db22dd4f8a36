//! Variables that change what later commands do.
//!
//! As data: a name, or a name that ends in `*` for every name that starts so.
//! The list of exceptions is looked at first.

/// Names that fall under a pattern below and still only change how output looks or where it goes.
const HARMLESS: &[&str] = &[
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_PROFILE_*",
    "CARGO_TARGET_DIR",
    "CARGO_TERM_*",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "CGO_ENABLED",
    "DOCKER_BUILDKIT",
    "DOCKER_DEFAULT_PLATFORM",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "NPM_CONFIG_LOGLEVEL",
    "npm_config_loglevel",
    "PIP_NO_INPUT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_CACHE_DIR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
];

/// Names that choose programs, code, libraries, configuration or words.
const POWERFUL: &[&str] = &[
    // The shell itself.
    "BASH*",
    "CDPATH",
    "ENV",
    "EXECIGNORE",
    "FPATH",
    "FUNCNEST",
    "GLOBIGNORE",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "MAILPATH",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PATH",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "ZDOTDIR",
    // The loader and the C library.
    "DYLD_*",
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOSTALIASES",
    "LD_*",
    "LOCALDOMAIN",
    "LOCPATH",
    "MALLOC_*",
    "NLSPATH",
    "OPENSSL_*",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "SSLKEYLOGFILE",
    "SSL_CERT_*",
    "TERMCAP",
    "TERMINFO*",
    // Programs that other programs start.
    "ALTERNATE_EDITOR",
    "ASKPASS",
    "BROWSER",
    "CVS_RSH",
    "CVSEDITOR",
    "DIFFTOOL",
    "EDITOR",
    "FCEDIT",
    "LESS",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSKEY*",
    "LESSOPEN",
    "LYNX_*",
    "MAILER",
    "MANOPT",
    "MANPAGER",
    "MORE",
    "PAGER",
    "RSYNC_*",
    "SSH_*",
    "SUDO_*",
    "SVN_*",
    "SYSTEMD_*",
    "VISUAL",
    "VIMINIT",
    "EXINIT",
    "NVIM*",
    "VIM*",
    "XAUTHORITY",
    // Options that programs read from the environment.
    "ACK_*",
    "AG_*",
    "BAT_*",
    "BC_ENV_ARGS",
    "BZIP*",
    "CURL_*",
    "FZF_*",
    "GREP_*",
    "GZIP",
    "GIT_*",
    "HGRCPATH",
    "RIPGREP_CONFIG_PATH",
    "TAR_*",
    "TAPE",
    "UNZIP",
    "WGETRC",
    "WGET_*",
    "XZ_*",
    "ZIPOPT",
    "ZSTD_*",
    // Languages and their tools.
    "AR",
    "AS",
    "BUNDLE_*",
    "CARGO_*",
    "CARGO",
    "CC",
    "CXX",
    "CPP",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "CGO_*",
    "CLASSPATH",
    "CMAKE_*",
    "COMPOSER_*",
    "DENO_*",
    "DOTNET_*",
    "ELECTRON_*",
    "ERL_*",
    "GEM_*",
    "GO111MODULE",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_*",
    "JAVA_*",
    "JDK_*",
    "JULIA_*",
    "LD",
    "LDFLAGS",
    "LUA_*",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAVEN_*",
    "MFLAGS",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "NPM_CONFIG_*",
    "npm_config_*",
    "PERL5*",
    "PERLLIB",
    "PERL_*",
    "PHPRC",
    "PHP_*",
    "PIP_*",
    "PKG_CONFIG*",
    "POETRY_*",
    "PYTEST_*",
    "PYTHON*",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC*",
    "RUSTDOC*",
    "RUSTFLAGS",
    "RUSTUP_*",
    "R_*",
    "TCLLIBPATH",
    "TS_NODE_*",
    "UV_*",
    "VIRTUAL_ENV",
    "YARN_*",
    "_JAVA_*",
    // Where requests go and who is asked.
    "ALL_PROXY",
    "ANSIBLE_*",
    "AWS_*",
    "DOCKER_*",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KUBECONFIG",
    "KUBECTL_*",
    "NO_PROXY",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "TERRAFORM_*",
    "TF_*",
    "XDG_*",
];

/// Names of files and folders that later commands write to.
const WRITTEN: &[&str] = &[
    "CARGO_TARGET_DIR",
    "CCACHE_DIR",
    "COVERAGE_FILE",
    "GCOV_PREFIX",
    "GOCACHE",
    "GOCOVERDIR",
    "GOMODCACHE",
    "GOTMPDIR",
    "LLVM_PROFILE_FILE",
    "NODE_COMPILE_CACHE",
    "NODE_REDIRECT_WARNINGS",
    "NODE_V8_COVERAGE",
    "SCCACHE_DIR",
];

/// Variables of the shell that take numbers: what is assigned is evaluated as arithmetic, in this
/// version of the shell or in another.
const ARITHMETIC: &[&str] = &[
    "BASHPID",
    "COLUMNS",
    "COMP_CWORD",
    "COMP_KEY",
    "COMP_POINT",
    "COMP_TYPE",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNEST",
    "GROUPS",
    "HISTCMD",
    "HISTFILESIZE",
    "HISTSIZE",
    "LINENO",
    "LINES",
    "MAILCHECK",
    "OPTERR",
    "OPTIND",
    "PPID",
    "RANDOM",
    "READLINE_MARK",
    "READLINE_POINT",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "TMOUT",
    "UID",
];

/// Whether a shell evaluates what is assigned to this variable.
pub(crate) fn is_arithmetic(name: &str) -> bool {
    listed(ARITHMETIC, name)
}

/// Whether later commands write to the path that is this variable's value.
pub(crate) fn is_written(name: &str) -> bool {
    listed(WRITTEN, name)
}

/// Whether setting this variable changes what later commands do.
pub(crate) fn is_powerful(name: &str) -> bool {
    !listed(HARMLESS, name)
        && (listed(POWERFUL, name)
            || name.ends_with("_PAGER")
            || name.ends_with("_EDITOR")
            || name.ends_with("_COMMAND")
            || name.ends_with("_ASKPASS"))
}

fn listed(list: &[&str], name: &str) -> bool {
    list.iter().any(|entry| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *entry == name,
    })
}

#[cfg(test)]
mod tests {
    use super::is_powerful;

    #[test]
    fn names_that_inject_are_powerful_and_names_that_decorate_are_not() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "GIT_SSH_COMMAND",
            "BASH_ENV",
            "IFS",
            "MANPAGER",
            "MY_PAGER",
        ] {
            assert!(is_powerful(name), "{name}");
        }
        for name in [
            "RUST_LOG",
            "RUST_BACKTRACE",
            "CARGO_TERM_COLOR",
            "NODE_ENV",
            "CI",
            "x",
            "FOO",
            "LANG",
        ] {
            assert!(!is_powerful(name), "{name}");
        }
    }
}
