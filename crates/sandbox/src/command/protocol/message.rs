//! A command as bytes: the caller encodes it and the sandbox decodes it.
//!
//! Decoding is strict, because errors are expensive there: every count
//! is bounded before anything is allocated, every string is checked, and nothing may
//! follow the end.

use crate::command::rules::{Limits, Network, Omit};

/// The first byte; a warden of another build is refused by it.
const VERSION: u8 = 3;
/// Bytes of arguments and variables together.
const MOST_TEXT: usize = 4 << 20;
/// The largest message. The rest is for paths.
pub(crate) const MOST_BYTES: usize = 16 << 20;
/// Arguments and variables together.
const MOST_STRINGS: usize = 8192;
/// Directories; each costs a descriptor in one message, and the kernel takes 253.
pub(super) const MOST_DIRECTORIES: usize = 128;
/// Guarded paths.
pub(crate) const MOST_MASKS: usize = 30_000;

/// The kind of mask on a guarded path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MaskKind {
    /// It cannot be read: something unreadable lies on top.
    Hide,
    /// It can be read and not changed.
    Freeze,
    /// It is empty and stays so: a name kept free of content.
    Vacant,
    /// It is as it was, and cannot be renamed: a directory on the way to one of the others.
    Pin,
}

/// A guarded path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mask {
    /// Which directory of the order it is in.
    pub directory: u16,
    /// Where in it.
    pub path: Vec<u8>,
    /// The kind of mask.
    pub kind: MaskKind,
}

/// A directory the command may use. Its descriptor travels beside the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedDirectory {
    /// Where it was when it was opened; the descriptor decides where it is now.
    pub path: Vec<u8>,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether what is written goes to a layer. The descriptor of the directory for its upper
    /// half follows those of all directories, in the same order.
    pub layered: bool,
}

/// One command, complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Whether the command gets namespaces and mounts of its own.
    pub namespaces: bool,
    /// The layers that are left out.
    pub omit: Omit,
    /// Its network.
    pub network: Network,
    /// Its limits.
    pub limits: Limits,
    /// The program by its absolute path, and its arguments.
    pub argv: Vec<Vec<u8>>,
    /// `NAME=value`.
    pub env: Vec<Vec<u8>>,
    /// Files for the private home directory: the name and the content.
    pub home: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where it starts.
    pub cwd: Vec<u8>,
    /// Its directories.
    pub directories: Vec<SharedDirectory>,
    /// The masks on them.
    pub masks: Vec<Mask>,
}

/// Why bytes are no order, or an order does not become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOrder {
    /// Too many bytes, strings, directories or masks.
    #[error(
        "the command is too large: the sandbox takes at most 4 MiB of arguments and environment, and 12 MiB of paths"
    )]
    TooLarge,
    /// It ends too soon, or goes on after its end.
    #[error("the message has the wrong length")]
    Length,
    /// Another build's message.
    #[error("the message is of another version")]
    Version,
    /// A byte without a meaning.
    #[error("the message holds an unknown value")]
    Value,
    /// A string with a zero byte, an empty argument list, a variable without a name, or
    /// a path that is not what it must be.
    #[error("an argument, a variable or a path cannot be passed to a program")]
    Text,
}

impl Order {
    /// The order as bytes.
    pub fn encode(&self) -> Result<Vec<u8>, BadOrder> {
        self.check()?;
        let mut out = vec![
            VERSION,
            u8::from(self.namespaces),
            u8::from(self.omit.landlock),
            u8::from(self.omit.seccomp),
            network_byte(self.network),
        ];
        out.extend(self.limits.processes.to_le_bytes());
        out.extend(self.limits.file_size.to_le_bytes());
        out.extend(self.limits.open_files.to_le_bytes());
        // A limit of zero seconds makes no sense, so zero means "none".
        out.extend(self.limits.cpu_seconds.unwrap_or(0).to_le_bytes());
        out.extend(self.limits.scratch_bytes.to_le_bytes());
        put_count(&mut out, self.argv.len())?;
        put_count(&mut out, self.env.len())?;
        put_count(&mut out, self.home.len())?;
        put_count(&mut out, self.directories.len())?;
        put_count(&mut out, self.masks.len())?;
        for text in self.texts() {
            put_text(&mut out, text)?;
        }
        for directory in &self.directories {
            out.push(u8::from(directory.writable));
            out.push(u8::from(directory.layered));
            put_text(&mut out, &directory.path)?;
        }
        for mask in &self.masks {
            out.push(kind_byte(mask.kind));
            out.extend(mask.directory.to_le_bytes());
            put_text(&mut out, &mask.path)?;
        }
        if out.len() > MOST_BYTES {
            return Err(BadOrder::TooLarge);
        }
        Ok(out)
    }

