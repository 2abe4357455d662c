//! Walks through the distinct values of several samples together.

use super::Sample;

/// Calls `visit` at each distinct value of the two samples pooled, rising, with the value and how
/// many numbers of each stand at or below it.
pub(crate) fn pooled_pair(a: &Sample, b: &Sample, mut visit: impl FnMut(f64, u64, u64)) {
    let mut i = 0;
    let mut j = 0;
    while i < a.values.len() && j < b.values.len() {
        let x = a.values[i];
        let y = b.values[j];
        // Without a branch: which is less is anyone's guess, and a wrong guess costs more than both.
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        visit(x.min(y), a.below[i], b.below[j]);
    }
    for i in i..a.values.len() {
        visit(a.values[i], a.below[i + 1], b.count());
    }
    for j in j..b.values.len() {
        visit(b.values[j], a.count(), b.below[j + 1]);
    }
}

/// The same for any number of samples.
pub(crate) fn pooled(samples: &[&Sample], mut visit: impl FnMut(f64, &[u64])) {
    let mut next = vec![0_usize; samples.len()];
    let mut upto = vec![0_u64; samples.len()];
    loop {
        let heads = samples.iter().zip(&next);
        let heads = heads.filter_map(|(sample, &at)| sample.values.get(at));
        let Some(least) = heads.copied().reduce(f64::min) else {
            return;
        };
        for (i, sample) in samples.iter().enumerate() {
            if sample.values.get(next[i]) == Some(&least) {
                next[i] += 1;
                upto[i] = sample.below[next[i]];
            }
        }
        visit(least, &upto);
    }
}
