//! The bytes of an answer: taken out of their packing, and never more than wanted.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// How the bytes of an answer are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
}

impl Packing {
    /// The packing that a header names; nothing if it is one that was not asked for.
    pub(super) fn named(header: Option<&str>) -> Option<Self> {
        let name = header.unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "" | "identity" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            _ => None,
        }
    }
}

/// Takes packed bytes piece by piece and keeps the first of what was in them.
pub(super) struct Unpacker {
    inner: Inner,
}

enum Inner {
    Plain(Bounded),
    Gzip(MultiGzDecoder<Bounded>),
}

/// What has come so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether there were more than were taken.
    pub cut: bool,
}

impl Unpacker {
    pub(super) fn new(packing: Packing, most: usize) -> Self {
        let bounded = Bounded {
            content: Content::default(),
            most,
        };
        let inner = match packing {
            Packing::Plain => Inner::Plain(bounded),
            Packing::Gzip => Inner::Gzip(MultiGzDecoder::new(bounded)),
        };
        Self { inner }
    }

    /// Takes a piece. Says whether more is wanted.
    pub(super) fn take(&mut self, piece: &[u8]) -> io::Result<bool> {
        let taken = match &mut self.inner {
            Inner::Plain(bounded) => bounded.write_all(piece),
            Inner::Gzip(decoder) => decoder.write_all(piece),
        };
        let cut = match &self.inner {
            Inner::Plain(bounded) => bounded.content.cut,
            Inner::Gzip(decoder) => decoder.get_ref().content.cut,
        };
        match taken {
            _ if cut => Ok(false),
            Ok(()) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Everything that came. An end in the middle of the packing is an error.
    pub(super) fn finish(self) -> io::Result<Content> {
        let bounded = match self.inner {
            Inner::Plain(bounded) => bounded,
            Inner::Gzip(mut decoder) if decoder.get_ref().content.cut => {
                std::mem::take(decoder.get_mut())
            }
            Inner::Gzip(mut decoder) => match decoder.try_finish() {
                Ok(()) => std::mem::take(decoder.get_mut()),
                // What is left in the decoder may be what fills the measure.
                Err(_) if decoder.get_ref().content.cut => std::mem::take(decoder.get_mut()),
                Err(error) => return Err(error),
            },
        };
        Ok(bounded.content)
    }
}

/// Keeps the first bytes and refuses the others, so that unpacking stops there.
#[derive(Default)]
struct Bounded {
    content: Content,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.content.bytes.len());
        if room == 0 && !bytes.is_empty() {
            self.content.cut = true;
            return Err(io::Error::other("there is no more room"));
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.content.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(packing: Packing, most: usize, pieces: &[&[u8]]) -> io::Result<Content> {
        let mut unpacker = Unpacker::new(packing, most);
        for piece in pieces {
            if !unpacker.take(piece)? {
                break;
            }
        }
        unpacker.finish()
    }

    #[test]
    fn packings_that_were_not_asked_for_are_known_as_such() {
        for (header, packing) in [
            (None, Some(Packing::Plain)),
            (Some("identity"), Some(Packing::Plain)),
            (Some(" GZIP "), Some(Packing::Gzip)),
            (Some("x-gzip"), Some(Packing::Gzip)),
            (Some("br"), None),
            (Some("gzip, gzip"), None),
            (Some("deflate"), None),
        ] {
            assert_eq!(Packing::named(header), packing, "{header:?}");
        }
    }

    #[test]
    fn a_bomb_is_cut_where_the_measure_is_full() {
        let bomb = packed(&vec![0; 8 << 20]);
        assert!(bomb.len() < 16 << 10);
        let content = unpacked(Packing::Gzip, 1000, &[&bomb]).unwrap();
        assert_eq!((content.bytes.len(), content.cut), (1000, true));
    }

    #[test]
    fn a_packing_that_breaks_off_is_an_error() {
        let whole = packed(b"some text that is long enough to be packed");
        let half = &whole[..whole.len() - 12];
        assert!(unpacked(Packing::Gzip, 1000, &[half]).is_err());
        assert!(unpacked(Packing::Gzip, 1000, &[b"plain"]).is_err());
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn what_was_packed_comes_out_up_to_the_measure(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            most in 0_usize..400,
            size in 1_usize..50,
            gzip: bool,
        ) {
            let (packing, sent) = if gzip {
                (Packing::Gzip, packed(&bytes))
            } else {
                (Packing::Plain, bytes.clone())
            };
            let pieces: Vec<&[u8]> = sent.chunks(size).collect();
            let content = unpacked(packing, most, &pieces).unwrap();
            prop_assert_eq!(&content.bytes[..], &bytes[..bytes.len().min(most)]);
            prop_assert_eq!(content.cut, bytes.len() > most);
        }
    }
}
