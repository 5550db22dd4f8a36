//! The layer of a command: whether it can have one, and what it takes along.

use rustix::io::Errno;

use super::layout::Watched;
use super::poise::Sent;
use super::sandbox::{CommandSandbox, Inner, lock};
use crate::command::error::SandboxError;
use crate::command::protocol::report::{Outcome, Step};
use crate::command::rules::Level;
use crate::layer::{Interrupted, Layer, LayeredRoot, Layering, NoLayer, Places, Time};
use std::path::Path;
use std::sync::Arc;

impl CommandSandbox {
    /// Whether commands can have a layer, as far as that is known before one asks for it.
    pub fn can_layer(&self) -> Result<(), NoLayer> {
        self.inner.places_for(Layering::IfPossible).map(drop)
    }

    /// What an earlier process had half applied when it was killed, and the start took back.
    pub fn interrupted(&self) -> &[Interrupted] {
        let places = self.inner.places.as_ref();
        places.map_or(&[], |places| &places.interrupted)
    }
}

impl CommandSandbox {
    pub(crate) fn rules(&self) -> &crate::command::rules::SandboxRules {
        &self.inner.rules
    }

    pub(super) fn layer(
        &self,
        name: String,
        places: Arc<Places>,
        begun: Time,
        layered: Vec<Watched>,
        bases: &[usize],
    ) -> Result<Layer, SandboxError> {
        places.begin(&name);
        let roots = layered.iter().zip(bases).map(|(watched, base)| {
            Ok(LayeredRoot {
                number: watched.directory.root.unwrap_or_default(),
                path: watched.directory.path.clone(),
                handle: rustix::io::fcntl_dupfd_cloexec(watched.directory.handle(), 0)?,
                base: *base,
                vacant: watched.vacant.clone(),
            })
        });
        let roots = roots.collect::<Result<_, Errno>>();
        Ok(Layer::new(
            name,
            places,
            self.clone(),
            begun,
            roots?,
            layered,
        ))
    }
}

impl Inner {
    /// The places for a layer, where one is wanted.
    pub(super) fn places_for(&self, wish: Layering) -> Result<Option<Arc<Places>>, NoLayer> {
        if wish == Layering::Never {
            return Ok(None);
        }
        let places = self.places.as_ref().map_err(Clone::clone)?;
        if self.level != Level::Namespaces {
            return Err(NoLayer::NoNamespaces);
        }
        if let Some(why) = lock(&self.no_layer).clone() {
            return Err(why);
        }
        let roots = self.rules.paths.roots().iter();
        let mut roots = roots.filter(|root| root.access() == crate::paths::RootAccess::ReadWrite);
        let mut some = false;
        roots.try_for_each(|root| {
            some = true;
            nested_mount(root.path())
        })?;
        if some {
            Ok(Some(Arc::clone(places)))
        } else {
            Err(NoLayer::NothingWritable)
        }
    }

    /// Remembers that the kernel mounts no layer over these directories.
    pub(super) fn refuse_layers(&self, layered: &[Watched], errno: Errno) -> NoLayer {
        let root = layered.first().map(|one| one.directory.path.clone());
        let why = NoLayer::Mount {
            root: root.unwrap_or_default(),
            errno,
        };
        *lock(&self.no_layer) = Some(why.clone());
        why
    }
}

/// The private directory for each of these directories.
pub(super) fn bases(places: &Places, layered: &[Watched]) -> Result<Vec<usize>, Errno> {
    let all = layered.iter();
    all.map(|one| places.for_root(one.directory.handle()))
        .collect()
}

/// The kernel's reason, if nothing was started because of the layer.
pub(super) fn no_layer_in(sent: &Sent) -> Option<Errno> {
    match &sent.outcome {
        Some(Outcome::Setup(failure)) if failure.step == Step::Layer => {
            Some(Errno::from_raw_os_error(failure.errno))
        }
        _ => None,
    }
}

/// An error if something is mounted inside a directory.
fn nested_mount(root: &Path) -> Result<(), NoLayer> {
    let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = mounts.split(|byte| *byte == b'\n');
    let points = points.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    for point in points {
        let point = unescape(point);
        if point != root && point.starts_with(root) {
            return Err(NoLayer::NestedMount {
                root: root.to_path_buf(),
                path: point,
            });
        }
    }
    Ok(())
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescape(text: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        let digits = rest.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = rest.get(3..).unwrap_or_default();
            }
            None => out.push(*first),
        }
    }
    std::ffi::OsString::from_vec(out).into()
}
