//! What others published, as text and as CSV.

use compare::experiment::{
    Claim, Data, PublishedResponse, ResponseData, Row, UntilDecided, analyze as analysis_of,
};
use expect_test::expect;
use units::Unit;

use super::*;

/// Three policies with few and many users, three times each: two responses, of which something was published.
fn analysis() -> Analysis {
    let means = [70e6, 72e6, 66e6, 197e6, 234e6, 172e6];
    let served = [1.0, 1.0, 1.0, 0.45, 0.61, 0.39];
    let cells = (0..2).flat_map(|users| (0..3).map(move |policy| vec![policy, users]));
    let cells: Vec<Vec<usize>> = cells.collect();
    let rows = (0..3).flat_map(|time| {
        cells.iter().enumerate().map(move |(n, cell)| {
            let off = [-1.0, 0.0, 1.0][time];
            let spread = if cell[1] == 0 { 2e6 } else { 4e6 };
            let share = served[n] + if cell[1] == 0 { 0.0 } else { 0.01 * off };
            Row {
                levels: cell.clone(),
                values: vec![Some(means[n] + spread * off), Some(share)],
                bounds: Vec::new(),
                run: format!("run {n}"),
                repetition: 0,
            }
        })
    });
    let claim = |text: &str, order: &[&[usize]], users| Claim {
        text: text.to_owned(),
        factor: 0,
        order: order.iter().map(|group| group.to_vec()).collect(),
        at: vec![None, users],
    };
    let response = |name: &str, unit, published| ResponseData {
        name: name.to_owned(),
        unit,
        multiplicative: false,
        published,
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    analysis_of(&Data {
        name: "balancer".to_owned(),
        factors: vec![
            ("policy".to_owned(), names(&["random", "hash", "least"])),
            ("users".to_owned(), names(&["250", "500"])),
        ],
        rows: rows.collect(),
        responses: vec![
            response(
                "mean(work)",
                Unit::Nanoseconds,
                PublishedResponse {
                    source: "Olaru (2015)".to_owned(),
                    values: vec![None, Some(75e6), None, None, None, None],
                    claims: vec![
                        claim("hash is the slowest", &[&[1], &[0, 2]], None),
                        claim("least is the second slowest", &[&[1], &[2], &[0]], Some(1)),
                    ],
                },
            ),
            response(
                "success_rate(work)",
                Unit::Share,
                PublishedResponse {
                    claims: vec![claim("", &[&[1], &[0]], Some(1))],
                    ..PublishedResponse::default()
                },
            ),
        ],
        planned: cells.clone(),
        repetitions: 3,
        left_out: Vec::new(),
        confidence: 0.95,
        until: None,
    })
}

/// One factor, decided in twelve repetitions: the second level takes 10 % longer.
#[test]
fn decided_effects_have_a_table_with_the_number_of_runs() {
    let row = |repetition: u32, level: usize| Row {
        levels: vec![level],
        values: vec![Some(1e7 * (1.0 + 0.1 * level as f64) + 1e3 * f64::from(repetition))],
        bounds: Vec::new(),
        run: String::new(),
        repetition,
    };
    let rows = (1..=12).flat_map(|repetition| [0, 1].map(|level| row(repetition, level)));
    let response = ResponseData {
        name: "p99(work)".to_owned(),
        unit: Unit::Nanoseconds,
        multiplicative: false,
        published: PublishedResponse::default(),
    };
    let analysis = analysis_of(&Data {
        name: "cache".to_owned(),
        factors: vec![("cache".to_owned(), vec!["on".to_owned(), "off".to_owned()])],
        responses: vec![response],
        rows: rows.collect(),
        planned: vec![vec![0], vec![1]],
        repetitions: 12,
        left_out: Vec::new(),
        confidence: 0.95,
        until: Some(UntilDecided { difference: 0.05 }),
    });
    let text = experiment(&analysis, Style::PLAIN);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).contains("decided after 12 repetitions (24 runs), about "), "{text}");
    let row = text.lines().find(|line| line.starts_with("  cache of p99(work)")).unwrap();
    let row = words(row);
    assert!(
        row.starts_with("cache of p99(work) on off +10 % (+") && row.ends_with(") higher"),
        "{row}"
    );
}

