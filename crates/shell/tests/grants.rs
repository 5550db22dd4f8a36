//! What a remembered approval of a command covers: the module, script or target, and not the
//! interpreter, package runner or build tool alone.
#![allow(clippy::unwrap_used, missing_docs)]

use toolgate_shell::leading_words;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn runners_are_remembered_with_what_they_run() {
    let mut wrong = Vec::new();
    for (line, expected) in [
        ("python3 -m unittest", "python3 -m unittest"),
        ("python3 -m unittest -v tests.test_a", "python3 -m unittest"),
        ("python -m pytest tests/ -q", "python -m pytest"),
        ("python3 -m http.server 8000", "python3 -m http.server"),
        ("python3 setup.py build", "python3 setup.py build"),
        ("python3 scripts/gen.py --all", "python3 scripts/gen.py"),
        ("node scripts/x.js --flag", "node scripts/x.js"),
        ("ruby bin/x.rb -v", "ruby bin/x.rb"),
        ("npm run test -- --watch", "npm run test"),
        ("npm test", "npm test"),
        ("npm ci", "npm ci"),
        ("npx tsc --noEmit", "npx tsc"),
        ("npx eslint src", "npx eslint"),
        ("yarn test", "yarn test"),
        ("yarn run build --prod", "yarn run build"),
        ("pnpm test", "pnpm test"),
        ("pnpm run lint", "pnpm run lint"),
        ("pnpm exec tsc -p .", "pnpm exec tsc"),
        ("bun run build", "bun run build"),
        ("bun test", "bun test"),
        ("bunx tsc", "bunx tsc"),
        ("deno task build", "deno task build"),
        ("cargo test -p x", "cargo test"),
        ("cargo build --release", "cargo build"),
        ("cargo clippy --all-targets", "cargo clippy"),
        ("cargo fmt --check", "cargo fmt"),
        ("make check", "make check"),
        ("make -C sub check", "make -C sub check"),
        ("go test ./...", "go test"),
        ("go build ./cmd/x", "go build"),
        ("go vet ./...", "go vet"),
        ("pytest -x tests/test_a.py", "pytest"),
        ("uv run pytest -q", "uv run pytest"),
        ("uv run x", "uv run x"),
        ("uvx ruff check", "uvx ruff"),
        ("pipx run black .", "pipx run black"),
        ("poetry run pytest -q", "poetry run pytest"),
        ("pipenv run flake8", "pipenv run flake8"),
        ("bundle exec rspec spec/a_spec.rb", "bundle exec rspec"),
        ("bundle exec rake db:migrate", "bundle exec rake db:migrate"),
        ("rake test", "rake test"),
        ("./gradlew test --info", "./gradlew test"),
        ("gradle build", "gradle build"),
        ("mvn test -q", "mvn test"),
        ("./mvnw verify", "./mvnw verify"),
        ("dotnet test", "dotnet test"),
        ("swift test", "swift test"),
        ("zig build test", "zig build"),
        ("just test", "just test"),
        ("task lint", "task lint"),
        ("ninja -C build test", "ninja -C build test"),
        ("ctest -V", "ctest"),
        ("black .", "black"),
        ("tsc --noEmit", "tsc"),
        ("jest --coverage", "jest"),
    ] {
        let leading = leading_words(&words(line)).join(" ");
        if leading != expected {
            wrong.push((line, leading, expected));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn runners_alone_are_never_remembered() {
    let mut remembered = Vec::new();
    for line in [
        "python3",
        "python3 -u",
        "node",
        "ruby",
        "perl",
        "npm",
        "npm run",
        "npx",
        "yarn run",
        "pnpm exec",
        "bun",
        "bun run",
        "bunx",
        "deno task",
        "uv run",
        "uvx",
        "pipx run",
        "poetry run",
        "pipenv run",
        "bundle exec",
        "make",
        "rake",
        "just",
        "task",
        "./gradlew",
        "mvn",
        "./mvnw",
        "cargo",
        "go",
        "go run",
        "dotnet",
        "swift",
        "bash",
        "sh",
        "sudo",
        "xargs",
        "env",
    ] {
        let leading = leading_words(&words(line));
        if !leading.is_empty() {
            remembered.push((line, leading));
        }
    }
    assert!(remembered.is_empty(), "{remembered:#?}");
}
