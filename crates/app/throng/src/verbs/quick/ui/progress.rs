//! Pages of runs in progress. Each is made from the complete record so far, so making one takes longer and longer, often on
//! the machine that generates the load.

use std::collections::HashMap;

/// Time between two pages of a run, by the time that making the first of them took: whatever the length of a run, its pages
/// take at most 5 % of a core.
const PAUSE_FACTOR: u64 = 20;

/// The newest page of each run in progress that somebody follows.
#[derive(Debug, Default)]
pub(super) struct ProgressPages(HashMap<String, ProgressPage>);

/// A page of a run in progress.
#[derive(Debug)]
struct ProgressPage {
    /// The document of the run.
    json: String,
    /// Time from which the next one may be made.
    due_ns: u64,
}

impl ProgressPages {
    /// Forgets the runs that are over.
    pub(super) fn retain(&mut self, is_running: impl Fn(&str) -> bool) {
        self.0.retain(|id, _| is_running(id));
    }

    /// The document of a run's page: the last one, or a new one if that is due. `now_ns`: a clock that is never set back.
    ///
    /// # Errors
    /// A new one is due and cannot be made.
    pub(super) fn document<E>(
        &mut self,
        id: &str,
        now_ns: impl Fn() -> u64,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<String, E> {
        let began_ns = now_ns();
        if let Some(last) = self.0.get(id)
            && began_ns < last.due_ns
        {
            return Ok(last.json.clone());
        }
        let json = make()?;
        let ended_ns = now_ns();
        let took_ns = ended_ns.saturating_sub(began_ns);
        let due_ns = ended_ns.saturating_add(took_ns.saturating_mul(PAUSE_FACTOR));
        self.0.insert(id.to_owned(), ProgressPage { json: json.clone(), due_ns });
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Somebody looks every 3 s for an hour, and each page takes 1 ms for each second of the record.
    #[test]
    fn pages_take_a_small_share_of_the_time_however_long_the_run_is() {
        let now_ns = Cell::new(0);
        let mut pages = ProgressPages::default();
        let mut spent_ns = 0;
        let mut made = 0;
        for poll in 1..=1_200 {
            now_ns.set(now_ns.get().max(poll * 3_000 * MS));
            let took_ns = now_ns.get() / 1_000;
            let make = || {
                now_ns.set(now_ns.get() + took_ns);
                spent_ns += took_ns;
                made += 1;
                Ok::<String, ()>(made.to_string())
            };
            let shown = pages.document("a", || now_ns.get(), make);
            assert_eq!(shown, Ok(made.to_string()), "the newest one is shown");
        }
        let share = spent_ns as f64 / now_ns.get() as f64;
        assert!(share < 1.0 / PAUSE_FACTOR as f64, "{share}");
        assert!((100..1_000).contains(&made), "{made}");
    }

    #[test]
    fn a_run_that_is_over_is_forgotten_and_a_failure_is_not_kept() {
        let mut pages = ProgressPages::default();
        let page = |text: &str| Ok::<String, String>(text.to_owned());
        assert_eq!(pages.document("a", || 0, || Err("torn".to_owned())), Err("torn".to_owned()));
        // Making takes no time on this clock, so the next one is due at once.
        assert_eq!(pages.document("a", || 0, || page("one")), page("one"));
        assert_eq!(pages.document("a", || 0, || page("two")), page("two"));
        pages.retain(|id| id != "a");
        assert!(pages.0.is_empty());
    }
}
