//! Work that viewers ask for and that takes a while: one piece after the other, on one thread, within
//! bounds. What came of it is kept for a while, so that who asks again gets it at once.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces of work that wait at most; more are turned away.
const WAITING_MAX: usize = 8;
/// Pieces whose outcome is kept at most.
const KEPT_MAX: usize = 8;

/// How far a piece of work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage<T> {
    /// It waits for so many others.
    Waiting(usize),
    /// What is being done, how much of it is done, and how much there is.
    Working(Progress),
    Done(Arc<T>),
    /// In words.
    Failed(String),
}

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// In words.
    pub what: String,
    /// So many are done.
    pub done: usize,
    /// Of so many.
    pub of: usize,
}

/// Pieces of work, each told from others by what was asked for.
pub(crate) struct Jobs<K, T> {
    state: Mutex<State<K, T>>,
    asked: Condvar,
}

struct State<K, T> {
    /// Oldest first.
    all: VecDeque<Job<K, T>>,
    /// The number of the next one.
    next: u64,
}

struct Job<K, T> {
    number: u64,
    key: K,
    stage: Stage<T>,
}

impl<K: Clone + PartialEq, T> Jobs<K, T> {
    pub(crate) fn new() -> Jobs<K, T> {
        Jobs {
            state: Mutex::new(State {
                all: VecDeque::new(),
                next: 1,
            }),
            asked: Condvar::new(),
        }
    }

    /// The number of the work on this: of the one that is there, unless it failed; else of a new one.
    /// `None` where too many wait.
    pub(crate) fn ask(&self, key: &K) -> Option<u64> {
        let mut state = self.lock();
        let found = state.all.iter().find(|job| job.key == *key);
        if let Some(job) = found.filter(|job| !matches!(job.stage, Stage::Failed(_))) {
            return Some(job.number);
        }
        let waiting = |job: &&Job<K, T>| matches!(job.stage, Stage::Waiting(_));
        if state.all.iter().filter(waiting).count() >= WAITING_MAX {
            return None;
        }
        state.all.retain(|job| job.key != *key);
        let number = state.next;
        state.next += 1;
        state.all.push_back(Job {
            number,
            key: key.clone(),
            stage: Stage::Waiting(0),
        });
        self.asked.notify_one();
        Some(number)
    }

    /// How far it is; `None` where there is none of this number, or no more.
    pub(crate) fn stage(&self, number: u64) -> Option<Stage<T>> {
        let state = self.lock();
        let place = state.all.iter().position(|job| job.number == number)?;
        let over = |stage: &Stage<T>| matches!(stage, Stage::Done(_) | Stage::Failed(_));
        Some(match &state.all[place].stage {
            Stage::Waiting(_) => {
                let before = state.all.iter().take(place);
                Stage::Waiting(before.filter(|job| !over(&job.stage)).count())
            }
            Stage::Working(progress) => Stage::Working(progress.clone()),
            Stage::Done(made) => Stage::Done(Arc::clone(made)),
            Stage::Failed(why) => Stage::Failed(why.clone()),
        })
    }

    /// Does the next piece, waiting until there is one. Work that panics has failed, and the next goes on.
    pub(crate) fn work(&self, work: impl Fn(&K, &mut dyn FnMut(Progress)) -> Result<T, String>) {
        let (number, key) = self.begin();
        let mut tell = |progress| self.set(number, Stage::Working(progress));
        let made = catch_unwind(AssertUnwindSafe(|| work(&key, &mut tell)));
        let stage = match made {
            Ok(Ok(made)) => Stage::Done(Arc::new(made)),
            Ok(Err(why)) => Stage::Failed(why),
            Err(_) => {
                Stage::Failed("it met a fault of Throng's own; its terminal tells".to_owned())
            }
        };
        self.set(number, stage);
        self.forget();
    }

    fn begin(&self) -> (u64, K) {
        let mut state = self.lock();
        loop {
            let waiting = |job: &&mut Job<K, T>| matches!(job.stage, Stage::Waiting(_));
            if let Some(job) = state.all.iter_mut().find(waiting) {
                job.stage = Stage::Working(Progress::default());
                return (job.number, job.key.clone());
            }
            state = self
                .asked
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self, number: u64, stage: Stage<T>) {
        let mut state = self.lock();
        if let Some(job) = state.all.iter_mut().find(|job| job.number == number) {
            job.stage = stage;
        }
    }

    /// Drops the oldest outcomes.
    fn forget(&self) {
        let mut state = self.lock();
        let over = |job: &Job<K, T>| matches!(job.stage, Stage::Done(_) | Stage::Failed(_));
        let mut many = state.all.iter().filter(|job| over(job)).count();
        state.all.retain(|job| {
            let goes = over(job) && many > KEPT_MAX;
            many -= usize::from(goes);
            !goes
        });
    }

    /// All changes are single ones, so a thread that panicked left nothing by halves.
    fn lock(&self) -> MutexGuard<'_, State<K, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(key: &u32, _: &mut dyn FnMut(Progress)) -> Result<u32, String> {
        Ok(*key)
    }

    #[test]
    fn what_is_asked_again_is_done_once() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let (a, b) = (jobs.ask(&7).unwrap(), jobs.ask(&8).unwrap());
        assert_eq!(jobs.ask(&7), Some(a));
        assert_eq!(jobs.stage(b), Some(Stage::Waiting(1)));
        jobs.work(echo);
        assert_eq!(jobs.stage(a), Some(Stage::Done(Arc::new(7))));
        assert_eq!(jobs.stage(b), Some(Stage::Waiting(0)));
        assert_eq!(jobs.ask(&7), Some(a), "it is kept");
        assert_eq!(jobs.stage(99), None);
    }

    #[test]
    fn it_is_told_how_far_work_is_and_why_it_failed() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let number = jobs.ask(&1).unwrap();
        jobs.work(|_, tell| {
            let progress = Progress {
                what: "reading".to_owned(),
                done: 1,
                of: 2,
            };
            tell(progress.clone());
            assert_eq!(jobs.stage(number), Some(Stage::Working(progress)));
            Err("no such run".to_owned())
        });
        let failed = Stage::Failed("no such run".to_owned());
        assert_eq!(jobs.stage(number), Some(failed));
        // What failed may be tried again.
        assert_ne!(jobs.ask(&1), Some(number));
    }

    #[test]
    fn work_that_panics_has_failed_and_the_next_is_done() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let (a, b) = (jobs.ask(&1).unwrap(), jobs.ask(&2).unwrap());
        jobs.work(|_, _| panic!("as it should in this test"));
        assert!(matches!(jobs.stage(a), Some(Stage::Failed(_))));
        jobs.work(echo);
        assert_eq!(jobs.stage(b), Some(Stage::Done(Arc::new(2))));
    }

    #[test]
    fn neither_what_waits_nor_what_is_kept_grows_without_bounds() {
        let jobs: Jobs<usize, u32> = Jobs::new();
        let first = jobs.ask(&0).unwrap();
        for key in 1..WAITING_MAX {
            assert!(jobs.ask(&key).is_some());
        }
        assert_eq!(jobs.ask(&WAITING_MAX), None);
        for _ in 0..WAITING_MAX {
            jobs.work(|_, _| Ok(0));
        }
        assert!(jobs.ask(&WAITING_MAX).is_some());
        jobs.work(|_, _| Ok(0));
        assert_eq!(jobs.stage(first), None, "the oldest is forgotten");
        assert_eq!(jobs.lock().all.len(), KEPT_MAX);
    }
}
