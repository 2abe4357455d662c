//! Names that stood for other addresses while the run went on.

use record::schema::{EventKind, Finding, Severity};

use crate::case::Case;
use crate::finding::finding;

/// Most changes that are named one by one.
const NAMED_MAX: usize = 3;

/// The names that changed, with their times.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let changes = case.figures.events.iter().filter_map(|event| {
        let EventKind::AddressesChanged { name, region, addresses, resolvers } = &event.what else {
            return None;
        };
        let from = match region.as_str() {
            "" => String::new(),
            region => format!(" from {region}"),
        };
        let addresses = addresses.iter().map(|(address, giving)| match giving {
            all if all == resolvers => address.clone(),
            some => format!("{address} ({some} of {resolvers} resolvers)"),
        });
        let at = units::span(event.at_ns);
        let now = addresses.collect::<Vec<_>>().join(", ");
        Some(format!("at {at} `{name}`{from} was {now}"))
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let first = changes.get(..NAMED_MAX).unwrap_or(&changes);
    let further = match changes.len() - first.len() {
        0 => String::new(),
        more => format!("; {} are in events.jsonl", units::counted(more as u64, "further change")),
    };
    let text = format!(
        "names were resolved to other addresses during the run, and new connections went there: {}{further}",
        first.join("; ")
    );
    let draft = finding(Severity::Note, "addresses-changed", text);
    vec![draft.with("changes", changes.len() as f64).done()]
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use record::schema::Event;

    use super::*;
    use crate::Figures;
    use crate::sample::{SECOND, figures, rendered};

    fn found(figures: &Figures) -> Vec<Finding> {
        findings(&Case::new(figures, &[]))
    }

    fn change(at_s: u64, region: &str, addresses: &[(&str, u32)]) -> Event {
        let addresses = addresses.iter();
        Event {
            at_ns: at_s * SECOND,
            what: EventKind::AddressesChanged {
                name: "api.lab".to_owned(),
                region: region.to_owned(),
                addresses: addresses.map(|(text, count)| ((*text).to_owned(), *count)).collect(),
                resolvers: 4,
            },
        }
    }

    #[test]
    fn the_first_changes_are_named_and_the_others_counted() {
        let mut figures = figures();
        assert_eq!(found(&figures), []);
        let two = [("10.0.0.1", 1), ("10.0.0.2", 3)];
        figures.events.push(change(21, "north", &two));
        figures.events.push(change(25, "", &[("10.0.0.2", 4)]));
        expect![[r#"
            Note addresses-changed
                names were resolved to other addresses during the run, and new connections went
                there: at 21 s `api.lab` from north was 10.0.0.1 (1 of 4 resolvers), 10.0.0.2 (3
                of 4 resolvers); at 25 s `api.lab` was 10.0.0.2
        "#]]
        .assert_eq(&rendered(&found(&figures)));
        for at_s in 30..40 {
            figures.events.push(change(at_s, "", &[("10.0.0.3", 4)]));
        }
        let text = &found(&figures)[0].text;
        assert!(text.ends_with("; 9 further changes are in events.jsonl"), "{text}");
    }
}
