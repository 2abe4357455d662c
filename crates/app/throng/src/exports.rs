//! Exports the seconds of a run.

use controller::Tick;
use live::export::{
    ExportError, Exports, MeasureSecond, ProbeValue, ResponseTime, Second, Targets,
};

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
