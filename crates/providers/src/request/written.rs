//! Bytes that only grow, shared with the requests that send them.

use bytes::Bytes;

/// Blocks of this size are left alone; smaller ones are put together.
const BLOCK: usize = 128 * 1024;

/// What was written so far, in blocks. A request holds the blocks instead of a copy, so
/// that its cost does not grow with the history.
#[derive(Debug, Default)]
pub(super) struct Written {
    blocks: Vec<Bytes>,
    bytes: usize,
}

impl Written {
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn blocks(&self) -> &[Bytes] {
        &self.blocks
    }

    /// Adds to the end. A block takes in those before it that are not larger, as a counter
    /// carries: there are few blocks, and a byte is moved a few times in its life.
    pub(super) fn add(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.bytes += bytes.len();
        let mut all = bytes.len();
        let carried = |before: &&Bytes| {
            let carries = before.len() <= all && before.len() < BLOCK;
            all += before.len();
            carries
        };
        let count = self.blocks.iter().rev().take_while(carried).count();
        if count == 0 {
            self.blocks.push(bytes.into());
            return;
        }
        let smaller = self.blocks.split_off(self.blocks.len() - count);
        let mut block =
            Vec::with_capacity(smaller.iter().map(Bytes::len).sum::<usize>() + bytes.len());
        smaller
            .iter()
            .for_each(|before| block.extend_from_slice(before));
        block.extend_from_slice(&bytes);
        self.blocks.push(block.into());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_there_are_few_blocks(sizes in prop::collection::vec(0_usize..9_000, 0..200)) {
            let mut written = Written::default();
            let mut plain = Vec::new();
            for (number, size) in sizes.iter().enumerate() {
                let byte = u8::try_from(number % 251).unwrap_or(0);
                plain.extend(std::iter::repeat_n(byte, *size));
                written.add(vec![byte; *size]);
                prop_assert_eq!(written.bytes(), plain.len());
            }
            prop_assert_eq!(written.blocks().concat(), plain);
            prop_assert!(written.blocks().len() <= written.bytes() / BLOCK + 18);
        }
    }
}
