//! Changes of files, told before they happen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::tool::hex;

/// A file that a tool is about to change. It is staged, and not yet renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intended {
    /// The path as it was asked for and is shown.
    pub path: String,
    /// Where that is: absolute, links resolved.
    pub place: PathBuf,
    /// What is there now; nothing if there is no file.
    pub before: Option<Image>,
    /// SHA-256 of what will be there, in hexadecimal; nothing if the file goes away.
    pub after: Option<String>,
    /// The rights the file has now, or will have if it is new.
    pub mode: Option<u32>,
    /// The temporary file that will be renamed to the place, in the same directory.
    pub staged: Option<PathBuf>,
}

/// What the record says about a file that was about to be changed. The contents stand apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntendedFile {
    /// The path as it was shown.
    pub path: String,
    /// Where that is: absolute, links resolved.
    #[serde(with = "any_path")]
    pub place: PathBuf,
    /// SHA-256 of what was there, in hexadecimal; nothing if there was no file.
    pub before: Option<String>,
    /// SHA-256 of what was to be there; nothing if the file was to go away.
    pub after: Option<String>,
    /// The rights of the file.
    pub mode: Option<u32>,
    /// The temporary file, in the same directory.
    #[serde(with = "any_path_or_none")]
    pub staged: Option<PathBuf>,
}

impl Intended {
    /// Takes the contents out: the record, and the image of what was there.
    pub fn split(self) -> (IntendedFile, Option<Image>) {
        let before = self.before;
        let file = IntendedFile {
            path: self.path,
            place: self.place,
            before: before.as_ref().map(|image| image.sha256.clone()),
            after: self.after,
            mode: self.mode,
            staged: self.staged,
        };
        (file, before)
    }
}

impl IntendedFile {
    /// The temporary file with its directory, if it is where it belongs: beside the place.
    pub fn staged_beside(&self) -> Option<PathBuf> {
        let directory = self.place.parent()?;
        let staged = directory.join(self.staged.as_deref()?);
        (staged.parent() == Some(directory)).then_some(staged)
    }
}

/// What a file held before it was changed. It cannot be redacted and is never exported.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
    /// The bytes.
    pub bytes: Arc<Vec<u8>>,
}

impl Image {
    /// The image of a content.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self {
            sha256: hex(&Sha256::digest(&bytes)),
            bytes: Arc::new(bytes),
        }
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({}, {} bytes)", self.sha256, self.bytes.len())
    }
}

/// How a change that was cut short was brought to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovered {
    /// Every file is as the change wanted it.
    Forward,
    /// Every file is as it was before the change.
    Back,
    /// Another program changed a file since, or the user gave up on one that could not be
    /// mended: nothing was touched further.
    LeftAlone,
}

/// What was found of one file, and done about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredFile {
    /// The path as it was shown.
    pub path: String,
    /// SHA-256 of what was found; nothing if there was no file.
    pub found: Option<String>,
    /// What was found and done, for the user.
    pub note: String,
}

/// A path as text where it is text, and as its bytes in hexadecimal where it is not.
mod any_path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    use serde::{Deserializer, Serializer};

    use super::{Deserialize, Path, PathBuf, Serialize, hex};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    pub(super) enum AnyPath {
        Text(String),
        Bytes { hex: String },
    }

    impl From<&Path> for AnyPath {
        fn from(path: &Path) -> Self {
            match path.to_str() {
                Some(text) => Self::Text(text.to_owned()),
                None => Self::Bytes {
                    hex: hex(path.as_os_str().as_bytes()),
                },
            }
        }
    }

    impl TryFrom<AnyPath> for PathBuf {
        type Error = &'static str;

        fn try_from(path: AnyPath) -> Result<Self, Self::Error> {
            match path {
                AnyPath::Text(text) => Ok(text.into()),
                AnyPath::Bytes { hex } => {
                    let bytes = toolgate_model::hex::decode(&hex)
                        .ok_or("bytes of a path are hexadecimal")?;
                    Ok(OsString::from_vec(bytes).into())
                }
            }
        }
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        AnyPath::from(path).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let path = AnyPath::deserialize(from)?;
        path.try_into().map_err(serde::de::Error::custom)
    }
}

/// As `any_path`, for a path that may be missing.
mod any_path_or_none {
    use serde::{Deserializer, Serializer};

    use super::any_path::AnyPath;
    use super::{Deserialize, PathBuf, Serialize};

    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(AnyPath::from).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let path = Option::<AnyPath>::deserialize(from)?;
        path.map(PathBuf::try_from)
            .transpose()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn intended(place: PathBuf, staged: Option<PathBuf>) -> Intended {
        Intended {
            path: "a".into(),
            place,
            before: Some(Image::of(b"old".to_vec())),
            after: Some("hash of the new".to_owned()),
            mode: Some(0o644),
            staged,
        }
    }

    #[test]
    fn a_record_names_contents_by_hash_and_the_image_has_the_old_one() {
        let (file, image) = intended("/w/a".into(), Some("/w/.t".into())).split();
        let image = image.unwrap();
        assert_eq!(file.before.as_deref(), Some(image.sha256.as_str()));
        assert_eq!(*image.bytes, b"old");
        assert_eq!(file.after.unwrap(), "hash of the new");
        let shown = format!("{image:?}");
        assert!(
            shown.contains("3 bytes") && !shown.contains("old"),
            "{shown}"
        );
    }

    #[test]
    fn paths_that_are_no_text_survive_json() {
        let odd = PathBuf::from(OsString::from_vec(b"/w/\xff\xfe".to_vec()));
        for place in [odd, PathBuf::from("/w/\u{e4}")] {
            let (file, _) = intended(place.clone(), Some(place.clone())).split();
            let json = serde_json::to_string(&file).unwrap();
            let back: IntendedFile = serde_json::from_str(&json).unwrap();
            assert_eq!(back, file);
            assert_eq!(back.place, place);
        }
        for bad in [r#"{"hex":"f"}"#, r#"{"hex":"zz"}"#, "7"] {
            let json = format!(
                r#"{{"path":"a","place":{bad},"before":null,"after":null,"mode":null,"staged":null}}"#
            );
            assert!(
                serde_json::from_str::<IntendedFile>(&json).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_temporary_file_counts_only_beside_its_place() {
        let beside = |staged: &str| {
            let (file, _) = intended("/w/d/a".into(), Some(staged.into())).split();
            file.staged_beside()
        };
        assert_eq!(beside("/w/d/.t"), Some("/w/d/.t".into()));
        assert_eq!(beside(".t"), Some("/w/d/.t".into()));
        assert_eq!(beside("/w/.t"), None);
        assert_eq!(beside("x/.t"), None);
        assert_eq!(
            intended("/w/a".into(), None).split().0.staged_beside(),
            None
        );
    }
}
