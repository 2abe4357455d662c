//! Arrivals that are paused and resumed while a run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::driver::real::StopFlag;
use record::schema::EventKind;

/// What a pause is told with, and what its end.
pub const PAUSED: usize = 1;
/// See [`PAUSED`].
pub const RESUMED: usize = 0;

/// Whether the user wants arrivals paused. Nobody starts while it is so; who is present goes on.
#[derive(Debug, Default)]
pub struct Pause(Arc<AtomicUsize>);

impl Pause {
    /// Asks for a pause, or for its end.
    pub fn ask(&self, paused: bool) {
        let wish = if paused { PAUSED } else { RESUMED };
        self.0.store(wish, Ordering::Relaxed);
    }

    /// Whether a pause is asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != RESUMED
    }

    /// For those who can ask by a number alone, such as signals: [`PAUSED`] or [`RESUMED`].
    pub fn wish(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}

/// Passes the wish on to the loops, and tells when it changed. A run that is ending has no arrivals to
/// pause.
pub(crate) fn heed(pause: &Pause, stop: &StopFlag) -> Option<EventKind> {
    let wanted = pause.is_asked();
    if wanted == stop.is_paused() || stop.is_draining() {
        return None;
    }
    stop.pause_arrivals(wanted);
    Some(match wanted {
        true => EventKind::ArrivalsPaused,
        false => EventKind::ArrivalsResumed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once_until_the_run_ends() {
        let (pause, stop) = (Pause::default(), StopFlag::default());
        assert_eq!(heed(&pause, &stop), None);
        pause.ask(true);
        assert_eq!(heed(&pause, &stop), Some(EventKind::ArrivalsPaused));
        assert!(stop.is_paused());
        assert_eq!(heed(&pause, &stop), None);
        pause.wish().store(RESUMED, Ordering::Relaxed);
        assert_eq!(heed(&pause, &stop), Some(EventKind::ArrivalsResumed));
        assert!(!stop.is_paused());
        stop.drain();
        pause.ask(true);
        assert_eq!(heed(&pause, &stop), None);
    }
}
