//! The names that thresholds and figures of a run can use.

use std::collections::BTreeSet;

use plan::thresholds::{MeasureTags, MetricName, Names};
use record::operations::is_of_step;
use record::schema::{MeasureInfo, MetricInfo, RunInfo};

/// The key of the tag that measures of regions have.
const REGION: &str = "region";

/// The names of a run's measures, tags and phases.
pub struct RunNames<'r> {
    measures: Vec<&'r str>,
    metrics: Vec<MetricName<'r>>,
    tags: Vec<MeasureTags<'r>>,
    phases: Vec<&'r str>,
}

impl<'r> RunNames<'r> {
    /// The names of this run.
    pub fn of(info: &'r RunInfo) -> RunNames<'r> {
        RunNames {
            measures: info.measures.iter().map(|m| m.name.as_str()).collect(),
            metrics: info.metrics.iter().map(metric).collect(),
            tags: info.measures.iter().map(tagged).collect(),
            phases: info.phases.iter().map(|p| p.name.as_str()).collect(),
        }
    }

    /// The names in the form with which thresholds are parsed.
    pub fn names(&self) -> Names<'_> {
        Names {
            measures: &self.measures,
            metrics: &self.metrics,
            tags: &self.tags,
            phases: &self.phases,
        }
    }
}

/// The names under which a report shows a step that failed or had an incident. Failures name a measure, incidents what
/// measures of one name have in common, and the tag if only some of these were worse. A report has rows and lines for
/// measures, and for those over all regions. A step that is no operation has its own name.
pub fn shown_names(info: &RunInfo, step: &str, tag: Option<&str>) -> BTreeSet<String> {
    let tag = tag.and_then(|tag| tag.split_once('='));
    let is_of_step = |measure: &&MeasureInfo| {
        measure.name == step
            || measure.shared_name.as_deref() == Some(step)
            || measure.tags.contains_key(REGION) && measure.over_regions() == step
    };
    let has_tag = |measure: &&MeasureInfo| {
        tag.is_none_or(|(key, value)| measure.tags.get(key).is_some_and(|own| own == value))
    };
    let all = info.measures.iter().filter(is_of_step).filter(has_tag);
    let mut names: BTreeSet<String> =
        all.flat_map(|measure| [measure.name.clone(), measure.over_regions()]).collect();
    if names.is_empty() {
        names.insert(step.to_owned());
    }
    names
}

fn metric(metric: &MetricInfo) -> MetricName<'_> {
    MetricName { name: &metric.name, kind: metric.kind, unit: &metric.unit }
}

fn tagged(measure: &MeasureInfo) -> MeasureTags<'_> {
    MeasureTags {
        shared_name: measure.shared_name.as_deref(),
        tags: &measure.tags,
        is_request: is_of_step(&measure.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(tags: &[(&str, &str)]) -> MeasureInfo {
        let text: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut info = MeasureInfo::new(&format!("cart ({})", text.join(", ")), "request");
        info.shared_name = Some("cart".to_owned());
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        info.tags = tags.collect();
        info
    }

    #[test]
    fn failures_and_incidents_find_their_rows() {
        let mut info = crate::sample::figures().info;
        info.measures = vec![
            measure(&[("group", "buy"), ("region", "ireland")]),
            measure(&[("group", "buy"), ("region", "sydney")]),
            measure(&[("group", "look"), ("region", "sydney")]),
            MeasureInfo::new("pay", "request"),
        ];
        let names = |step: &str, tag| {
            shown_names(&info, step, tag).into_iter().collect::<Vec<_>>().join("; ")
        };
        let failed = "cart (group=buy, region=sydney)";
        assert_eq!(names(failed, None), "cart (group=buy); cart (group=buy, region=sydney)");
        assert_eq!(
            names("cart", Some("region=ireland")),
            "cart (group=buy); cart (group=buy, region=ireland)"
        );
        assert_eq!(names("cart", None).matches("cart").count(), 5);
        assert_eq!(names("pay", None), "pay");
        assert_eq!(names("`set` of `code`", None), "`set` of `code`");
    }
}
