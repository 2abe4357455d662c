use super::*;

/// Random123's own known answers (`kat_vectors`, `philox2x64 10`).
#[test]
fn philox_agrees_with_random123() {
    let max = u64::MAX;
    let pi = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
    assert_eq!(philox([0, 0], 0), [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]);
    assert_eq!(philox([max, max], max), [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20]);
    assert_eq!(philox(pi, 0xa409_3822_299f_31d0), [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d]);
}

/// A seed written into a scenario must draw the same in every later version.
#[test]
fn first_draws_never_change() {
    let first = |seed, user, purpose| Rng::new(seed, user, purpose).next_u64();
    assert_eq!(first(0, 0, Purpose::Arrivals), 0x3190_6fe9_af24_27ef);
    assert_eq!(first(0, 0, Purpose::Think), 0xd21d_393d_e024_9e3d);
    assert_eq!(first(20_150_805, 23_999, Purpose::Choice), 0x957d_74ea_bc35_c929);
    let mut rng = Rng::new(7, 1, Purpose::Value);
    let expected = [0xc73f_ff56_402a_ff3d, 0xcb46_4496_199b_de8a, 0xcc82_84c9_c0aa_e105];
    assert_eq!([(); 3].map(|()| rng.next_u64()), expected);
}

#[test]
fn stream_is_sixteen_bytes() {
    assert_eq!(size_of::<Rng>(), 16);
}

/// Chi-squared over 256 cells: mean 255, standard deviation √510 ≈ 22.6; five of them allowed.
fn chi_squared(cells: impl Iterator<Item = u64>, draws: u64) -> f64 {
    let mut counts = [0_u64; 256];
    cells.for_each(|cell| counts[cell as usize] += 1);
    let expected = draws as f64 / 256.0;
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

#[test]
fn bytes_of_a_stream_are_uniform() {
    for shift in (0..64).step_by(8) {
        let mut rng = Rng::new(1, 2, Purpose::Think);
        let cells = (0..65_536).map(|_| rng.next_u64() >> shift & 255);
        let chi = chi_squared(cells, 65_536);
        assert!((142.0..368.0).contains(&chi), "bits from {shift}: {chi}");
    }
}

/// What matters to us most: the first draws of neighbouring users and seeds are unrelated.
#[test]
fn first_draws_of_neighbours_are_uniform_and_uncorrelated() {
    let by_user: Vec<f64> =
        (0..65_536).map(|user| Rng::new(1, user, Purpose::Session).unit()).collect();
    let by_seed: Vec<f64> =
        (0..65_536).map(|seed| Rng::new(seed, 1, Purpose::Session).unit()).collect();
    for draws in [by_user, by_seed] {
        let chi = chi_squared(draws.iter().map(|unit| (unit * 256.0) as u64), 65_536);
        assert!((142.0..368.0).contains(&chi), "{chi}");
        let correlation: f64 =
            draws.windows(2).map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5)).sum::<f64>() * 12.0
                / 65_535.0;
        assert!(correlation.abs() < 5.0 / 256.0, "{correlation}");
    }
}

#[test]
fn purposes_and_users_have_streams_of_their_own() {
    let purposes = [
        Purpose::Arrivals,
        Purpose::Session,
        Purpose::Think,
        Purpose::Choice,
        Purpose::Value,
        Purpose::Wire,
        Purpose::Service,
        Purpose::Balance,
    ];
    let mut keys: Vec<u64> = (0..10_000)
        .flat_map(|user| purposes.map(|purpose| Rng::new(3, user, purpose).key))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 80_000);
}

#[test]
fn below_is_uniform_and_stays_below() {
    let mut rng = Rng::new(9, 9, Purpose::Value);
    let mut counts = [0_u32; 7];
    (0..70_000).for_each(|_| counts[rng.below(7) as usize] += 1);
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    assert_eq!(rng.below(1), 0);
}

/// With n = 3·2⁶² a plain multiplication would give every third number twice as often.
#[test]
fn below_has_no_bias_at_huge_bounds() {
    let mut rng = Rng::new(9, 10, Purpose::Value);
    let n = 3 << 62;
    let thirds = (0..30_000).filter(|_| rng.below(n).is_multiple_of(3)).count();
    assert!((9_600..10_400).contains(&thirds), "{thirds}");
}

#[test]
fn unit_is_below_one_and_fills_bytes_like_draws() {
    let mut rng = Rng::new(4, 4, Purpose::Wire);
    assert!((0..10_000).map(|_| rng.unit()).all(|unit| (0.0..1.0).contains(&unit)));
    let mut bytes = [0; 11];
    let mut filled = rng;
    let mut drawn = rng;
    filled.try_fill_bytes(&mut bytes).unwrap();
    assert_eq!(bytes[..8], drawn.next_u64().to_le_bytes());
    assert_eq!(bytes[8..], drawn.next_u64().to_le_bytes()[..3]);
    assert_eq!(filled, drawn);
}
