//! Operations that were due, and the reasons for which some of them never began.

use std::collections::BTreeMap;

use record::schema::WhyNot;

use super::Figures;

impl Figures {
    /// Operations of these measures that were due; `None` where the record does not say so.
    pub(crate) fn due_of(&self, measures: &[usize]) -> Option<u64> {
        let due = |&measure: &usize| self.due.get(measure).copied().unwrap_or(0);
        (!self.due.is_empty()).then(|| measures.iter().map(due).sum())
    }

    /// Operations of these measures that were due and never began, by [`WhyNot::name`].
    pub(crate) fn never_begun_of(&self, measures: &[usize]) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let all = self.never_begun.iter();
        for missed in all.filter(|missed| measures.contains(&usize::from(missed.measure))) {
            *found.entry(missed.why.name().to_owned()).or_default() += missed.operations;
        }
        found
    }

    /// Attempts of these measures that were tried again.
    pub(crate) fn retried_of(&self, measures: &[usize]) -> u64 {
        let retried = measures.iter().filter_map(|&m| self.retried.get(m));
        retried.sum()
    }

    /// Steps that never began for one reason, the most first, those of all regions as one.
    pub(crate) fn never_begun_since(&self, why: WhyNot) -> Vec<(String, u64)> {
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for missed in self.never_begun.iter().filter(|missed| missed.why == why) {
            let info = self.info.measures.get(usize::from(missed.measure));
            let name = info.map_or_else(String::new, |info| match self.info.regions.is_empty() {
                true => info.name.clone(),
                false => info.over_regions(),
            });
            *found.entry(name).or_default() += missed.operations;
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        found.sort_by_key(|(_, operations)| std::cmp::Reverse(*operations));
        found
    }

    /// Users that were due in a pause of arrivals and never started.
    pub(crate) fn users_kept_away(&self) -> u64 {
        let paused = self.total(|row| row.users_paused);
        paused.saturating_sub(self.total(|row| row.users_resumed))
    }
}
