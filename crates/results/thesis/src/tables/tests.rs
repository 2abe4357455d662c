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
                assert!(PUBLISHED.printed(table, id, 0).is_some(), "{at} repeats nothing");
            }
        }
    }
    assert_eq!(start("baseline"), Some("2015-07-31T15:36"));
    assert_eq!(start("proposed_2"), Some("2015-08-05T11:09"));
    assert_eq!(start("elsewhere"), None);
    assert_eq!(systems(), ["baseline", "proposed_1", "proposed_2"]);
}

/// What follows from printed figures alone needs no results.
#[test]
fn without_results_nothing_is_invented() {
    let reproduction = reproduce(&[]);
    for table in &reproduction.tables {
        for row in &table.rows {
            let computed = row.cells.iter().all(|cell| cell.computed.is_some());
            let derived = ["8.6", "8.7", "8.8"].contains(&table.number.as_str())
                || ["SPM", "SLM", "CRUM min"].iter().any(|name| row.name.starts_with(name));
            assert_eq!(computed, derived, "table {}, {}", table.number, row.name);
        }
    }
}

#[test]
fn rounding_excuses_only_figures_whose_inputs_agree() {
    let derived = || Reading {
        range: (9.5, 10.5),
        others: vec![("otherwise".to_owned(), (30.0, 31.0))],
        ..Reading::exactly(10.0)
    };
    let agreement = |found: f64, printed| {
        let reading = joined(Reading::exactly(found), derived());
        assert_eq!(reading.value, found);
        agree(Some(printed), Some(&reading))
    };
    assert_eq!(agreement(10.2, "9.80"), Agreement::WithinRounding);
    let differs = |digits, words: &str| Agreement::Differs {
        digits,
        note: Some(format!("it does follow {words}")),
    };
    assert_eq!(agreement(12.0, "9.80"), differs(0, "from the printed inputs"));
    assert_eq!(agreement(12.0, "30.5"), differs(0, "otherwise"));
}

#[test]
fn a_figure_that_is_printed_for_another_system_too_is_named() {
    let row = |printed: [&str; 3]| Row {
        id: String::new(),
        name: String::new(),
        unit: String::new(),
        printed: printed.iter().map(|p| Some((*p).to_owned())).collect(),
        repeats: None,
    };
    let same = copied(&row(["46019", "3878655", "3878655"]), 2).unwrap();
    assert_eq!(same, "the same is printed for proposed I");
    let same = copied(&row(["3", "3", "3"]), 2).unwrap();
    assert_eq!(same, "the same is printed for baseline and proposed I");
    assert_eq!(copied(&row(["1", "2", "3"]), 2), None);
}
