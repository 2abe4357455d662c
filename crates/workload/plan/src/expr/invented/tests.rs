use stats::rng::Purpose;

use super::*;

fn rng(user: u64) -> Rng {
    Rng::new(1, user, Purpose::Value)
}

fn make(what: Invention, language: Language, rng: &mut Rng) -> String {
    let made = invented(what, language, None, rng).unwrap();
    made.to_text().to_string()
}

#[test]
fn the_same_draws_make_the_same_data() {
    for (_, what) in Invention::ALL {
        for (_, language) in Language::ALL {
            let mut one = rng(7);
            let mut two = rng(7);
            let first = make(*what, *language, &mut one);
            assert_eq!(first, make(*what, *language, &mut two), "{what:?}");
            assert_eq!(one, two);
            assert!(!first.is_empty() && !first.contains(['{', '}']), "{first}");
        }
    }
}

#[test]
fn every_kind_varies_and_has_its_form() {
    for (_, what) in Invention::ALL {
        let mut rng = rng(1);
        let made: std::collections::BTreeSet<String> =
            (0..200).map(|_| make(*what, Language::English, &mut rng)).collect();
        assert!(made.len() > 20, "{what:?}: {made:?}");
        for text in made {
            let is_right = match what {
                Invention::Email => {
                    let (user, domain) = text.split_once('@').unwrap();
                    user.is_ascii() && DOMAINS.contains(&domain)
                }
                Invention::UserName => text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
                Invention::Phone => {
                    let digits = text.strip_prefix("+1").unwrap();
                    digits.len() == 10 && digits[3..].starts_with("55501")
                }
                Invention::Ipv4 => text.parse::<std::net::Ipv4Addr>().is_ok(),
                Invention::Ipv6 => text.parse::<std::net::Ipv6Addr>().is_ok(),
                Invention::Latitude => text.parse::<f64>().unwrap().abs() <= 90.0,
                Invention::Longitude => text.parse::<f64>().unwrap().abs() <= 180.0,
                Invention::Words => text.split(' ').count() == 3,
                Invention::Sentence => text.split(' ').count() == 8 && text.ends_with('.'),
                Invention::Paragraph => text.matches('.').count() == 4,
                _ => true,
            };
            assert!(is_right, "{what:?}: {text}");
        }
    }
}

#[test]
fn languages_have_names_of_their_own() {
    let name = |language| make(Invention::Name, language, &mut rng(3));
    let english = name(Language::English);
    for (code, language) in Language::ALL.iter().filter(|(code, _)| *code != "en") {
        assert_ne!(name(*language), english, "{code}");
    }
    assert!(!name(Language::Japanese).is_ascii());
    let address = make(Invention::Email, Language::Japanese, &mut rng(3));
    assert!(address.is_ascii());
}

#[test]
fn counts_have_limits() {
    let sentence =
        |count| invented(Invention::Sentence, Language::English, Some(count), &mut rng(1));
    assert_eq!(sentence(1).unwrap().to_text().matches(' ').count(), 0);
    assert!(sentence(0).is_err() && sentence(COUNT_MAX + 1).is_err());
}
