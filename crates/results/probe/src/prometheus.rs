//! Pages in Prometheus' text format, those of `throng probe --serve` among them.

pub(crate) mod text;

use plan::probes::Page;
use regex::Regex;
use text::{CREATED, Kind, Sample, samples};

use crate::reading::{GENERATOR_ROLE, Reading, SourceId};
use crate::source::{ReadError, Source};
use crate::web::Web;

/// The metric in which Throng serves the values of its probes; its labels name them.
const OWN: &str = "throng_probe";

/// One page.
#[derive(Debug)]
pub(crate) struct Prometheus {
    web: Web,
    /// Metrics that are kept; empty: all but the buckets of histograms.
    wanted: Vec<Regex>,
}

impl Prometheus {
    pub(crate) fn new(page: &Page, metrics: &[String]) -> Prometheus {
        // What the scenario checked is right.
        let complete = metrics.iter().filter_map(|text| Regex::new(&format!("^(?:{text})$")).ok());
        Prometheus { web: Web::new(page), wanted: complete.collect() }
    }

    fn is_wanted(&self, sample: &Sample<'_>) -> bool {
        match self.wanted.is_empty() {
            true => !sample.name.ends_with("_bucket"),
            false => self.wanted.iter().any(|wanted| wanted.is_match(&sample.name)),
        }
    }

    fn read_into(&self, text: &str, reading: &mut Reading) -> Result<(), ReadError> {
        let mut count = 0;
        for sample in samples(text) {
            let sample = sample.map_err(|(line, problem)| {
                ReadError::Nonsense(format!("line {line}: {problem}"))
            })?;
            if sample.name == OWN {
                own(&sample, reading);
                count += 1;
                continue;
            }
            if !self.is_wanted(&sample) {
                continue;
            }
            count += 1;
            let metric = match sample.labels {
                "" => sample.name.to_string(),
                labels => format!("{}{{{labels}}}", sample.name),
            };
            if !sample.value.is_finite() {
                reading.not_finite(&metric, sample.value);
                continue;
            }
            let unit = unit(&sample.name);
            match sample.kind {
                Kind::Gauge => reading.gauge(&metric, unit, sample.value),
                Kind::Counter => reading.counter(&metric, &rate_of(unit), sample.value),
            }
        }
        if count == 0 {
            return Err(ReadError::Nonsense("none of the requested metrics is present".to_owned()));
        }
        Ok(())
    }
}

impl Source for Prometheus {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        self.read_into(&self.web.fetch()?, reading)
    }
}

/// The values of another Throng's probes. The cost of the queries there is not this run's cost.
fn own(sample: &Sample<'_>, reading: &mut Reading) {
    let label = |name| sample.label(name).unwrap_or_default();
    let role = label("role");
    if role == GENERATOR_ROLE {
        return;
    }
    let id = SourceId { role, region: label("region"), source: label("source"), via: label("via") };
    reading.value_of(id, &label("metric"), &label("unit"), sample.value);
}

/// The base unit that a name ends in (Prometheus, "Metric and label naming").
fn unit(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let name = name.strip_suffix("_sum").unwrap_or(name);
    if name.ends_with("_bytes") {
        "B"
    } else if name.ends_with("_seconds") || name.ends_with(CREATED) {
        "s"
    } else {
        "1"
    }
}

fn rate_of(unit: &str) -> String {
    format!("{unit}/s")
}

#[cfg(test)]
mod tests {
    use plan::probes::Secret;

    use super::*;
    use crate::reading::tests::{Names, reading};

    fn prometheus(metrics: &[&str]) -> Prometheus {
        let page = Page { url: Secret::new("http://127.0.0.1:1/".to_owned()), headers: Vec::new() };
        let metrics: Vec<String> = metrics.iter().map(|&m| m.to_owned()).collect();
        Prometheus::new(&page, &metrics)
    }

