//! Inputs that follow from a seed and the files of a corpus.

use std::path::Path;

/// Most rounds of changes of an input. Each makes one to four changes.
const ROUNDS_MAX: usize = 3;
/// One input in this number is made of the beginning of one file and the end of another.
const SPLICED: usize = 8;
/// Longest input, bytes; files of the corpus may be longer.
const BYTES_MAX: usize = 1 << 16;

/// The kept inputs of a target.
pub(crate) struct Corpus(Vec<Vec<u8>>);

impl Corpus {
    /// Reads the files of a folder, by name.
    pub(crate) fn read(folder: &Path) -> Corpus {
        let entries = std::fs::read_dir(folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let read = |file: std::path::PathBuf| {
            std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        };
        let all: Vec<Vec<u8>> = files.into_iter().map(read).collect();
        assert!(!all.is_empty(), "{} is empty", folder.display());
        Corpus(all)
    }

    /// The input of this seed.
    pub(crate) fn input(&self, seed: u64) -> Vec<u8> {
        let mut draws = SplitMix(seed);
        let mut data = self.0[draws.below(self.0.len())].clone();
        if draws.below(SPLICED) == 0 {
            let other = &self.0[draws.below(self.0.len())];
            data.truncate(draws.below(data.len() + 1));
            data.extend_from_slice(&other[draws.below(other.len() + 1)..]);
        }
        for _ in 0..=draws.below(ROUNDS_MAX) {
            data = testkit::replay::changed(&data, draws.next());
        }
        data.truncate(BYTES_MAX.max(self.0.iter().map(Vec::len).max().unwrap_or(0)));
        data
    }
}

/// The seeds of a target's inputs: others for another seed of the round, and for another target.
pub(crate) fn seeds(round: u64, target: &str) -> impl Iterator<Item = u64> {
    // FNV-1a (Fowler, Noll and Vo 1991).
    let name = target.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut draws = SplitMix(round ^ name);
    std::iter::repeat_with(move || draws.next())
}

/// Steele, Lea and Flood 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