#[test]
fn means_and_claims_stand_below_the_effects() {
    let text = experiment(&analysis(), Style::PLAIN);
    let published = text
        .split("\n\n")
        .filter(|part| part.starts_with("means by") || part.starts_with("published claims"));
    let published: Vec<&str> = published.collect();
    expect![[r#"
        means by policy  runs      mean         95 % interval  published
          users=250
            random          3  70.00 ms  67.17 ms to 72.83 ms          -
            hash            3  72.00 ms  69.17 ms to 74.83 ms   75.00 ms
            least           3  66.00 ms  63.17 ms to 68.83 ms          -
          users=500
            random          3  197.0 ms  191.3 ms to 202.7 ms          -
            hash            3  234.0 ms  228.3 ms to 239.7 ms          -
            least           3  172.0 ms  166.3 ms to 177.7 ms          -
          published: Olaru (2015)

        published claims
          - not separable: hash is the slowest (hash > random, least)
              users=250: not separable: 1 of 2 pairs overlap: hash 72.0 ms (69.2 ms to 74.8 ms) overlaps random 70.0 ms (67.2 ms
              to 72.8 ms)
              users=500: holds: hash 234 ms (228 ms to 240 ms) is above random 197 ms (191 ms to 203 ms)
          x does not hold: least is the second slowest (hash > least > random)
              users=500: does not hold: least 172 ms (166 ms to 178 ms) is below random 197 ms (191 ms to 203 ms)

        means by policy  runs   mean         95 % interval
          users=250
            random          3  100 %        100 % to 100 %
            hash            3  100 %        100 % to 100 %
            least           3  100 %        100 % to 100 %
          users=500
            random          3   45 %  43.587 % to 46.413 %
            hash            3   61 %  59.587 % to 62.413 %
            least           3   39 %  37.587 % to 40.413 %

        published claims
          + holds: hash > random
              users=500: holds: hash 61 % (59.59 % to 62.41 %) is above random 45 % (43.59 % to 46.41 %)
    "#]].assert_eq(&published.join("\n\n"));
}

#[test]
fn tables_have_the_means_and_the_claims() {
    expect![[r#"
        response,unit,policy,users,runs,mean,low,high,bound,published
        mean(work),ns,random,250,3,70000000,67174549.56811634,72825450.43188366,false,
        mean(work),ns,hash,250,3,72000000,69174549.56811634,74825450.43188366,false,75000000
        mean(work),ns,least,250,3,66000000,63174549.56811634,68825450.43188366,false,
        mean(work),ns,random,500,3,197000000,191349099.13623267,202650900.86376733,false,
        mean(work),ns,hash,500,3,234000000,228349099.13623267,239650900.86376733,false,
        mean(work),ns,least,500,3,172000000,166349099.13623267,177650900.86376733,false,
        success_rate(work),share,random,250,3,1,1,1,false,
        success_rate(work),share,hash,250,3,1,1,1,false,
        success_rate(work),share,least,250,3,1,1,1,false,
        success_rate(work),share,random,500,3,0.45,0.43587274784058166,0.46412725215941836,false,
        success_rate(work),share,hash,500,3,0.61,0.5958727478405816,0.6241272521594183,false,
        success_rate(work),share,least,500,3,0.38999999999999996,0.3758727478405816,0.4041272521594183,false,
    "#]].assert_eq(&experiment_means_csv(&analysis()));
    expect![[r#"
        response,claim,order,source,policy,users,verdict,why
        mean(work),hash is the slowest,"hash > random, least",Olaru (2015),,250,not separable,1 of 2 pairs overlap: hash 72.0 ms (69.2 ms to 74.8 ms) overlaps random 70.0 ms (67.2 ms to 72.8 ms)
        mean(work),hash is the slowest,"hash > random, least",Olaru (2015),,500,holds,hash 234 ms (228 ms to 240 ms) is above random 197 ms (191 ms to 203 ms)
        mean(work),least is the second slowest,hash > least > random,Olaru (2015),,500,does not hold,least 172 ms (166 ms to 178 ms) is below random 197 ms (191 ms to 203 ms)
        success_rate(work),hash > random,hash > random,,,500,holds,hash 61 % (59.59 % to 62.41 %) is above random 45 % (43.59 % to 46.41 %)
    "#]].assert_eq(&experiment_claims_csv(&analysis()));
}
