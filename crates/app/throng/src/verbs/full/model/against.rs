//! `throng model check DIR --against TABLE`: are rates and probabilities those of the table?

use std::path::Path;

use model::{REFERENCE_BYTES_MAX, Reference, ReferenceColumns};

use super::check::read;
use crate::args::ads::AboveOneArg;
use crate::args::full::{ModelCheckArgs, ReferenceArgs};
use crate::exit::{Exit, Failure, print_text};
use crate::{source, terminal};

/// The result, beside the model.
pub(super) const AGAINST: &str = "against.json";

pub(super) fn against(args: &ModelCheckArgs, table: &Path) -> Result<Exit, Failure> {
    let model = read(&args.dir)?;
    let reference = reference(&args.reference, table)?;
    let found = model::check_against_reference(&model, &reference).map_err(|error| {
        Failure::hinted(
            Exit::Data,
            error.to_string(),
            "--path takes the names of classes in model.json; `throng model --class NAME=REGEX` defines your own",
        )
    })?;
    let json = report::json(&found);
    record::write_whole(&args.dir.join(AGAINST), json.as_bytes())
        .map_err(|error| Failure::new(Exit::Io, error))?;
    let text = if args.json {
        json
    } else {
        report::model::reference_check(&found, terminal::style()) + "\n"
    };
    print_text(&text)?;
    Ok(if found.holds { Exit::Passed } else { Exit::Failed })
}

fn reference(args: &ReferenceArgs, table: &Path) -> Result<Reference, Failure> {
    let name = table.display().to_string();
    let remedy = "a table has one row per segment";
    let bytes = source::read_bytes(&name, REFERENCE_BYTES_MAX, remedy)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        Failure::hinted(Exit::Data, format!("{name}: {}", error.utf8_error()), "a table is UTF-8")
    })?;
    let meaning = ReferenceColumns {
        share: args.share.clone(),
        rate_per_s: args.rate.expect("clap requires it with --against"),
        speed: args.speed,
        path: args.path.clone(),
        above_one_is_one: matches!(args.above_one, AboveOneArg::TakeAsOne),
    };
    Reference::read(&text, &meaning).map_err(|error| {
        Failure::hinted(
            Exit::Data,
            format!("{name}, {error}"),
            "docs/modelling-reference.md describes the table",
        )
    })
}
