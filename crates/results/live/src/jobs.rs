//! Jobs that viewers submit and that take a while: one after the other, on one thread, within bounds. Recent
//! outcomes are kept, so that the same job is not done twice.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most jobs in the queue; further ones are refused.
const WAITING_MAX: usize = 8;
/// Most outcomes that are kept.
const KEPT_MAX: usize = 8;

/// The stage of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage<T> {
    /// The number of jobs before it.
    Waiting(usize),
    Working(Progress),
    Done(Arc<T>),
    /// The reason, in words.
    Failed(String),
}

/// The progress of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The current activity, in words.
    pub what: String,
    /// Parts that are done.
    pub done: usize,
    /// Parts in total.
    pub total: usize,
}

/// Jobs, identified by their key.
pub(crate) struct Jobs<K, T> {
    state: Mutex<State<K, T>>,
    submitted: Condvar,
}

struct State<K, T> {
    /// Oldest first.
    all: VecDeque<Job<K, T>>,
    /// The number of the next job.
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
            state: Mutex::new(State { all: VecDeque::new(), next: 1 }),
            submitted: Condvar::new(),
        }
    }

    /// Submits a job and returns its number. If there is one with this key that has not failed, returns the number
    /// of that one. `None` if the queue is full.
    pub(crate) fn submit(&self, key: &K) -> Option<u64> {
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
        state.all.push_back(Job { number, key: key.clone(), stage: Stage::Waiting(0) });
        self.submitted.notify_one();
        Some(number)
    }

    /// The stage of a job; `None` if there is none of this number, or no longer.
    pub(crate) fn stage(&self, number: u64) -> Option<Stage<T>> {
        let state = self.lock();
        let index = state.all.iter().position(|job| job.number == number)?;
        let over = |stage: &Stage<T>| matches!(stage, Stage::Done(_) | Stage::Failed(_));
        Some(match &state.all[index].stage {
            Stage::Waiting(_) => {
                let before = state.all.iter().take(index);
                Stage::Waiting(before.filter(|job| !over(&job.stage)).count())
            }
            Stage::Working(progress) => Stage::Working(progress.clone()),
            Stage::Done(made) => Stage::Done(Arc::clone(made)),
            Stage::Failed(why) => Stage::Failed(why.clone()),
        })
    }

    /// Waits for the next job and does it. A job that panics has failed; the next one is not affected.
    pub(crate) fn work(&self, work: impl Fn(&K, &mut dyn FnMut(Progress)) -> Result<T, String>) {
        let (number, key) = self.begin();
        let mut report = |progress| self.set(number, Stage::Working(progress));
        let made = catch_unwind(AssertUnwindSafe(|| work(&key, &mut report)));
        let stage = match made {
            Ok(Ok(made)) => Stage::Done(Arc::new(made)),
            Ok(Err(why)) => Stage::Failed(why),
            Err(_) => Stage::Failed("an internal error; see the terminal of throng ui".to_owned()),
        };
        self.set(number, stage);
        self.evict();
    }

    fn begin(&self) -> (u64, K) {
        let mut state = self.lock();
        loop {
            let waiting = |job: &&mut Job<K, T>| matches!(job.stage, Stage::Waiting(_));
            if let Some(job) = state.all.iter_mut().find(waiting) {
                job.stage = Stage::Working(Progress::default());
                return (job.number, job.key.clone());
            }
            state = self.submitted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self, number: u64, stage: Stage<T>) {
        let mut state = self.lock();
        if let Some(job) = state.all.iter_mut().find(|job| job.number == number) {
            job.stage = stage;
        }
    }

    /// Drops the oldest outcomes.
    fn evict(&self) {
        let mut state = self.lock();
        let over = |job: &Job<K, T>| matches!(job.stage, Stage::Done(_) | Stage::Failed(_));
        let mut kept = state.all.iter().filter(|job| over(job)).count();
        state.all.retain(|job| {
            let evicted = over(job) && kept > KEPT_MAX;
            kept -= usize::from(evicted);
            !evicted
        });
    }

    /// Every change is a single step, so a thread that panicked left a consistent state.
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
    fn a_job_submitted_twice_is_done_once() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let a = jobs.submit(&7).unwrap();
        let b = jobs.submit(&8).unwrap();
        assert_eq!(jobs.submit(&7), Some(a));
        assert_eq!(jobs.stage(b), Some(Stage::Waiting(1)));
        jobs.work(echo);
        assert_eq!(jobs.stage(a), Some(Stage::Done(Arc::new(7))));
        assert_eq!(jobs.stage(b), Some(Stage::Waiting(0)));
        assert_eq!(jobs.submit(&7), Some(a), "it is kept");
        assert_eq!(jobs.stage(99), None);
    }

    #[test]
    fn a_job_reports_its_progress_and_why_it_failed() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let number = jobs.submit(&1).unwrap();
        jobs.work(|_, report| {
            let progress = Progress { what: "reading".to_owned(), done: 1, total: 2 };
            report(progress.clone());
            assert_eq!(jobs.stage(number), Some(Stage::Working(progress)));
            Err("no such run".to_owned())
        });
        let failed = Stage::Failed("no such run".to_owned());
        assert_eq!(jobs.stage(number), Some(failed));
        // A failed job may be submitted again.
        assert_ne!(jobs.submit(&1), Some(number));
    }

    #[test]
    fn a_job_that_panics_has_failed_and_the_next_is_done() {
        let jobs: Jobs<u32, u32> = Jobs::new();
        let a = jobs.submit(&1).unwrap();
        let b = jobs.submit(&2).unwrap();
        jobs.work(|_, _| panic!("on purpose"));
        assert!(matches!(jobs.stage(a), Some(Stage::Failed(_))));
        jobs.work(echo);
        assert_eq!(jobs.stage(b), Some(Stage::Done(Arc::new(2))));
    }

    #[test]
    fn the_queue_and_the_kept_outcomes_are_bounded() {
        let jobs: Jobs<usize, u32> = Jobs::new();
        let first = jobs.submit(&0).unwrap();
        for key in 1..WAITING_MAX {
            assert!(jobs.submit(&key).is_some());
        }
        assert_eq!(jobs.submit(&WAITING_MAX), None);
        for _ in 0..WAITING_MAX {
            jobs.work(|_, _| Ok(0));
        }
        assert!(jobs.submit(&WAITING_MAX).is_some());
        jobs.work(|_, _| Ok(0));
        assert_eq!(jobs.stage(first), None, "the oldest is evicted");
        assert_eq!(jobs.lock().all.len(), KEPT_MAX);
    }
}
