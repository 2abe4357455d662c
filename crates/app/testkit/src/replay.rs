//! Replays a kept corpus as a test: each file as it is, cut short, and with bytes changed. What is changed is the same
//! each time, unless `make fuzz` gives another seed.

use std::io::Write;

use super::needs::root;

/// Runs `body` on the corpus of `target` and on that number of variants of each of its files, or on as many as
/// FUZZ_VARIANTS says. FUZZ_SEED says which these are; the number of executions is appended to the file FUZZ_COUNTS.
pub fn replay(target: &str, variants_count: u64, body: impl Fn(&[u8])) {
    let variants_count = setting("FUZZ_VARIANTS").unwrap_or(variants_count);
    let seed = setting("FUZZ_SEED").unwrap_or(0);
    let corpus = root().join("fuzz/corpus");
    let entries = std::fs::read_dir(corpus.join(target)).expect("each target has a corpus");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus of {target} is empty");
    // Seeds of runs are far apart, so that their variants differ.
    let first = SplitMix(seed).next();
    for (number, file) in files.iter().enumerate() {
        let data = std::fs::read(file).expect("a file of the corpus can be read");
        body(&data);
        for variant in 0..variants_count {
            let variant = number as u64 * variants_count + variant;
            body(&changed(&data, first.wrapping_add(variant)));
        }
    }
    count(target, files.len() as u64 * (variants_count + 1));
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn count(target: &str, executions: u64) {
    let Ok(path) = std::env::var("FUZZ_COUNTS") else {
        return;
    };
    let file = std::fs::File::options().create(true).append(true).open(path);
    let line = format!("{target} {executions}\n");
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the counts can be written");
}

/// `data` with one to four changes that follow from `seed`.
pub fn changed(data: &[u8], seed: u64) -> Vec<u8> {
    let mut draws = SplitMix(seed);
    let mut data = data.to_vec();
    for _ in 0..=draws.below(4) {
        let at = draws.below(data.len() + 1);
        let end = (at + draws.below(8)).min(data.len());
        match draws.below(5) {
            0 => data.truncate(at),
            1 => drop(data.drain(at..end)),
            2 => data.splice(at..at, *b"\0\xff").for_each(drop),
            3 => data.extend_from_within(at..end),
            _ => data[at..end].iter_mut().for_each(|byte| *byte ^= 1 << draws.below(8)),
        }
    }
    data
}

/// Steele, Lea and Flood 2014: enough to vary test inputs.
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
        usize::try_from(self.next() % end as u64).expect("below a length")
    }
}
