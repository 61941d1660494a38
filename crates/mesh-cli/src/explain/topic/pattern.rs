//! Patterns: filters of NATS, bindings of AMQP, and what manifests consume.

use mesh_core::binding::{BindingPattern, Untranslatable};
use mesh_core::manifest::{EventPattern, Mesh};
use mesh_core::subject::Filter;
use mesh_core::topology::{AmqpExchange, MeshSubject, StreamName, Topology};

use super::mention;
use super::reading::{Cover, Reading, Refused};
use super::subject::{consumer, stream};
use super::who;

/// Each thing that a text with a wildcard in it can be.
pub(super) fn explain(
    text: &Filter,
    exchange: Option<AmqpExchange>,
    mesh: Option<&Mesh>,
) -> Vec<Reading> {
    let has_hash = text.tokens().any(|token| token == "#");
    let of_the_mesh = text.as_str().starts_with("mesh.");
    let mut found = Vec::new();
    let events = match exchange {
        None => !of_the_mesh,
        Some(exchange) => exchange == AmqpExchange::Events,
    };
    // A single wildcard is rather the whole of a broker than all events.
    let whole = text.tokens().count() == 1;
    if events && !begins_otherwise(text) && !whole {
        found.extend(of_events(text, mesh));
    }
    if has_hash || exchange.is_some() {
        found.extend(binding(text, exchange));
    }
    if !has_hash && exchange.is_none() {
        found.push(filter(text, mesh));
    }
    if events && whole {
        found.extend(of_events(text, mesh));
    }
    found
}

/// Whether it begins like what is no event's.
fn begins_otherwise(text: &Filter) -> bool {
    ["$", "_INBOX", "mx/", "public.ingress"].iter().any(|start| text.as_str().starts_with(start))
}

/// As a manifest's `consumes` has it, and as `mesh.events` is bound.
fn of_events(text: &Filter, mesh: Option<&Mesh>) -> Option<Reading> {
    let pattern = EventPattern::new(text.as_str()).ok()?;
    let meaning = "a pattern of events, as a manifest's consumes has it";
    let mut reading = Reading::new("event-pattern", meaning).part("pattern", &pattern);
    for filter in pattern.filters() {
        reading = reading.same("filter on NATS", format!("mesh.events.{filter}"));
        if let Ok(filter) = Filter::new(format!("mesh.events.{filter}")) {
            for (exchange, key) in AmqpExchange::bindings(&filter) {
                if exchange == AmqpExchange::Events {
                    reading = reading.same("binding for events", key);
                }
            }
        }
    }
    reading.stream = Some(stream(StreamName::Events));
    reading.modules = mesh.map(|mesh| mention::of_pattern(&pattern, mesh));
    Some(reading)
}

/// As AMQP binds a queue by it.
fn binding(text: &Filter, exchange: Option<AmqpExchange>) -> Option<Reading> {
    let pattern = BindingPattern::new(text.as_str()).ok()?;
    let meaning = match exchange {
        Some(exchange) => format!("a binding pattern, of a queue to {exchange}"),
        None => {
            "a binding pattern of AMQP: * is one word, # any number of them, none too".to_owned()
        }
    };
    let reading = Reading::new("binding-pattern", meaning).part("pattern", &pattern);
    Some(match pattern.to_filters() {
        Ok(filters) => filters.iter().fold(reading, |reading, f| reading.same("filter on NATS", f)),
        Err(refused) => untranslatable(reading, &refused)
            .note("a manifest refuses it: nothing on NATS means the same"),
    })
}

/// As NATS has it.
fn filter(text: &Filter, mesh: Option<&Mesh>) -> Reading {
    let meaning = "a filter of NATS: * is one token, > the rest, at least one token";
    let mut reading = Reading::new("filter", meaning).part("filter", text);
    reading.covers = covers(text);
    let streams = Topology::new();
    let kept = streams
        .streams()
        .iter()
        .filter(|stream| stream.subjects.iter().any(|subjects| subjects.overlaps(text)));
    reading.streams = kept.map(|stream| stream.name.as_str()).collect();
    if let Some(Ok(topology)) = mesh.map(Mesh::topology) {
        let reads = topology
            .consumers()
            .iter()
            .filter(|consumer| consumer.filters.iter().any(|filter| filter.overlaps(text)));
        reading.consumers = reads.map(|spec| consumer(&spec.reference)).collect();
    }
    reading.subscribe = who::may_listen(text, mesh);
    for (exchange, key) in AmqpExchange::bindings(text) {
        reading = reading.same("bindings on AMQP", format!("{exchange} {key}"));
    }
    match BindingPattern::from_filter(text) {
        Ok(pattern) => reading.same("as a binding pattern", pattern),
        Err(refused) => untranslatable(reading, &refused),
    }
}

fn untranslatable(reading: Reading, refused: &Untranslatable) -> Reading {
    let words = refused.to_string();
    let refused = Refused {
        offset: refused.offset,
        nearest: refused.nearest.clone(),
        counter_example: refused.counter_example.as_str().to_owned(),
    };
    Reading { untranslatable: Some(refused), ..reading }
        .note(format!("no exact translation: {words}"))
}

/// The mesh's own subjects among those that it stands for.
fn covers(text: &Filter) -> Vec<Cover> {
    let covered = MeshSubject::SHAPES.into_iter().filter_map(|shape| {
        let all = as_filter(shape)?;
        let how = if text.contains(&all) {
            "all"
        } else if text.overlaps(&all) {
            "some"
        } else {
            return None;
        };
        Some(Cover { shape, how })
    });
    covered.collect()
}

/// All subjects of a shape.
fn as_filter(shape: &str) -> Option<Filter> {
    let tokens = shape.split('.').map(|token| match token {
        "<event>" => ">",
        token if token.starts_with('<') => "*",
        token => token,
    });
    Filter::new(tokens.collect::<Vec<_>>().join(".")).ok()
}
