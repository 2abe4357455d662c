use super::*;

#[test]
fn the_range_of_a_block_is_that_of_its_sums() {
    // Deviations from 2.5: −1.5, −0.5, 0.5, 1.5; sums −1.5, −2, −1.5, 0.
    let found = range(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert!((found - 2.0 / 1.25_f64.sqrt()).abs() < 1e-12);
    assert_eq!(range(&[3.0; 5]), None);
}

#[test]
fn a_valley_is_found() {
    let found = golden_section(0.0, 10.0, |x| (x - 3.3).powi(2));
    assert!((found - 3.3).abs() < 1e-6);
}

#[test]
fn series_without_h_have_no_estimate() {
    // All its power lies at the highest frequency that is taken.
    let turn = std::f64::consts::TAU * 60.0 / 1_000.0;
    let wave: Vec<f64> = (0..1_000).map(|i| (turn * f64::from(i)).sin()).collect();
    assert_eq!(local_whittle(&wave, 60, 0.95), None);
    let ramp: Vec<f64> = (0..1_000).map(|i| f64::from(i).powi(3)).collect();
    assert_eq!(local_whittle(&ramp, 20, 0.95), None);
}
