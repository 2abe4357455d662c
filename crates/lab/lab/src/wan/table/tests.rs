use super::*;

#[test]
fn the_thesis_round_trips_to_ireland_stand() {
    let table = Table::by_name("aws-2015").unwrap();
    let expected = [3, 78, 135, 152, 194, 194, 217, 314];
    for (place, ms) in expected.into_iter().enumerate() {
        assert_eq!(table.round_trip_ns(0, place), Some(ms * 1_000_000));
        assert_eq!(table.round_trip_ns(place, 0), Some(ms * 1_000_000));
    }
    assert_eq!(table.place("sydney"), Some(7));
    assert_eq!(table.place("atlantis"), None);
    assert_eq!(table.round_trip_ns(8, 0), None);
    assert!(Table::by_name("aws-1066").is_none());
}

#[test]
fn each_table_is_a_matrix_of_valid_links() {
    for table in TABLES {
        let places = table.places.len();
        assert_eq!(table.round_trips.len(), places * (places + 1) / 2);
        for losses in [Losses::None, Losses::ByDelay] {
            let links = table.links(losses);
            assert_eq!(links.len(), places * places);
            for (number, link) in links.iter().enumerate() {
                link.check().unwrap();
                let from = number / places;
                let to = number % places;
                assert_eq!(*link, links[to * places + from], "{from} {to}");
            }
        }
    }
    for access in ACCESS {
        access.down.check().unwrap();
        access.up.check().unwrap();
        assert_eq!(Access::by_name(access.name), Some(access));
    }
}

/// The latitude and longitude of a region's city.
fn city(region: &str) -> (f64, f64) {
    match region {
        "ireland" => (53.3, -6.3),
        "virginia" => (39.0, -77.5),
        "oregon" => (45.8, -119.7),
        "california" => (37.4, -121.9),
        "sao-paulo" => (-23.5, -46.6),
        "singapore" => (1.3, 103.8),
        "tokyo" => (35.7, 139.7),
        "sydney" => (-33.9, 151.2),
        "ohio" => (40.0, -83.0),
        "frankfurt" => (50.1, 8.7),
        "mumbai" => (19.1, 72.9),
        "cape-town" => (-33.9, 18.4),
        other => panic!("{other} is nowhere"),
    }
}

/// Light in fibre covers 200 km in a millisecond: no round trip over 100 km takes less than one. No way is more than six
/// times as long as it could be, which that between São Paulo and Cape Town nearly is.
#[test]
fn no_distance_is_faster_than_light() {
    for table in TABLES {
        for (a, one) in table.places.iter().enumerate() {
            for (b, other) in table.places.iter().enumerate() {
                let from = city(one);
                let to = city(other);
                let [from_lat, to_lat, across] =
                    [from.0, to.0, from.1 - to.1].map(|degrees: f64| degrees.to_radians());
                let cosine =
                    from_lat.sin() * to_lat.sin() + from_lat.cos() * to_lat.cos() * across.cos();
                let km = 6371.0 * cosine.clamp(-1.0, 1.0).acos();
                let ms = table.round_trip_ns(a, b).unwrap() as f64 / 1e6;
                let pair = format!("{} {one} {other}: {ms} ms for {km} km", table.name);
                assert!(ms >= km / 100.0, "{pair}");
                assert!(ms <= 6.0 + km * 6.0 / 100.0, "{pair}");
            }
        }
    }
}

/// The medians of July 2026 between five of the regions, in milliseconds, from the data set that `table` names.
#[test]
fn a_year_later_distances_are_nearly_the_same() {
    let table = Table::by_name("aws-2025").unwrap();
    let measured = [
        ("ireland", "virginia", 68.36),
        ("ireland", "oregon", 116.92),
        ("ireland", "tokyo", 202.51),
        ("ireland", "mumbai", 119.68),
        ("virginia", "oregon", 61.05),
        ("virginia", "tokyo", 149.09),
        ("virginia", "mumbai", 196.48),
        ("oregon", "tokyo", 98.15),
        ("oregon", "mumbai", 230.34),
        ("tokyo", "mumbai", 126.69),
    ];
    for (one, other, ms) in measured {
        let [a, b] = [one, other].map(|region| table.place(region).unwrap());
        let here = table.round_trip_ns(a, b).unwrap() as f64 / 1e6;
        assert!((here / ms - 1.0).abs() < 0.06, "{one} {other}: {here} and {ms} ms");
    }
}

#[test]
fn losses_follow_the_delay() {
    let loss = |us: u64| match loss_by_delay(us * 1000) {
        Loss::Independent { p } => (p * 1e6).round() as u32,
        other => panic!("{other:?}"),
    };
    let expected = [
        (0, 6000),
        (1000, 6000),
        (8000, 6500),
        (15_000, 7000),
        (50_000, 10_000),
        (75_000, 12_000),
        (100_000, 14_000),
        (157_000, 14_000),
    ];
    for (us, p) in expected {
        assert_eq!(loss(us), p, "{us} µs");
    }
}

#[test]
fn mobile_links_lose_what_their_comments_say() {
    let mean = |name| Access::by_name(name).unwrap().down.loss.mean();
    assert!((mean("mobile-4g") - 0.002).abs() < 1e-4);
    assert!((mean("mobile-3g") - 0.0099).abs() < 1e-4);
}
