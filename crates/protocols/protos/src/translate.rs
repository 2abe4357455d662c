//! The compiler's descriptors → the schema.

use std::collections::HashMap;

use grpc::{Enumeration, Field, Kind, Label, Message, Method, Schema, Service};
use prost_reflect::{
    Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, Kind as Type, MessageDescriptor,
    ServiceDescriptor,
};

/// Numbers of messages and enumerations, by name.
struct Numbers {
    messages: HashMap<String, u32>,
    enumerations: HashMap<String, u32>,
}

/// All messages, enumerations and services of the pool.
pub(crate) fn schema(pool: &DescriptorPool) -> Schema {
    let numbered =
        |names: Vec<String>| -> HashMap<String, u32> { names.into_iter().zip(0..).collect() };
    let messages: Vec<MessageDescriptor> = pool.all_messages().collect();
    let enumerations: Vec<EnumDescriptor> = pool.all_enums().collect();
    let numbers = Numbers {
        messages: numbered(messages.iter().map(|m| m.full_name().to_owned()).collect()),
        enumerations: numbered(enumerations.iter().map(|e| e.full_name().to_owned()).collect()),
    };
    Schema {
        messages: messages.iter().map(|own| message(own, &numbers)).collect(),
        enumerations: enumerations.iter().map(enumeration).collect(),
        services: pool.services().map(|own| service(&own, &numbers)).collect(),
    }
}

fn message(own: &MessageDescriptor, numbers: &Numbers) -> Message {
    let oneofs: Vec<String> = own.oneofs().map(|own| own.name().to_owned()).collect();
    // Each optional field may be a group of its own.
    let places: HashMap<String, u32> = oneofs.iter().cloned().zip(0..).collect();
    let mut fields: Vec<Field> = own.fields().map(|own| field(&own, numbers, &places)).collect();
    fields.sort_by_key(|field| field.number);
    Message { name: own.full_name().to_owned(), fields, oneofs }
}

/// `places`: those of the message's groups of fields, by name.
fn field(own: &FieldDescriptor, numbers: &Numbers, places: &HashMap<String, u32>) -> Field {
    let label = match own.cardinality() {
        _ if own.is_map() => Label::Map,
        Cardinality::Repeated => Label::Repeated,
        Cardinality::Required => Label::Required,
        Cardinality::Optional => Label::Single,
    };
    let oneof = own.containing_oneof();
    Field {
        number: own.number(),
        name: own.name().to_owned(),
        json_name: own.json_name().to_owned(),
        kind: if own.is_group() { Kind::Group } else { kind(&own.kind(), numbers) },
        label,
        is_packed: own.is_packed(),
        has_presence: own.supports_presence(),
        oneof: oneof.and_then(|group| places.get(group.name()).copied()),
    }
}

fn kind(own: &Type, numbers: &Numbers) -> Kind {
    match own {
        Type::Double => Kind::Double,
        Type::Float => Kind::Float,
        Type::Int32 => Kind::Int32,
        Type::Int64 => Kind::Int64,
        Type::Uint32 => Kind::Uint32,
        Type::Uint64 => Kind::Uint64,
        Type::Sint32 => Kind::Sint32,
        Type::Sint64 => Kind::Sint64,
        Type::Fixed32 => Kind::Fixed32,
        Type::Fixed64 => Kind::Fixed64,
        Type::Sfixed32 => Kind::Sfixed32,
        Type::Sfixed64 => Kind::Sfixed64,
        Type::Bool => Kind::Bool,
        Type::String => Kind::Text,
        Type::Bytes => Kind::Bytes,
        Type::Message(message) => Kind::Message(numbers.message(message)),
        Type::Enum(enumeration) => Kind::Enumeration(numbers.enumerations[enumeration.full_name()]),
    }
}

impl Numbers {
    /// The pool knows all messages that it refers to.
    fn message(&self, own: &MessageDescriptor) -> u32 {
        self.messages[own.full_name()]
    }
}

/// The descriptor's own list is ordered by number, and has the last of several names of one number first.
fn enumeration(own: &EnumDescriptor) -> Enumeration {
    let values = own.enum_descriptor_proto().value.iter();
    let values = values.map(|value| (value.name().to_owned(), value.number()));
    Enumeration { name: own.full_name().to_owned(), values: values.collect() }
}

fn service(own: &ServiceDescriptor, numbers: &Numbers) -> Service {
    let methods = own.methods().map(|method| Method {
        name: method.name().to_owned(),
        request: numbers.message(&method.input()),
        reply: numbers.message(&method.output()),
        client_streams: method.is_client_streaming(),
        server_streams: method.is_server_streaming(),
    });
    Service { name: own.full_name().to_owned(), methods: methods.collect() }
}
