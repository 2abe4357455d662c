//! `throng meters RUN…`: scalability meters and cost.

use std::path::Path;

use judge::cost::{self, CostError};
use judge::meters::{Subject, meter};
use judge::{Figures, lab_traffic};
use plan::meters::Meters;
use plan::prices::Prices;
use record::Run;
use report::Page;
use scenario::document::{Diagnostic, Source};

use crate::args::MetersArgs;
use crate::exit::{Exit, Failure, print_text};
use crate::verbs::show::judge_again;
use crate::{page, source, terminal};

pub(crate) fn meters(args: &MetersArgs) -> Result<Exit, Failure> {
    let mut meters = read(&args.meters, scenario::document::meters)?;
    if args.reference.is_some() {
        meters.reference.clone_from(&args.reference);
    }
    let prices = match &args.prices {
        Some(path) => Some(read(path, scenario::document::prices)?),
        None => None,
    };
    let mut runs = Vec::new();
    for path in &args.runs {
        runs.push(subject(path, &meters, prices.as_ref())?);
    }
    let found = meter(&meters, &runs).map_err(|error| Failure::new(Exit::Data, error))?;
    let first = found.first().map_or("", |run| run.name.as_str());
    let reference = meters.reference.as_deref().unwrap_or(first);
    if let Some(path) = &args.html {
        page::write(&Page::meters(&found, reference, page::VERSION), path)?;
    }
    let text = report::meters(&found, reference, terminal::style());
    print_text(&text)
}

/// Reads a file and prints all its diagnostics.
fn read<T>(
    path: &str,
    parse: fn(Source<'_>) -> (Option<T>, Vec<Diagnostic>),
) -> Result<T, Failure> {
    let text = source::read(path)?;
    let (value, diagnostics) = parse(Source { name: &text.name, text: &text.text });
    source::print_diagnostics(&text, &diagnostics);
    value.ok_or_else(|| {
        Failure::hinted(
            Exit::Data,
            format!("{path} cannot be used"),
            "docs/meters.md lists every key",
        )
    })
}

fn subject(path: &Path, meters: &Meters, prices: Option<&Prices>) -> Result<Subject, Failure> {
    let refuse = |error: record::RecordError| Failure::new(Exit::NoInput, error);
    let run = Run::open(path).map_err(refuse)?;
    let name = run.info().name.clone();
    let figures = Figures::read(&run).map_err(refuse)?;
    let hosts = meters.hosts_of(&name);
    let traffic = lab_traffic(&figures, hosts);
    let cost = prices.map(|prices| cost::cost(prices, &name, traffic.as_ref())).transpose();
    let cost = cost.map_err(|error| match error {
        CostError::NoSystem { .. } => Failure::hinted(
            Exit::Data,
            error.to_string(),
            "give the system in the price list the name of the run",
        ),
        CostError::TooLarge { .. } | CostError::NotMeasured { .. } => {
            Failure::new(Exit::Data, error)
        }
    })?;
    let summary = match run.summary().map_err(refuse)? {
        Some(summary) => summary,
        None => judge_again(&run, false)?,
    };
    Ok(Subject {
        hosts: hosts.to_owned(),
        name,
        figures,
        summary,
        probes: run.probes().map_err(refuse)?,
        // Imported samples have figures of operations, like a run.
        import: run.import().map_err(refuse)?.filter(|import| !import.has_operations()),
        cost,
    })
}
