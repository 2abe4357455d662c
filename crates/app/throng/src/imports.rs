//! Imports from other tools.

use report::TsungRequest;

pub(crate) use convert::{Conversion, Leniency, is_xml};

/// Requests of a Tsung file, as Tsung's log has them.
pub(crate) fn tsung_requests(converted: &Conversion) -> Vec<TsungRequest> {
    let requests = converted.requests.iter();
    let described = requests.map(|request| TsungRequest {
        measure: request.measure.clone(),
        tag: request.tag.clone(),
        transaction: request.transaction.clone(),
        acts_on_match: request.acts_on_match,
    });
    described.collect()
}