    /// The order that these bytes are.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadOrder> {
        if bytes.len() > MOST_BYTES {
            return Err(BadOrder::TooLarge);
        }
        let mut rest = Reader(bytes);
        if rest.byte()? != VERSION {
            return Err(BadOrder::Version);
        }
        let namespaces = rest.flag()?;
        let omit = Omit {
            landlock: rest.flag()?,
            seccomp: rest.flag()?,
        };
        let network = network_of(rest.byte()?)?;
        let limits = Limits {
            processes: rest.u32()?,
            file_size: rest.u64()?,
            open_files: rest.u32()?,
            cpu_seconds: Some(rest.u32()?).filter(|seconds| *seconds > 0),
            scratch_bytes: rest.u64()?,
        };
        let argv = rest.count(MOST_STRINGS)?;
        let env = rest.count(MOST_STRINGS)?;
        let home = rest.count(MOST_STRINGS)?;
        let directories = rest.count(MOST_DIRECTORIES)?;
        let masks = rest.count(MOST_MASKS)?;
        let order = Self {
            namespaces,
            omit,
            network,
            limits,
            argv: (0..argv).map(|_| rest.text()).collect::<Result<_, _>>()?,
            env: (0..env).map(|_| rest.text()).collect::<Result<_, _>>()?,
            cwd: rest.text()?,
            home: (0..home)
                .map(|_| Ok((rest.text()?, rest.text()?)))
                .collect::<Result<_, _>>()?,
            directories: (0..directories)
                .map(|_| {
                    Ok(SharedDirectory {
                        writable: rest.flag()?,
                        layered: rest.flag()?,
                        path: rest.text()?,
                    })
                })
                .collect::<Result<_, _>>()?,
            masks: (0..masks)
                .map(|_| {
                    Ok(Mask {
                        kind: kind_of(rest.byte()?)?,
                        directory: rest.u16()?,
                        path: rest.text()?,
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        if !rest.0.is_empty() {
            return Err(BadOrder::Length);
        }
        order.check()?;
        Ok(order)
    }

    /// Everything that is not about directories.
    fn texts(&self) -> impl Iterator<Item = &Vec<u8>> + Clone {
        let home = self.home.iter().flat_map(|(name, content)| [name, content]);
        let texts = self.argv.iter().chain(&self.env).chain([&self.cwd]);
        texts.chain(home)
    }

    /// How many directories are layered.
    pub(crate) fn layers(&self) -> usize {
        self.directories.iter().filter(|one| one.layered).count()
    }

    /// Which directories a sandbox mounts itself instead of its template: the layered ones, and
    /// those that lie in one.
    pub(crate) fn deferred(&self) -> Vec<bool> {
        let lies_in = |path: &[u8]| {
            let mut layered = self.directories.iter().filter(|one| one.layered);
            layered.any(|outer| {
                let rest = path.strip_prefix(outer.path.as_slice());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            })
        };
        let all = self.directories.iter();
        all.map(|one| lies_in(&one.path)).collect()
    }

    /// Whether a layer comes with a place for this guard: a vacant name in the root itself.
    pub(crate) fn has_place(&self, mask: &Mask) -> bool {
        let directory = self.directories.get(usize::from(mask.directory));
        mask.kind == MaskKind::Vacant
            && !mask.path.contains(&b'/')
            && directory.is_some_and(|directory| directory.layered)
    }

    /// Whether two orders want the same sandbox but for the guards.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.namespaces == other.namespaces
            && self.omit == other.omit
            && self.network == other.network
            && self.limits == other.limits
            && self.directories == other.directories
    }

    fn check(&self) -> Result<(), BadOrder> {
        if self.argv.len() > MOST_STRINGS
            || self.env.len() > MOST_STRINGS
            || self.home.len() > MOST_STRINGS
            || self.directories.len() + self.layers() > MOST_DIRECTORIES
            || self.masks.len() > MOST_MASKS
        {
            return Err(BadOrder::TooLarge);
        }
        let texts = self.texts();
        if texts.clone().map(Vec::len).sum::<usize>() > MOST_TEXT {
            return Err(BadOrder::TooLarge);
        }
        let paths = self.directories.iter().map(|directory| &directory.path);
        let masks = self.masks.iter().map(|mask| &mask.path);
        let sound = texts
            .chain(paths.clone())
            .chain(masks)
            .all(|t| !t.contains(&0))
            && self
                .argv
                .first()
                .is_some_and(|program| is_absolute(program))
            && is_absolute(&self.cwd)
            && self
                .home
                .iter()
                .all(|(name, _)| is_beneath(name) && !name.contains(&b'/'))
            && paths.clone().all(|path| is_absolute(path))
            && self
                .env
                .iter()
                .all(|v| v.iter().position(|b| *b == b'=').is_some_and(|at| at > 0))
            && self
                .directories
                .iter()
                .all(|one| !one.layered || one.writable && self.namespaces)
            && self.masks.iter().all(|mask| {
                usize::from(mask.directory) < self.directories.len() && is_beneath(&mask.path)
            });
        if sound { Ok(()) } else { Err(BadOrder::Text) }
    }
}

fn is_absolute(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && path.split(|b| *b == b'/').all(|part| part != b"..")
}

fn is_beneath(path: &[u8]) -> bool {
    path.split(|b| *b == b'/')
        .all(|part| !part.is_empty() && part != b"." && part != b"..")
}

/// One byte for a network, in the warden's packets too.
pub(super) fn network_byte(network: Network) -> u8 {
    match network {
        Network::Off => 0,
        Network::Loopback => 1,
        Network::On => 2,
    }
}

/// The network that a byte means.
pub(super) fn network_of(byte: u8) -> Result<Network, BadOrder> {
    match byte {
        0 => Ok(Network::Off),
        1 => Ok(Network::Loopback),
        2 => Ok(Network::On),
        _ => Err(BadOrder::Value),
    }
}

fn kind_byte(kind: MaskKind) -> u8 {
    match kind {
        MaskKind::Hide => 0,
        MaskKind::Freeze => 1,
        MaskKind::Vacant => 2,
        MaskKind::Pin => 3,
    }
}

fn kind_of(byte: u8) -> Result<MaskKind, BadOrder> {
    match byte {
        0 => Ok(MaskKind::Hide),
        1 => Ok(MaskKind::Freeze),
        2 => Ok(MaskKind::Vacant),
        3 => Ok(MaskKind::Pin),
        _ => Err(BadOrder::Value),
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<(), BadOrder> {
    let count = u16::try_from(count).map_err(|_| BadOrder::TooLarge)?;
    out.extend(count.to_le_bytes());
    Ok(())
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), BadOrder> {
    let length = u32::try_from(text.len()).map_err(|_| BadOrder::TooLarge)?;
    out.extend(length.to_le_bytes());
    out.extend(text);
    Ok(())
}

/// Reads what was written, piece by piece.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], BadOrder> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(BadOrder::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], BadOrder> {
        self.take(N)?.try_into().map_err(|_| BadOrder::Length)
    }

    fn byte(&mut self) -> Result<u8, BadOrder> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, BadOrder> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadOrder::Value),
        }
    }

    fn u16(&mut self) -> Result<u16, BadOrder> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BadOrder> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, BadOrder> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self, most: usize) -> Result<u16, BadOrder> {
        let count = self.u16()?;
        if usize::from(count) > most {
            return Err(BadOrder::TooLarge);
        }
        Ok(count)
    }

    pub(crate) fn text(&mut self) -> Result<Vec<u8>, BadOrder> {
        let length = usize::try_from(self.u32()?).map_err(|_| BadOrder::Length)?;
        self.take(length).map(<[u8]>::to_vec)
    }
}
