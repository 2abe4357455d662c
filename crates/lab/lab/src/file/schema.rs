//! The JSON Schema that editors check and complete lab files with.

use serde_json::Value;

/// JSON Schema, draft 2020-12.
pub fn schema() -> Value {
    // A test parses it.
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::file::{faults, hosts, links, locations, names, network, read, scaling, services};

    /// The keys of the schema are those that the reader knows.
    #[test]
    fn the_schema_has_the_keys_of_the_reader() {
        let schema = schema();
        for (place, keys) in [
            ("/properties", read::KEYS),
            ("/properties/network/anyOf/1/properties", network::KEYS),
            ("/$defs/link/properties", &[links::END_KEYS, links::NUMBER_KEYS].concat()),
            ("/$defs/inside/properties", links::NUMBER_KEYS),
            ("/$defs/link/properties/bursts/properties", links::BURST_KEYS),
            ("/$defs/host/properties", hosts::KEYS),
            ("/$defs/service/properties", services::KEYS),
            ("/properties/traffic/properties", read::TRAFFIC_KEYS),
            ("/$defs/scaling/properties", scaling::KEYS),
            ("/$defs/alarm/properties", scaling::ALARM_KEYS),
            ("/$defs/dns/properties", names::KEYS),
            ("/$defs/site/properties", names::SITE_KEYS),
            ("/$defs/location/properties", locations::KEYS),
            ("/$defs/fault/properties", faults::KEYS),
        ] {
            let found = schema.pointer(place).and_then(Value::as_object);
            let found: BTreeSet<&str> = found.unwrap().keys().map(String::as_str).collect();
            assert_eq!(found, keys.iter().copied().collect(), "{place}");
        }
        let found = schema.pointer("/$defs/alarm/properties/metric/enum");
        assert_eq!(found, Some(&Value::from(scaling::METRICS.to_vec())));
        let emulators = network::EMULATORS.iter().map(|(name, _)| Value::from(*name));
        let found = schema.pointer("/properties/network/anyOf/1/properties/by/enum");
        assert_eq!(found, Some(&emulators.collect()));
        let packages = services::PACKAGES.map(|(name, _)| Value::from(name));
        let found = schema.pointer("/$defs/service/properties/package/enum");
        assert_eq!(found, Some(&Value::from(packages.to_vec())));
    }
}
