//! Arrivals that are paused and resumed during a run.

use driver::real::StopFlag;
use record::schema::EventKind;

use crate::control::Pause;

/// Passes the request on to the loops; returns the event if it changed. A run that is ending has no
/// arrivals to pause.
pub(super) fn poll(pause: &Pause, stop: &StopFlag) -> Option<EventKind> {
    let wanted = pause.is_requested();
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
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::control::RESUMED;

    #[test]
    fn each_change_is_an_event_until_the_run_ends() {
        let pause = Pause::default();
        let stop = StopFlag::default();
        assert_eq!(poll(&pause, &stop), None);
        pause.request(true);
        assert_eq!(poll(&pause, &stop), Some(EventKind::ArrivalsPaused));
        assert!(stop.is_paused());
        assert_eq!(poll(&pause, &stop), None);
        pause.number().store(RESUMED, Ordering::Relaxed);
        assert_eq!(poll(&pause, &stop), Some(EventKind::ArrivalsResumed));
        assert!(!stop.is_paused());
        stop.drain();
        pause.request(true);
        assert_eq!(poll(&pause, &stop), None);
    }
}
