//! The newest value of each probe.

use record::ProbeInfo;

use crate::pool::ProbeEvent;

/// A probe's newest value.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeValue {
    pub info: ProbeInfo,
    /// Index of the source in [`crate::Pool::sources`].
    pub source: usize,
    /// When, since the run's start; negative before it.
    pub at_ns: i64,
    /// In the probe's unit; `None`: there is none yet, or the source is lost.
    pub value: Option<f64>,
}

/// All probes in the order of their first values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Newest(Vec<ProbeValue>);

impl Newest {
    /// Takes a piece of news.
    pub fn take(&mut self, news: &ProbeEvent) {
        match news {
            ProbeEvent::Probe { source, info } => self.0.push(ProbeValue {
                info: info.clone(),
                source: *source,
                at_ns: 0,
                value: None,
            }),
            ProbeEvent::Row(row) => {
                if let Some(probed) = self.0.get_mut(row.probe as usize) {
                    (probed.at_ns, probed.value) = (row.at_ns, Some(row.value));
                }
            }
            // Its last values are out of date.
            ProbeEvent::Lost { source, .. } => {
                let its = self.0.iter_mut().filter(|probed| probed.source == *source);
                its.for_each(|probed| probed.value = None);
            }
            ProbeEvent::Back { .. } | ProbeEvent::Remark { .. } => {}
        }
    }

    /// The probes.
    pub fn list(&self) -> &[ProbeValue] {
        &self.0
    }

    /// The probes that have a value.
    pub fn values(&self) -> impl Iterator<Item = (&ProbeInfo, f64)> {
        let all = self.0.iter();
        all.filter_map(|probed| Some((&probed.info, probed.value?)))
    }
}

#[cfg(test)]
mod tests {
    use record::ProbeRow;

    use super::*;

    #[test]
    fn a_lost_source_has_no_newest_values() {
        let info = ProbeInfo {
            role: "host".to_owned(),
            region: String::new(),
            source: "a".to_owned(),
            metric: "cpu_busy".to_owned(),
            unit: "%".to_owned(),
            via: "host".to_owned(),
        };
        let mut newest = Newest::default();
        newest.take(&ProbeEvent::Probe { source: 3, info });
        let row = ProbeRow { at_ns: 7, probe: 0, value: 12.0 };
        newest.take(&ProbeEvent::Row(row));
        assert_eq!(newest.values().map(|(_, value)| value).sum::<f64>(), 12.0);
        let lost = |source| ProbeEvent::Lost { source, at_ns: 8, why: String::new() };
        newest.take(&lost(2));
        assert_eq!(newest.values().count(), 1);
        newest.take(&lost(3));
        assert_eq!(newest.values().count(), 0);
        assert_eq!(newest.list().len(), 1);
    }
}
