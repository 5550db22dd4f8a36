//! Which files a name such as `secrets` does not hide.
//!
//! Some built-in patterns match words that people use in any name: `*credential*`, `*secret*`.
//! They are about data and configuration. Source code and documentation say how secrets are
//! handled, and what lies in a dependency tree came from a package registry: without either,
//! nothing builds. Every other pattern holds in these places too.

use std::borrow::Cow;

/// Endings of source code, type definitions, documentation and what compilers make of them.
///
/// Not among them, because people keep values in them: shells (`.sh`, `.ps1`, `.bat`), data
/// (`.json`, `.yml`, `.toml`, `.ini`, `.xml`, `.csv`, `.sql`, `.env`, `.tfvars`), notebooks and
/// plain text, and names without an ending.
const SOURCES: &[&[u8]] = &[
    // Source code.
    b"adb",
    b"ads",
    b"asm",
    b"astro",
    b"bzl",
    b"c",
    b"c++",
    b"cc",
    b"cjs",
    b"clj",
    b"cljc",
    b"cljs",
    b"cmake",
    b"coffee",
    b"cpp",
    b"cr",
    b"cs",
    b"css",
    b"cts",
    b"cu",
    b"cuh",
    b"cxx",
    b"d",
    b"dart",
    b"elm",
    b"erl",
    b"ex",
    b"exs",
    b"f",
    b"f90",
    b"fs",
    b"fsi",
    b"fsx",
    b"go",
    b"gradle",
    b"groovy",
    b"h",
    b"h++",
    b"haml",
    b"hh",
    b"hpp",
    b"hrl",
    b"hs",
    b"html",
    b"hxx",
    b"inl",
    b"java",
    b"jl",
    b"js",
    b"jsx",
    b"kt",
    b"kts",
    b"less",
    b"lhs",
    b"lua",
    b"m",
    b"mjs",
    b"ml",
    b"mli",
    b"mm",
    b"mts",
    b"nim",
    b"pas",
    b"php",
    b"pl",
    b"pm",
    b"proto",
    b"py",
    b"pyi",
    b"pyx",
    b"r",
    b"rb",
    b"rs",
    b"s",
    b"sass",
    b"scala",
    b"scss",
    b"sol",
    b"svelte",
    b"swift",
    b"tcl",
    b"tf",
    b"thrift",
    b"ts",
    b"tsx",
    b"v",
    b"vala",
    b"vb",
    b"vue",
    b"zig",
    // Types and interfaces.
    b"gql",
    b"graphql",
    b"graphqls",
    b"idl",
    b"wit",
    b"xsd",
    // Documentation.
    b"adoc",
    b"asciidoc",
    b"htm",
    b"man",
    b"markdown",
    b"md",
    b"mdx",
    b"rst",
    b"tex",
    b"texi",
    b"1",
    b"3",
    b"5",
    b"7",
    b"8",
    // What compilers, interpreters and test runners make of it.
    b"a",
    b"beam",
    b"class",
    b"dll",
    b"dylib",
    b"lib",
    b"map",
    b"o",
    b"obj",
    b"pyc",
    b"pyd",
    b"pyo",
    b"rlib",
    b"rmeta",
    b"snap",
    b"so",
    b"wasm",
];

/// Endings of templates, which are made to be read and copied.
const TEMPLATES: &[&[u8]] = &[b"dist", b"example", b"sample", b"template", b"tmpl"];

/// Directories of dependencies: all in them came from elsewhere.
const TREES: &[&[u8]] = &[
    b".eggs",
    b".nox",
    b".pnpm-store",
    b".rustup",
    b".tox",
    b".venv",
    b"bower_components",
    b"dist-packages",
    b"jspm_packages",
    b"node_modules",
    b"site-packages",
    b"venv",
];

/// The same where the name alone would say too little: the name, and those above it.
const DEEP_TREES: &[&[&[u8]]] = &[
    &[b".cargo", b"git"],
    &[b".cargo", b"registry"],
    &[b".cache", b"pip"],
    &[b".cache", b"uv"],
    &[b".cache", b"yarn"],
    &[b".gradle", b"caches"],
    &[b".gradle", b"wrapper"],
    &[b".m2", b"repository"],
    &[b".npm", b"_cacache"],
    &[b".nvm", b"versions"],
    &[b".pyenv", b"versions"],
    &[b".sdkman", b"candidates"],
    &[b"go", b"pkg", b"mod"],
];

