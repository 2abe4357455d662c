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
                let (from, to) = (number / places, number % places);
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

/// Light in fibre covers 200 km in a millisecond: no round trip over 100 km takes less than one.
#[test]
fn no_distance_is_faster_than_light() {
    // Latitude and longitude of the regions' cities.
    let cities = [
        (53.3, -6.3),
        (39.0, -77.5),
        (45.8, -119.7),
        (37.4, -121.9),
        (-23.5, -46.6),
        (1.3, 103.8),
        (35.7, 139.7),
        (-33.9, 151.2),
    ];
    let table = Table::by_name("aws-2015").unwrap();
    for (a, from) in cities.iter().enumerate() {
        for (b, to) in cities.iter().enumerate() {
            let [from_lat, to_lat, across] =
                [from.0, to.0, from.1 - to.1].map(|degrees: f64| degrees.to_radians());
            let cosine =
                from_lat.sin() * to_lat.sin() + from_lat.cos() * to_lat.cos() * across.cos();
            let km = 6371.0 * cosine.clamp(-1.0, 1.0).acos();
            let ms = table.round_trip_ns(a, b).unwrap() as f64 / 1e6;
            assert!(ms >= km / 100.0, "{a} {b}: {ms} ms for {km} km");
            assert!(ms <= 5.0 + km / 35.0, "{a} {b}: {ms} ms for {km} km");
        }
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
