//! Exports the seconds of a run.

use controller::Tick;
use live::export::{
    ExportError, Exports, MeasureSecond, MetricSecond, MetricValue, ProbeValue, ResponseTime,
    Second, Targets,
};
use record::schema::MetricInfo;
use stats::metrics::{MetricKind, MetricStat, MetricValues};

use crate::args::ExportArgs;
use crate::exit::{Exit, Failure, print_note};

/// The exports of a run.
pub(crate) struct RunExports(Exports);

/// Starts the exports; `None` if none was requested.
pub(crate) fn start(args: &ExportArgs) -> Result<Option<RunExports>, Failure> {
    let targets = Targets {
        prometheus: args.prometheus,
        otlp: args.otlp.clone(),
        statsd: args.statsd.clone(),
    };
    if args.prometheus.is_none() && args.otlp.is_none() && args.statsd.is_none() {
        return Ok(None);
    }
    let exports = Exports::start(&targets).map_err(|error| match error {
        ExportError::Listen { address, source } => Failure::hinted(
            Exit::System,
            format!("cannot serve metrics at {address}: {source}"),
            "give another address, or port 0 for a free one",
        ),
        error => Failure::new(Exit::System, error),
    })?;
    if let Some(address) = exports.page_address() {
        print_note(&format!("metrics at http://{address}/metrics"));
    }
    Ok(Some(RunExports(exports)))
}

impl RunExports {
    /// Exports a second.
    pub(crate) fn second(&mut self, tick: &Tick<'_>) {
        let measures: Vec<MeasureSecond> = tick
            .measures
            .iter()
            .map(|measure| MeasureSecond {
                name: measure.name.clone(),
                count: measure.count,
                completed: measure.completed,
                errors: measure.errors,
                response: measure.response.map(|all| {
                    all.map(|found| ResponseTime { ns: found.value(), is_bound: found.is_bound() })
                }),
            })
            .collect();
        let metrics: Vec<MetricSecond> =
            tick.metrics().map(|(info, values)| metric(info, values)).collect();
        let probes: Vec<ProbeValue> = tick
            .probes
            .iter()
            .filter_map(|probed| {
                Some(ProbeValue { info: probed.info.clone(), value: probed.value? })
            })
            .collect();
        self.0.second(Second {
            info: tick.info,
            row: tick.row,
            measures: &measures,
            errors: tick.errors,
            metrics: &metrics,
            probes: &probes,
        });
    }

    /// Ends the exports and prints what could not be exported.
    pub(crate) fn end(self) {
        for text in self.0.end() {
            print_note(&format!("warning: {text}"));
        }
    }
}

fn metric(info: &MetricInfo, values: &MetricValues) -> MetricSecond {
    // Something was recorded, so that the kind's own statistics have a value.
    let value = |stat| values.value(stat, 1.0).unwrap_or(0.0);
    let recorded = values.count();
    let found = match info.kind {
        MetricKind::Counter => MetricValue::Sum(value(MetricStat::Sum)),
        MetricKind::Gauge => MetricValue::Last(value(MetricStat::Last)),
        MetricKind::Share => {
            MetricValue::Hits((value(MetricStat::Share) * recorded as f64).round() as u64)
        }
        MetricKind::Quantity => {
            MetricValue::Quantiles([0.5, 0.95, 0.99].map(|q| value(MetricStat::Quantile(q))))
        }
    };
    MetricSecond { name: info.name.clone(), unit: info.unit.clone(), recorded, value: found }
}
