//! Made-up data: names, addresses, words. The lists are those of the crate `fake`; all draws are the user's own, so that a
//! run can be repeated.

use fake::locales::{AR_SA, DE_DE, Data, EN, FR_FR, IT_IT, JA_JP, NL_NL, PT_BR, TR_TR, ZH_CN};
use serde::Serialize;
use stats::rng::Rng;

use super::{EvalError, Value};

/// Most words or sentences of one call.
const COUNT_MAX: i64 = 10_000;
/// Words of a sentence in a paragraph.
const SENTENCE_WORDS: (u64, u64) = (4, 12);
/// Domains that are reserved for examples (RFC 2606 §3).
const DOMAINS: &[&str] = &["example.com", "example.net", "example.org"];

/// Kinds of values that can be made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Invention {
    Name,
    FirstName,
    LastName,
    UserName,
    Email,
    Phone,
    Company,
    Job,
    Address,
    Street,
    City,
    State,
    Postcode,
    Country,
    CountryCode,
    Latitude,
    Longitude,
    Ipv4,
    Ipv6,
    Word,
    Words,
    Sentence,
    Paragraph,
}

impl Invention {
    /// All by name.
    pub const ALL: &[(&str, Invention)] = &[
        ("name", Invention::Name),
        ("first_name", Invention::FirstName),
        ("last_name", Invention::LastName),
        ("user_name", Invention::UserName),
        ("email", Invention::Email),
        ("phone", Invention::Phone),
        ("company", Invention::Company),
        ("job", Invention::Job),
        ("address", Invention::Address),
        ("street", Invention::Street),
        ("city", Invention::City),
        ("state", Invention::State),
        ("postcode", Invention::Postcode),
        ("country", Invention::Country),
        ("country_code", Invention::CountryCode),
        ("latitude", Invention::Latitude),
        ("longitude", Invention::Longitude),
        ("ipv4", Invention::Ipv4),
        ("ipv6", Invention::Ipv6),
        ("word", Invention::Word),
        ("words", Invention::Words),
        ("sentence", Invention::Sentence),
        ("paragraph", Invention::Paragraph),
    ];

    /// How many words or sentences it has if nothing else is said; `None`: it is not counted.
    pub fn count(self) -> Option<i64> {
        match self {
            Invention::Words => Some(3),
            Invention::Sentence => Some(8),
            Invention::Paragraph => Some(4),
            _ => None,
        }
    }
}

/// Language of the names and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Language {
    Arabic,
    Chinese,
    Dutch,
    English,
    French,
    German,
    Italian,
    Japanese,
    Portuguese,
    Turkish,
}

impl Language {
    /// All by their codes (ISO 639-1).
    pub const ALL: &[(&str, Language)] = &[
        ("en", Language::English),
        ("ar", Language::Arabic),
        ("de", Language::German),
        ("fr", Language::French),
        ("it", Language::Italian),
        ("ja", Language::Japanese),
        ("nl", Language::Dutch),
        ("pt", Language::Portuguese),
        ("tr", Language::Turkish),
        ("zh", Language::Chinese),
    ];

    fn lists(self) -> Lists {
        match self {
            Language::Arabic => Lists::in_locale::<AR_SA>(),
            Language::Chinese => Lists::in_locale::<ZH_CN>(),
            Language::Dutch => Lists::in_locale::<NL_NL>(),
            Language::English => Lists::in_locale::<EN>(),
            Language::French => Lists::in_locale::<FR_FR>(),
            Language::German => Lists::in_locale::<DE_DE>(),
            Language::Italian => Lists::in_locale::<IT_IT>(),
            Language::Japanese => Lists::in_locale::<JA_JP>(),
            Language::Portuguese => Lists::in_locale::<PT_BR>(),
            Language::Turkish => Lists::in_locale::<TR_TR>(),
        }
    }
}

type List = &'static [&'static str];

/// A language's lists. In its patterns a word in braces stands for what it names, `#` for a digit and `^` for one but 0.
struct Lists {
    first_names: List,
    last_names: List,
    name: &'static str,
    words: List,
    company_suffixes: List,
    companies: List,
    job: &'static str,
    seniorities: List,
    fields: List,
    positions: List,
    street: &'static str,
    street_suffixes: List,
    numbers: List,
    city: &'static str,
    city_suffixes: List,
    states: List,
    postcodes: List,
    countries: List,
    country_codes: List,
}

