//! How good the estimators are, on samples whose distribution is known: the tables of docs/modelling-reference.md, which
//! `make model-truth` writes there. `fit_truth fits|tests|hurst|counts [SAMPLES]` prints one of them as
//! Markdown; what it prints follows from SAMPLES alone, whatever the number of cores.

mod distributions;
mod hursts;
mod tests;

use std::error::Error;
use std::io::Write;

/// Samples of each kind, unless another number is given.
const SAMPLES: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let section = args.next().unwrap_or_default();
    let samples = args.next().map_or(Ok(SAMPLES), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
    match section.as_str() {
        "fits" => distributions::table(&mut out, samples)?,
        "tests" => tests::table(&mut out, samples)?,
        "hurst" => hursts::table(&mut out, samples)?,
        "counts" => hursts::table_of_counts(&mut out, samples)?,
        _ => return Err("say which table: fits, tests, hurst or counts".into()),
    }
    Ok(out.flush()?)
}

/// What `sample` makes of each number below `count`, in their order, on all cores.
fn each<T: Send>(count: u64, sample: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut parts: Vec<_> = std::thread::scope(|scope| {
        let sample = &sample;
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let own = (thread as u64..count).step_by(threads);
                    own.map(sample).collect::<Vec<T>>()
                })
            })
            .collect();
        let done = handles.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.map(|part| part.expect("a sample panics only where its distribution is wrong"))
            .map(Vec::into_iter)
            .collect()
    });
    (0..count as usize).filter_map(|number| parts[number % threads].next()).collect()
}

/// Estimates of one number whose truth is known.
#[derive(Default)]
struct Estimates {
    off: f64,
    squares: f64,
    held: u64,
    count: u64,
}

impl Estimates {
    /// `off`: estimate less truth; `held`: whether the interval holds the truth.
    fn add(&mut self, off: f64, held: bool) {
        self.off += off;
        self.squares += off * off;
        self.held += u64::from(held);
        self.count += 1;
    }

    fn bias(&self) -> f64 {
        self.off / self.count as f64
    }

    /// The root of the mean squared error.
    fn error(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }

    /// The share of intervals that hold the truth, in percent.
    fn held(&self) -> f64 {
        self.held as f64 / self.count as f64 * 100.0
    }
}

/// A count with commas, as the docs have it.
fn commas(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        _ => format!("{},{:03}", commas(count / 1_000), count % 1_000),
    }
}
