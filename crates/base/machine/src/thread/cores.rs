//! Cores that loops have to themselves.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Cores kept for loops, until this is dropped by the thread that made it.
///
/// A loop that spins never sleeps, so whatever else runs on its core makes it late by whole turns of
/// the scheduler, up to 4 ms. If precise loops leave cores over, each has one of its own, and
/// the thread that keeps them, with all that it starts from then on, stays on the others.
#[derive(Debug)]
pub struct LoopCores {
    /// By the loop's number; empty: loops share all cores with everything else.
    by_loop: Vec<usize>,
    /// The cores that the thread was allowed before.
    before: Option<CpuSet>,
}

impl LoopCores {
    /// Keeps no core: loops run where the thread may.
    pub fn none() -> LoopCores {
        LoopCores { by_loop: Vec::new(), before: None }
    }

    /// Keeps cores for `of` precise loops, if they are fewer than the cores that this thread may use. They are taken
    /// from the last: interrupts often come to the first.
    pub fn keep(of: u32) -> LoopCores {
        let none = LoopCores::none();
        let Ok(before) = sched_getaffinity(None) else {
            return none;
        };
        if before.count() <= of {
            return none;
        }
        let allowed = (0..CpuSet::MAX_CPU).rev();
        let allowed = allowed.filter(|&core| before.is_set(core));
        let by_loop: Vec<usize> = allowed.take(of as usize).collect();
        let mut rest = before;
        by_loop.iter().for_each(|&core| rest.unset(core));
        if sched_setaffinity(None, &rest).is_err() {
            return none;
        }
        LoopCores { by_loop, before: Some(before) }
    }

    /// Moves what else runs in this process off these cores, for good: threads from before, such as the
    /// server of a live page.
    pub fn clear(&self) {
        self.clear_of(crate::procfs::own_threads().filter_map(Pid::from_raw));
    }

    fn clear_of(&self, threads: impl Iterator<Item = Pid>) {
        let Some(mut rest) = self.before else {
            return;
        };
        self.by_loop.iter().for_each(|&core| rest.unset(core));
        for thread in threads {
            // A thread that has ended is gone; one that may not be moved stays.
            let _ = sched_setaffinity(Some(thread), &rest);
        }
    }

    /// The core of a loop; `None`: any.
    pub fn of_loop(&self, number: u32) -> Option<usize> {
        self.by_loop.get(number as usize).copied()
    }
}

impl Drop for LoopCores {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // If that is denied, this thread stays where it is.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Moves the calling thread to a core, for good. If that is denied, it runs where it may.
pub fn move_to(core: usize) {
    let mut only = CpuSet::new();
    only.set(core);
    let _ = sched_setaffinity(None, &only);
}

/// Cores that processes may be confined to.
#[derive(Debug, Clone)]
pub struct CoreSet(CpuSet);

impl CoreSet {
    /// Confines the calling thread to them, for good, with all that it starts from then on. If that is denied, it runs where
    /// it may.
    pub fn confine(&self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// The cores that the calling thread may use in two halves; one that is left over belongs to neither. `None` if there is one
/// only.
pub fn core_halves() -> Option<[CoreSet; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let half = cores.len() / 2;
    let set = |cores: &[usize]| {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        CoreSet(set)
    };
    (half > 0).then(|| [set(&cores[..half]), set(&cores[half..2 * half])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_share_no_core_and_are_of_one_size() {
        apart(|before| {
            let Some([first, second]) = core_halves() else {
                assert_eq!(before.count(), 1);
                return;
            };
            assert_eq!(first.0.count(), second.0.count());
            assert_eq!(first.0.count(), before.count() / 2);
            let is_in_both = |core| first.0.is_set(core) && second.0.is_set(core);
            assert!(!(0..CpuSet::MAX_CPU).any(is_in_both));
            first.confine();
            assert_eq!(sched_getaffinity(None).unwrap(), first.0);
        });
    }

    /// Runs on a thread of its own, whose cores may be changed.
    fn apart(test: impl FnOnce(CpuSet) + Send + 'static) {
        let thread = std::thread::spawn(|| test(sched_getaffinity(None).unwrap()));
        thread.join().unwrap();
    }

    #[test]
    fn loops_get_the_last_cores_and_other_threads_stay_off_them() {
        apart(|before| {
            let of = before.count() - 1;
            let cores = LoopCores::keep(of);
            let kept: Vec<_> = (0..of).map_while(|n| cores.of_loop(n)).collect();
            let now = sched_getaffinity(None).unwrap();
            assert_eq!(kept.len(), of as usize);
            assert_eq!(now.count(), if of == 0 { before.count() } else { 1 });
            assert!(kept.iter().all(|&c| before.is_set(c) && !now.is_set(c)));
            assert_eq!(cores.of_loop(of), None);
            drop(cores);
            assert_eq!(sched_getaffinity(None).unwrap(), before);
        });
    }

    #[test]
    fn earlier_threads_are_moved_off_reserved_cores() {
        apart(|before| {
            let cores = LoopCores::keep(before.count().saturating_sub(1));
            let rest = sched_getaffinity(None).unwrap();
            // It was there before: it may run anywhere.
            std::thread::scope(|scope| {
                let (sender, receiver) = std::sync::mpsc::channel();
                let (go, going) = std::sync::mpsc::channel::<()>();
                let other = scope.spawn(move || {
                    sched_setaffinity(None, &before).unwrap();
                    sender.send(rustix::thread::gettid()).unwrap();
                    going.recv().unwrap();
                    sched_getaffinity(None).unwrap()
                });
                cores.clear_of(std::iter::once(receiver.recv().unwrap()));
                go.send(()).unwrap();
                assert_eq!(other.join().unwrap(), rest);
            });
        });
    }

    #[test]
    fn small_machines_reserve_no_core() {
        apart(|before| {
            for cores in [LoopCores::none(), LoopCores::keep(before.count())] {
                assert_eq!(cores.of_loop(0), None);
                assert_eq!(sched_getaffinity(None).unwrap(), before);
            }
        });
    }
}