    const PAGE: &str = "\
# HELP http_requests_total The total.
# TYPE http_requests_total counter
http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000
# TYPE memory_bytes gauge
memory_bytes 12.5
# TYPE took_seconds histogram
took_seconds_bucket{le=\"+Inf\"} 4
took_seconds_sum 8
took_seconds_count 4
";

    #[test]
    fn wanted_metrics_are_recorded_in_their_unit() {
        let all = prometheus(&[]);
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        all.read_into(PAGE, &mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["memory_bytes B 12.5"]);
        reading.begin(1_000_000_000);
        let page = PAGE.replace("1027", "1030").replace("_sum 8", "_sum 9");
        all.read_into(&page, &mut reading).unwrap();
        let expected = [
            "http_requests_total{method=\"post\",code=\"200\"} 1/s 3",
            "memory_bytes B 12.5",
            "took_seconds_sum s/s 1",
            "took_seconds_count 1/s 0",
        ];
        assert_eq!(names.lines(reading.take()), expected);
    }

    #[test]
    fn names_in_utf_8_keep_the_page() {
        let page = "# TYPE \"http.requests_total\" counter\n{\"http.requests_total\",code=\"200\"} 7\n\
                    # TYPE \"temperatur.größe\" gauge\n{\"temperatur.größe\"} 21.5\nup 1\n";
        let all = prometheus(&[]);
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        all.read_into(page, &mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["temperatur.größe 1 21.5", "up 1 1"]);
        reading.begin(1_000_000_000);
        prometheus(&["http.*"]).read_into(&page.replace("} 7", "} 9"), &mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["http.requests_total{code=\"200\"} 1/s 2"]);
    }

    #[test]
    fn a_moment_of_creation_is_no_rate() {
        let page = "# TYPE jobs counter\njobs_total 5\njobs_created 1700000000\n";
        let all = prometheus(&[]);
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        all.read_into(page, &mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["jobs_created s 1700000000"]);
    }

    #[test]
    fn values_that_are_not_finite_are_reported_once() {
        let page = "# TYPE took summary\ntook{quantile=\"0.5\"} NaN\ntook{quantile=\"0.9\"} NaN\n\
                    took_sum 0\ntook_count 0\nlimit +Inf\n";
        let all = prometheus(&[]);
        let mut reading = reading();
        reading.begin(0);
        all.read_into(page, &mut reading).unwrap();
        let answer = reading.take();
        assert!(answer.values.is_empty());
        let expected = "values that are no finite numbers are left out, the first of took{quantile=\"0.5\"}: NaN";
        assert_eq!(answer.remarks, [expected]);
        reading.begin(1_000_000_000);
        all.read_into(&page.replace("+Inf", "-Inf"), &mut reading).unwrap();
        let answer = reading.take();
        assert_eq!((answer.values.len(), answer.remarks.len()), (2, 0));
    }

    #[test]
    fn names_match_whole() {
        for (metrics, expected) in [
            (&["memory"][..], None),
            (&["memory_.*"], Some("memory_bytes")),
            (&["nothing|memory_bytes"], Some("memory_bytes")),
        ] {
            let mut reading = reading();
            let result = prometheus(metrics).read_into(PAGE, &mut reading);
            assert_eq!(result.is_ok(), expected.is_some());
            let found = reading.take().new.first().map(|info| info.metric.clone());
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn what_another_throng_serves_keeps_its_names() {
        let page = "# TYPE throng_probe gauge\nthrong_probe{role=\"servers\",region=\"eu\",source=\
                    \"we\\\"b\",via=\"host\",metric=\"cpu_busy\",unit=\"%\"} 12\nthrong_probe{role=\
                    \"generator\",source=\"x\",metric=\"probe_cpu\",unit=\"%\"} 1\n";
        let mut reading = reading();
        prometheus(&[]).read_into(page, &mut reading).unwrap();
        let answer = reading.take();
        assert_eq!(answer.values, [(0, 12.0)]);
        let info = &answer.new[0];
        assert_eq!((info.role.as_str(), info.region.as_str()), ("servers", "eu"));
        assert_eq!((info.source.as_str(), info.via.as_str()), ("we\"b", "host"));
        assert_eq!((info.metric.as_str(), info.unit.as_str()), ("cpu_busy", "%"));
    }
}
