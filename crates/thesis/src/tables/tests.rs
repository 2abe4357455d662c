use super::*;

#[test]
fn the_printed_figures_can_be_read() {
    assert_eq!(PUBLISHED.systems.len(), 3);
    for table in &PUBLISHED.tables {
        for row in &table.rows {
            let at = format!("table {}, {}", table.number, row.id);
            assert_eq!(row.printed.len(), 3, "{at}");
            for printed in row.printed.iter().flatten() {
                assert!(agreement::parse(printed).is_some(), "{at}: {printed}");
            }
            if let Some((table, id)) = row.repeats.as_ref().and_then(|as_| as_.split_once('/')) {
                assert!(
                    PUBLISHED.printed(table, id, 0).is_some(),
                    "{at} repeats nothing"
                );
            }
        }
    }
    assert_eq!(start("baseline"), Some("2015-07-31T15:36"));
    assert_eq!((start("proposed_2"), start("elsewhere")), (None, None));
}

/// What follows from printed figures alone needs no results.
#[test]
fn without_results_nothing_is_invented() {
    let reproduction = reproduce(&[]);
    for table in &reproduction.tables {
        for row in &table.rows {
            let computed = row.cells.iter().all(|cell| cell.computed.is_some());
            let derived = ["8.6", "8.7", "8.8"].contains(&table.number.as_str())
                || ["SPM", "SLM", "CRUM min"]
                    .iter()
                    .any(|name| row.name.starts_with(name))
                || row.name.ends_with(", all");
            assert_eq!(computed, derived, "table {}, {}", table.number, row.name);
        }
    }
}
