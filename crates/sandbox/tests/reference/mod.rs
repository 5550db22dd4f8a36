//! A model of the sandbox's answers, without a file system.
//!
//! A tree is a list of names with what they are; a path is resolved over it with a
//! handful of naive rules. Tests build the tree on disk and compare; a fuzz target
//! can do the same with any tree it makes up.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;

/// The type of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A regular file; its content is its own path.
    File,
    /// A link with this target; an absolute one starts with `/ws` or `/out`.
    Link(String),
}

/// Names from the place's top down (`ws/a/b`), with what they are.
pub type Tree = BTreeMap<String, Node>;

/// The expected answer to opening a path for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The path leaves the workspace.
    Outside,
    /// The name that was asked for, or the one it leads to, is denied.
    Denied,
    /// Nothing is there.
    Missing,
    /// Something on the way is no directory, or a file was named like one.
    NotDirectory,
    /// Links in circles.
    Loop,
    /// A directory.
    Directory,
    /// This file, by its name in the workspace.
    File(String),
}

/// The expected answer to a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The path is refused for this reason.
    Refused(Answer),
    /// The name may not be written.
    Protected,
    /// A link at or on the way to the name leads to nothing.
    Dangling,
    /// This name would be written; it exists or not.
    At(String, bool),
}

/// Names the naive rules take for denied: a few of the real list are enough.
fn is_denied(parts: &[String]) -> bool {
    let lower: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    lower
        .iter()
        .any(|name| name == ".ssh" || name == ".env" || name.ends_with(".pem"))
        || lower.iter().enumerate().any(|(at, name)| {
            name == ".git" && lower[at + 1..].iter().any(|below| below == "config")
        })
}

/// Names the naive rules take for protected, when they are not denied.
fn is_protected(parts: &[String]) -> bool {
    let lower: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    lower
        .iter()
        .any(|name| name == ".vscode" || name == ".bashrc")
        || lower.last().is_some_and(|name| name == ".git")
        || lower.iter().enumerate().any(|(at, name)| {
            name == ".git"
                && lower[at + 1..]
                    .iter()
                    .any(|n| n == "hooks" || n.starts_with("config"))
        })
}

fn split(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|p| !p.is_empty() && *p != ".")
        .map(str::to_owned)
        .collect()
}

/// Where a path ends, or why it does not: the parts in the workspace and what is there.
fn resolve(tree: &Tree, parts: &[String]) -> Result<(Vec<String>, Node), Answer> {
    let mut here: Vec<String> = Vec::new();
    let mut ahead: Vec<String> = parts.iter().rev().cloned().collect();
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                here.pop().ok_or(Answer::Outside)?;
                continue;
            }
            _ => {}
        }
        here.push(part);
        match tree.get(&format!("ws/{}", here.join("/"))) {
            None => return Err(Answer::Missing),
            Some(Node::Directory) => {}
            Some(Node::File) if ahead.is_empty() => return Ok((here, Node::File)),
            Some(Node::File) => return Err(Answer::NotDirectory),
            Some(Node::Link(target)) => {
                links += 1;
                if links > 40 {
                    return Err(Answer::Loop);
                }
                here.pop();
                let mut target = target.as_str();
                if target.starts_with('/') {
                    let inside = target.strip_prefix("/ws").ok_or(Answer::Outside)?;
                    if !inside.is_empty() && !inside.starts_with('/') {
                        return Err(Answer::Outside);
                    }
                    here.clear();
                    target = inside;
                }
                // The empty part behind a last slash stays: a file may not have one.
                let relative = target.strip_prefix('/').unwrap_or(target);
                ahead.extend(relative.split('/').rev().map(str::to_owned));
            }
        }
    }
    Ok((here, Node::Directory))
}

/// The expected answer to opening `path` for reading.
pub fn read(tree: &Tree, path: &str) -> Answer {
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Answer::Outside;
    }
    let parts = split(path);
    if is_denied(&parts) {
        return Answer::Denied;
    }
    let (real, node) = match resolve(tree, &parts) {
        Ok(found) => found,
        Err(answer) => return answer,
    };
    let names_directory = path.ends_with('/') || path.ends_with("/.") || path == ".";
    match node {
        _ if is_denied(&real) => Answer::Denied,
        Node::File if names_directory => Answer::NotDirectory,
        Node::File => Answer::File(real.join("/")),
        _ => Answer::Directory,
    }
}

/// The expected answer to a write that replaces and makes directories. Paths that end
/// like a directory are not tried.
pub fn write(tree: &Tree, path: &str) -> Landing {
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Landing::Refused(Answer::Outside);
    }
    let parts = split(path);
    if is_denied(&parts) {
        return Landing::Refused(Answer::Denied);
    }
    if is_protected(&parts) {
        return Landing::Protected;
    }
    let Some((name, directories)) = parts.split_last() else {
        return Landing::Refused(Answer::Directory);
    };
    // The deepest directory that exists.
    let mut length = directories.len();
    let mut real = loop {
        match resolve(tree, &directories[..length]) {
            Ok((real, Node::Directory)) => break real,
            Ok(_) => return Landing::Refused(Answer::NotDirectory),
            Err(Answer::Missing) if length > 0 => length -= 1,
            Err(answer) => return Landing::Refused(answer),
        }
    };
    let at = |real: &[String]| tree.get(&format!("ws/{}", real.join("/")));
    if let Some(first) = directories.get(length) {
        let mut link = real.clone();
        link.push(first.clone());
        if at(&link).is_some() {
            return Landing::Dangling;
        }
    }
    real.extend(directories[length..].iter().cloned());
    real.push(name.clone());
    if is_denied(&real) {
        return Landing::Refused(Answer::Denied);
    }
    if is_protected(&real) {
        return Landing::Protected;
    }
    match at(&real) {
        None => Landing::At(real.join("/"), false),
        Some(Node::Directory) => Landing::Refused(Answer::Directory),
        Some(Node::File) => Landing::At(real.join("/"), true),
        Some(Node::Link(_)) => match resolve(tree, &parts) {
            Err(Answer::Missing) => Landing::Dangling,
            Err(answer) => Landing::Refused(answer),
            Ok((real, _)) if is_denied(&real) => Landing::Refused(Answer::Denied),
            Ok((real, _)) if is_protected(&real) => Landing::Protected,
            Ok((_, Node::Directory)) => Landing::Refused(Answer::Directory),
            Ok((real, _)) => Landing::At(real.join("/"), true),
        },
    }
}
