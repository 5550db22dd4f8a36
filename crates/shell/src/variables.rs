//! Variables that change what later commands do.
//!
//! As data: a name, or a name that ends in `*` for every name that starts so.
//! The list of exceptions is looked at first.

/// Names that every program reads alike: language, terminal, time zone.
const COMMON: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "CONTINUOUS_INTEGRATION",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "NO_COLOR",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TZ",
];

/// Names that programs which run others read, and that choose neither code nor files.
const TOLD: &[&str] = &[
    "APP_ENV",
    "ASPNETCORE_ENVIRONMENT",
    "BABEL_ENV",
    "BAZEL_TEST",
    "BUILDKIT_PROGRESS",
    "COMPOSE_PROJECT_NAME",
    "COREPACK_ENABLE_DOWNLOAD_PROMPT",
    "COVERAGE",
    "CYPRESS_CI",
    "DEBUG",
    "DEBIAN_FRONTEND",
    "DEBUG_COLORS",
    "DISABLE_TELEMETRY",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "DOTNET_NOLOGO",
    "DO_NOT_TRACK",
    "ENVIRONMENT",
    "FLASK_DEBUG",
    "FLASK_ENV",
    "GENERATE_SOURCEMAP",
    "GOARCH",
    "GOARM",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "GOOS",
    "GOTRACEBACK",
    "HEADLESS",
    "HOST",
    "HUSKY",
    "INSTA_UPDATE",
    "JEST_WORKER_ID",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "LOGLEVEL",
    "MIX_ENV",
    "NEXT_TELEMETRY_DISABLED",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "PORT",
    "PROPTEST_CASES",
    "PY_COLORS",
    "PYTHONASYNCIODEBUG",
    "PYTHONDEVMODE",
    "PYTHONFAULTHANDLER",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "QUICKCHECK_TESTS",
    "RACK_ENV",
    "RAILS_ENV",
    "RAILS_LOG_TO_STDOUT",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_LOG_STYLE",
    "RUST_MIN_STACK",
    "RUST_TEST_NOCAPTURE",
    "RUST_TEST_THREADS",
    "RUST_TEST_TIME_UNIT",
    "SKIP_PREFLIGHT_CHECK",
    "STAGE",
    "TOKIO_WORKER_THREADS",
    "UPDATE_EXPECT",
    "VERBOSE",
    "VITEST",
];

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
    "YARN_ENABLE_IMMUTABLE_INSTALLS",
    "YARN_ENABLE_TELEMETRY",
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
    "DIRSTACK",
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
    "TEXTDOMAIN*",
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
    "HGEDITOR",
    "HGMERGE",
    "HGPLAIN*",
    "HGRCPATH",
    "JJ_*",
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
    "AWKLIBPATH",
    "AWKPATH",
    "BUN_*",
    "BUNDLE_*",
    "CARGO_*",
    "CARGO",
    "CC",
    "CXX",
    "CPP",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "CCC_*",
    "CGO_*",
    "CLASSPATH",
    "CMAKE_*",
    "COLLECT_*",
    "COMPILER_PATH",
    "COMPOSER",
    "COMPOSER_*",
    "COREPACK_*",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "DENO_*",
    "DOTNET_*",
    "ELECTRON_*",
    "ERL_*",
    "GCC_*",
    "GEM_*",
    "GHC*",
    "GNUMAKEFLAGS",
    "GO111MODULE",
    "GOAUTH",
    "GOBIN",
    "GOCACHEPROG",
    "GOENV",
    "GOEXPERIMENT",
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
    "LIBRARY_PATH",
    "LUA_*",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAVEN_*",
    "MFLAGS",
    "MSBUILD*",
    "MSBuild*",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "OBJC_INCLUDE_PATH",
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
    "RAKEOPT",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC*",
    "RUSTDOC*",
    "RUSTFLAGS",
    "RUSTUP_*",
    "R_*",
    "SUNPRO_DEPENDENCIES",
    "SWIFT_*",
    "TCLLIBPATH",
    "TS_NODE_*",
    "UV_*",
    "VALGRIND_*",
    "VIRTUAL_ENV",
    "ZIG_*",
    "_JAVA_*",
    "__CARGO_*",
    // Where requests go and who is asked.
    "ANSIBLE_*",
    "AWS_*",
    "DOCKER_*",
    "KUBECONFIG",
    "KUBECTL_*",
    "TERRAFORM_*",
    "TF_*",
    "XDG_*",
];

/// The same where the program that reads them does not care for the case; in lower case here.
const ANY_CASE: &[&str] = &[
    "npm_config_*",
    "npm_package_*",
    "npm_lifecycle_*",
    "pnpm_config_*",
    "yarn_*",
];

/// Names of files and directories that later commands write to.
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
    let lower = name.to_ascii_lowercase();
    let free = !listed(HARMLESS, name) && !listed(TOLD, name);
    free && (listed(POWERFUL, name)
        || listed(ANY_CASE, &lower)
        || lower.ends_with("_proxy")
        || name.ends_with("_PAGER")
        || name.ends_with("_EDITOR")
        || name.ends_with("_COMMAND")
        || name.ends_with("_ASKPASS"))
}

/// Whether a value makes a harmless variable name files: messages and time zones are read from
/// the path that stands there, and categories of warnings are imported.
pub(crate) fn names_files(name: &str, value: &str) -> bool {
    match name {
        "LANG" | "LANGUAGE" | "TERM" => value.contains('/'),
        "TZ" => value.starts_with([':', '/']) || value.contains(".."),
        "PYTHONWARNINGS" => value.contains('.'),
        _ => name.starts_with("LC_") && value.contains('/'),
    }
}

/// Whether a program that runs others does the same with this variable as without it.
pub(crate) fn is_harmless(name: &str, value: Option<&str>) -> bool {
    let known = listed(COMMON, name) || listed(TOLD, name) || listed(HARMLESS, name);
    // A slash and two dots are in every value that names files.
    (known || is_written(name)) && !names_files(name, value.unwrap_or("/.."))
}

/// The same for programs that take every variable for a setting of the build, and expand it.
pub(crate) fn is_harmless_to_builds(name: &str, value: Option<&str>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-,@:+/".contains(c);
    listed(COMMON, name)
        && value.is_some_and(|value| value.chars().all(plain) && !names_files(name, value))
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
