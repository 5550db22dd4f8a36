//! Filters of system calls, as programs for the kernel.
//!
//! A program only ever jumps forward, so it is written from its end to its beginning:
//! the target of a jump exists already. Calls are found by binary search, not one after
//! the other. The kernel compiles a filter anew for every process, and tries it with every
//! call there is, so the cost of a filter is the length of its path.

use libc::sock_filter as Step;

/// A program, its last step first.
#[derive(Clone, Debug, Default)]
pub(super) struct Backwards(Vec<Step>);

/// A step that others can go on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// How a word is compared with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// They are the same.
    Is,
    /// The word is as large or larger.
    IsFrom,
    /// They have a bit in common.
    HasAnyOf,
}

/// A word of the data that a filter gets about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The number of the call.
    Number,
    /// The architecture whose numbers these are.
    Architecture,
    /// The lower half of an argument.
    Argument(u8),
}

impl Word {
    fn offset(self) -> u32 {
        match self {
            Self::Number => 0,
            Self::Architecture => 4,
            Self::Argument(index) => {
                let half = if cfg!(target_endian = "big") { 4 } else { 0 };
                16 + 8 * u32::from(index) + half
            }
        }
    }
}

/// Up to how many calls are compared one after the other.
const FEW: usize = 3;

impl Backwards {
    /// Ends with an answer.
    pub(crate) fn answer(&mut self, answer: u32) -> Place {
        self.put(libc::BPF_RET | libc::BPF_K, 0, 0, answer)
    }

    /// Takes a word to be compared, and goes on with the step that was written last.
    pub(crate) fn take(&mut self, word: Word) -> Place {
        let code = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        self.put(code, 0, 0, word.offset())
    }

    /// Clears all other bits of the word that was taken, and goes on with the step that was
    /// written last.
    pub(super) fn keep_bits(&mut self, bits: u32) -> Place {
        self.put(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, bits)
    }

    /// Compares the word that was taken. None where it is too far to go on.
    pub(super) fn compare(
        &mut self,
        test: Test,
        with: u32,
        yes: Place,
        no: Place,
    ) -> Option<Place> {
        let test = match test {
            Test::Is => libc::BPF_JEQ,
            Test::IsFrom => libc::BPF_JGE,
            Test::HasAnyOf => libc::BPF_JSET,
        };
        let (yes, no) = (self.across(yes)?, self.across(no)?);
        Some(self.put(libc::BPF_JMP | test | libc::BPF_K, yes, no, with))
    }

    /// Goes on where the number that was taken says, or somewhere else where it is not
    /// among them. They come in ascending order. None where it is too far to go on.
    pub(crate) fn find(&mut self, numbers: &[(u32, Place)], otherwise: Place) -> Option<Place> {
        if numbers.len() <= FEW {
            let mut next = otherwise;
            for (number, place) in numbers {
                next = self.compare(Test::Is, *number, *place, next)?;
            }
            return Some(next);
        }
        let (lower, upper) = numbers.split_at(numbers.len() / 2);
        let from = upper.first().map_or(u32::MAX, |(number, _)| *number);
        let upper = self.find(upper, otherwise)?;
        let lower = self.find(lower, otherwise)?;
        self.compare(Test::IsFrom, from, upper, lower)
    }

    /// The program.
    pub(crate) fn finish(mut self) -> Vec<Step> {
        self.0.reverse();
        self.0
    }

    /// How many steps lie between a place and the step that is written next.
    fn across(&self, place: Place) -> Option<u8> {
        let steps = self.0.len().checked_sub(place.0 + 1)?;
        u8::try_from(steps).ok()
    }

    fn put(&mut self, code: u32, jt: u8, jf: u8, k: u32) -> Place {
        let code = u16::try_from(code).unwrap_or(u16::MAX);
        self.0.push(Step { code, jt, jf, k });
        Place(self.0.len() - 1)
    }
}
