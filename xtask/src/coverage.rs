//! Region coverage of the crates that decide.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Done, cargo, has, root, say, step};

/// The least share of regions, in percent.
const LEAST: f64 = 95.0;
const CRATES: [&str; 3] = ["model", "policy", "gate"];

pub(crate) fn run() -> Done {
    let tools = llvm()?;
    let target = root().join("target/coverage");
    let profiles = target.join("profiles");
    // Profiles of an earlier run would be counted again.
    if profiles.exists() {
        std::fs::remove_dir_all(&profiles).map_err(|error| error.to_string())?;
    }
    let mut tests = cargo(&["test", "--tests", "--locked"]);
    for name in CRATES {
        tests.args(["--package", &format!("toolgate-{name}")]);
    }
    tests
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-C instrument-coverage")
        .env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
    step("tests with counters", &mut tests)?;
    let merged = target.join("merged.profdata");
    step(
        "merge",
        Command::new(tools.join("llvm-profdata"))
            .args(["merge", "-sparse", "-o"])
            .arg(&merged)
            .args(files(&profiles, "profraw")?),
    )?;
    let objects = test_binaries(&target)?;
    let mut worst = Ok(());
    for name in CRATES {
        let share = share(&tools, &merged, &objects, name)?;
        say(&format!("{name}: {share:.2} % of regions"));
        if share < LEAST {
            worst = Err(format!(
                "{name} has {share:.2} % of its regions covered, at least {LEAST} % are wanted"
            ));
        }
    }
    worst
}

/// The first version of LLVM whose tools read the profiles of current compilers.
const FIRST: u32 = 19;

/// The directory of LLVM's tools: the compiler's own version, else the nearest before it that can
/// read its format. Installs Debian's package where there is none.
fn llvm() -> Result<PathBuf, String> {
    let version = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    let newest: u32 = text
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))
        .and_then(|version| version.split('.').next())
        .and_then(|major| major.parse().ok())
        .ok_or("rustc does not say which LLVM it has")?;
    let directory = |major: u32| PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
    let is_there = |major: &u32| directory(*major).join("llvm-cov").exists();
    let majors = || (FIRST..=newest).rev();
    if let Some(major) = majors().find(is_there) {
        return Ok(directory(major));
    }
    for major in majors().filter(|_| has("apt-get", &["--version"])) {
        let package = format!("llvm-{major}");
        let installed = step(
            &format!("install {package}"),
            Command::new("apt-get").args(["install", "-q", "-y", &package]),
        );
        if installed.is_ok() && is_there(&major) {
            return Ok(directory(major));
        }
    }
    Err(format!(
        "llvm-cov is not there; install a package of llvm-{FIRST} to llvm-{newest}"
    ))
}

fn files(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let all = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(all
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect())
}

fn test_binaries(target: &Path) -> Result<Vec<PathBuf>, String> {
    let directory = target.join("debug/deps");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let all = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(all
        .filter(|path| path.extension().is_none() && path.is_file())
        .collect())
}

fn share(tools: &Path, merged: &Path, objects: &[PathBuf], name: &str) -> Result<f64, String> {
    let mut command = Command::new(tools.join("llvm-cov"));
    command
        .args(["export", "--summary-only", "--instr-profile"])
        .arg(merged);
    for object in objects {
        command.arg("--object").arg(object);
    }
    command
        .arg("--sources")
        .arg(root().join(format!("crates/{name}/src")));
    let output = command
        .output()
        .map_err(|error| format!("llvm-cov: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // {"data":[{"totals":{… "regions":{"count":…,"covered":…,"percent":P} …}}]}
    let totals = text
        .rsplit_once("\"totals\"")
        .map(|(_, rest)| rest)
        .ok_or("llvm-cov gave no totals")?;
    let regions = totals
        .split_once("\"regions\"")
        .map(|(_, rest)| rest)
        .ok_or("llvm-cov gave no regions")?;
    let percent = regions
        .split_once("\"percent\":")
        .map(|(_, rest)| rest)
        .ok_or("llvm-cov gave no share")?;
    let number: String = percent
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number
        .parse()
        .map_err(|error| format!("{number:?}: {error}"))
}