impl Lists {
    fn in_locale<L: Data>() -> Lists {
        Lists {
            first_names: L::NAME_FIRST_NAME,
            last_names: L::NAME_LAST_NAME,
            name: L::NAME_TPL,
            words: L::LOREM_WORD,
            company_suffixes: L::COMPANY_SUFFIX,
            companies: L::COMPANY_NAME_TPLS,
            job: L::JOB_TITLE_TPL,
            seniorities: L::JOB_SENIORITY,
            fields: L::JOB_FIELD,
            positions: L::JOB_POSITION,
            street: L::ADDRESS_STREET_TPL,
            street_suffixes: L::ADDRESS_STREET_SUFFIX,
            numbers: L::ADDRESS_BUILDING_NUMBER_FORMATS,
            city: L::ADDRESS_CITY_TPL,
            city_suffixes: L::ADDRESS_CITY_SUFFIX,
            states: L::ADDRESS_STATE,
            postcodes: L::ADDRESS_POSTCODE_FORMATS,
            countries: L::ADDRESS_COUNTRY,
            country_codes: L::ADDRESS_COUNTRY_CODE,
        }
    }
}

/// Made-up data. `count`: how many words or sentences.
pub(super) fn invented(
    what: Invention,
    language: Language,
    count: Option<i64>,
    rng: &mut Rng,
) -> Result<Value, EvalError> {
    let count = count.or(what.count()).unwrap_or(1);
    if !(1..=COUNT_MAX).contains(&count) {
        let text = format!("fake: {count} is not in 1..={COUNT_MAX}");
        return Err(EvalError::Argument(text));
    }
    let mut maker = Maker { lists: language.lists(), rng };
    let degrees = |half: f64, rng: &mut Rng| {
        let degrees = (rng.unit() * 2.0 - 1.0) * half;
        Ok(Value::Float((degrees * 1e6).round() / 1e6))
    };
    let text = match what {
        Invention::Latitude => return degrees(90.0, maker.rng),
        Invention::Longitude => return degrees(180.0, maker.rng),
        Invention::Words => maker.words(count as u64),
        Invention::Sentence => maker.sentence(count as u64),
        Invention::Paragraph => maker.paragraph(count),
        Invention::Address => maker.address(language),
        Invention::Street => {
            let street = maker.street();
            maker.numbered(&street, language)
        }
        Invention::Email | Invention::UserName => Maker {
            // In letters that addresses can hold.
            lists: Language::English.lists(),
            rng: maker.rng,
        }
        .user(what),
        other => maker.text(other),
    };
    Ok(Value::text(&text))
}

struct Maker<'r> {
    lists: Lists,
    rng: &'r mut Rng,
}