/// Directories that hold dependencies or build output in directories of their own. A file
/// directly in one of them is the project's.
const SHELVES: &[&[u8]] = &[b"target", b"vendor"];

/// Whether a file of this folded path is source code, documentation, a template or a part of a
/// dependency tree.
pub(super) fn is_no_data(path: &[Cow<'_, [u8]>]) -> bool {
    let Some((name, directories)) = path.split_last() else {
        return false;
    };
    is_source(name) || is_in_tree(directories)
}

/// Whether a name is one of source code, documentation or a template.
pub(super) fn is_source(name: &[u8]) -> bool {
    let mut parts = name.rsplit(|byte| *byte == b'.');
    let (Some(ending), Some(stem)) = (parts.next(), parts.next()) else {
        return false;
    };
    // A name such as `.rs` has no stem, and is no ending.
    if stem.is_empty() && parts.next().is_none() {
        return false;
    }
    SOURCES.contains(&ending)
        || TEMPLATES.contains(&ending)
        // `secrets.example.yml`, `secret.schema.json`
        || TEMPLATES.contains(&stem)
        || (ending == b"json" && stem == b"schema")
}

/// Whether these directories, from the outermost on, lead into a dependency tree.
pub(super) fn is_in_tree(directories: &[Cow<'_, [u8]>]) -> bool {
    directories.iter().enumerate().any(|(at, name)| {
        let name = name.as_ref();
        let way = directories.get(..=at).unwrap_or_default();
        let ends = |names: &&[&[u8]]| {
            let from = way.len().checked_sub(names.len());
            let end = from.and_then(|from| way.get(from..)).unwrap_or_default();
            !end.is_empty() && end.iter().zip(names.iter()).all(|(a, b)| a.as_ref() == *b)
        };
        TREES.contains(&name)
            || DEEP_TREES.iter().any(ends)
            || (SHELVES.contains(&name) && at + 1 < directories.len())
    })
}

/// Whether a file of certificates holds those of authorities, which are public. Package managers
/// and TLS libraries bring one along.
pub(super) fn is_authorities(name: &[u8]) -> bool {
    name == b"cacert.pem"
}

/// Whether a name that begins with `.env.` is the one of a template without values.
pub(super) fn is_env_template(name: &[u8]) -> bool {
    let ending = name.rsplit(|byte| *byte == b'.').next();
    ending.is_some_and(|ending| TEMPLATES.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_data(path: &str) -> bool {
        let parts: Vec<Cow<'_, [u8]>> = path
            .split('/')
            .map(|p| Cow::Borrowed(p.as_bytes()))
            .collect();
        is_no_data(&parts)
    }

    #[test]
    fn source_and_dependencies_are_no_data_and_everything_else_is() {
        for path in [
            "secrets.rs",
            "src/allow_credentials.rs",
            "a/botocore/credentials.py",
            "secret.d.ts",
            "docs/secrets.md",
            "secrets.yml.example",
            "secrets.example.yml",
            "externalsecret.schema.json",
            "node_modules/x/secrets.json",
            "a/.venv/lib/secret",
            "vendor/github.com/x/credentials.json",
            "target/debug/secret-tool",
            "h/.cargo/registry/src/x/credentials.toml",
            "go/pkg/mod/x/secrets.yml",
            "a/__pycache__/secrets.cpython-312.pyc",
        ] {
            assert!(no_data(path), "{path}");
        }
        for path in [
            "secrets",
            "secrets.json",
            "secrets.yml",
            "secrets.toml",
            "secret.env",
            "secret.txt",
            "secrets.sh",
            "credentials.ini",
            "credentials.key",
            "credentials.tfvars",
            "secrets.json.bak",
            ".rs",
            "secrets.rs.",
            "vendor/credentials.json",
            "target/secrets.txt",
            "node_modules.bak/secrets.json",
            ".cargo/credentials.toml",
            "registry/secrets.json",
            "example/secrets.yml",
            "pkg/mod/secrets.yml",
        ] {
            assert!(!no_data(path), "{path}");
        }
    }
}