impl Maker<'_> {
    fn pick(&mut self, list: List) -> &'static str {
        match list.len() {
            0 => "",
            count => list[self.rng.below(count as u64) as usize],
        }
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.rng.below(high - low + 1)
    }

    /// A pattern with its digits drawn.
    fn digits(&mut self, pattern: &str) -> String {
        let digit = |low: u64, rng: &mut Rng| char::from(b'0' + (low + rng.below(10 - low)) as u8);
        let draw = |c: char| match c {
            '#' => digit(0, self.rng),
            '^' => digit(1, self.rng),
            other => other,
        };
        pattern.chars().map(draw).collect()
    }

    fn text(&mut self, what: Invention) -> String {
        let list = match what {
            Invention::FirstName => self.lists.first_names,
            Invention::LastName => self.lists.last_names,
            Invention::State => self.lists.states,
            Invention::Country => self.lists.countries,
            Invention::CountryCode => self.lists.country_codes,
            Invention::Word => self.lists.words,
            Invention::Name => return self.name(),
            Invention::Phone => return self.phone(),
            Invention::Company => return self.company(),
            Invention::Job => return self.job(),
            Invention::City => return self.city(),
            Invention::Postcode => return self.postcode(),
            Invention::Ipv4 => {
                let octets = [(); 4].map(|()| self.rng.below(256).to_string());
                return octets.join(".");
            }
            _ => {
                let parts = [(); 8].map(|()| format!("{:x}", self.rng.below(1 << 16)));
                return parts.join(":");
            }
        };
        self.pick(list).to_owned()
    }

    fn name(&mut self) -> String {
        let first = self.pick(self.lists.first_names);
        let last = self.pick(self.lists.last_names);
        let name = self.lists.name.replace("{FirstName}", first);
        name.replace("{LastName}", last)
    }

    /// A number of North America that is never assigned: 555-0100 to 555-0199 of any area (NANPA).
    fn phone(&mut self) -> String {
        let area = self.between(200, 989);
        format!("+1{area}55501{:02}", self.rng.below(100))
    }

    fn company(&mut self) -> String {
        let pattern = self.pick(self.lists.companies);
        let one = self.pick(self.lists.last_names);
        let two = self.pick(self.lists.last_names);
        let suffix = self.pick(self.lists.company_suffixes);
        let name = pattern.replace("{Name_1}", one).replace("{Name_2}", two);
        name.replace("{Suffix}", suffix)
    }

    fn job(&mut self) -> String {
        let seniority = self.pick(self.lists.seniorities);
        let field = self.pick(self.lists.fields);
        let position = self.pick(self.lists.positions);
        let job = self.lists.job.replace("{Seniority}", seniority);
        job.replace("{Field}", field).replace("{Position}", position)
    }

    fn street(&mut self) -> String {
        let name = self.pick(self.lists.last_names);
        let suffix = self.pick(self.lists.street_suffixes);
        let street = self.lists.street.replace("{StreetName}", name);
        street.replace("{StreetSuffix}", suffix)
    }

    /// A street with a number: before it in English and French, else behind it.
    fn numbered(&mut self, street: &str, language: Language) -> String {
        let pattern = self.pick(self.lists.numbers);
        let number = self.digits(pattern);
        match language {
            Language::English | Language::French => format!("{number} {street}"),
            _ => format!("{street} {number}"),
        }
    }

    fn city(&mut self) -> String {
        let name = self.pick(self.lists.last_names);
        let suffix = self.pick(self.lists.city_suffixes);
        let city = self.lists.city.replace("{CityName}", name);
        city.replace("{CitySuffix}", suffix)
    }

    fn postcode(&mut self) -> String {
        let pattern = self.pick(self.lists.postcodes);
        self.digits(pattern)
    }

    fn address(&mut self, language: Language) -> String {
        let street = self.street();
        let street = self.numbered(&street, language);
        let city = self.city();
        let postcode = self.postcode();
        match language {
            Language::English => {
                let state = self.pick(self.lists.states);
                format!("{street}, {city}, {state} {postcode}")
            }
            _ => format!("{street}, {postcode} {city}"),
        }
    }

    /// A user's name, or an e-mail address that reaches nobody.
    fn user(&mut self, what: Invention) -> String {
        let plain = |name: &str| {
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let first = plain(self.pick(self.lists.first_names));
        let last = plain(self.pick(self.lists.last_names));
        let number = self.rng.below(10_000);
        match what {
            Invention::Email => {
                let domain = self.pick(DOMAINS);
                format!("{first}.{last}{number}@{domain}")
            }
            _ => format!("{first}_{last}{number}"),
        }
    }

    fn words(&mut self, count: u64) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.pick(self.lists.words)).collect();
        words.join(" ")
    }

    fn sentence(&mut self, count: u64) -> String {
        let words = self.words(count);
        let mut letters = words.chars();
        let first = letters.next().map(char::to_uppercase);
        let first: String = first.into_iter().flatten().collect();
        format!("{first}{}.", letters.as_str())
    }

    fn paragraph(&mut self, count: i64) -> String {
        let sentences = (0..count).map(|_| {
            let words = self.between(SENTENCE_WORDS.0, SENTENCE_WORDS.1);
            self.sentence(words)
        });
        let sentences: Vec<String> = sentences.collect();
        sentences.join(" ")
    }
}

#[cfg(test)]
mod tests;
