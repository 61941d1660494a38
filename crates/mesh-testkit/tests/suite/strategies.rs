//! What the strategies promise: valid by construction, and small alphabets that meet.

use std::cell::Cell;

use mesh_core::manifest::Mesh;
use mesh_core::message::PublishId;
use mesh_core::name::{ConsumerName, EventName, ModuleName, NodeName, RealmName, ToolName};
use mesh_core::port::Limits;
use mesh_core::subject::{Filter, Subject};
use mesh_testkit::strategies::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

proptest! {
    #![proptest_config(Config { cases: 1000, ..Config::default() })]

    #[test]
    fn names_read_back(
        node in node_name(),
        module in module_name(),
        tool in tool_name(),
        event in event_name(),
        realm in realm_name(),
        consumer in consumer_name(),
        id in publish_id(),
    ) {
        prop_assert_eq!(NodeName::new(node.as_str()).unwrap(), node);
        prop_assert_eq!(ModuleName::new(module.as_str()).unwrap(), module);
        prop_assert_eq!(ToolName::new(tool.as_str()).unwrap(), tool);
        prop_assert_eq!(EventName::new(event.as_str()).unwrap(), event);
        prop_assert_eq!(RealmName::new(realm.as_str()).unwrap(), realm);
        prop_assert_eq!(ConsumerName::new(consumer.as_str()).unwrap(), consumer);
        prop_assert_eq!(PublishId::new(id.as_str()).unwrap(), id);
    }

    #[test]
    fn subjects_and_filters_read_back(subject in subject(), filter in filter()) {
        prop_assert_eq!(Subject::new(subject.as_str()).unwrap(), subject);
        prop_assert_eq!(Filter::new(filter.as_str()).unwrap(), filter);
    }

    #[test]
    fn a_filter_around_a_subject_matches_it((subject, filter) in filter_around()) {
        prop_assert!(filter.matches(&subject), "{} {}", filter, subject);
    }

    #[test]
    fn messages_may_be_sent(message in message()) {
        prop_assert_eq!(message.check(&Limits::default()), Ok(()));
    }

    #[test]
    fn a_consumers_filters_lie_beside_each_other(topology in topology()) {
        for consumer in topology.consumers() {
            for (index, filter) in consumer.filters.iter().enumerate() {
                let others = consumer.filters.iter().enumerate();
                let mut others = others.filter(|(other, _)| *other != index);
                prop_assert!(!others.any(|(_, wider)| wider.contains(filter)), "{consumer:?}");
            }
        }
    }
}

/// The share of a thousand values that `holds` is true of.
fn share<S: Strategy>(strategy: S, holds: impl Fn(&S::Value) -> bool) -> usize {
    let config = Config { cases: 1000, failure_persistence: None, ..Config::default() };
    let count = Cell::new(0);
    // Always the same thousand: a share near its bound would fail now and then.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let counted = TestRunner::new_with_rng(config, rng).run(&strategy, |value| {
        count.set(count.get() + usize::from(holds(&value)));
        Ok(())
    });
    counted.unwrap();
    count.get()
}

#[test]
fn few_subjects_and_few_filters_meet() {
    let meeting = share((few_subjects(), few_filters()), |(s, f)| f.matches(s));
    assert!((50..500).contains(&meeting), "{meeting} of 1000 match");
    let same = share((few_subjects(), few_subjects()), |(a, b)| a == b);
    assert!(same > 20, "{same} of 1000 are equal");
}

#[test]
fn permissions_say_both_yes_and_no() {
    let yes = share((rules(), few_subjects()), |(r, s)| r.permits(s));
    assert!((100..900).contains(&yes), "{yes} of 1000 are permitted");
    let grants = share(module_grants(), |grants| grants.consumes);
    assert!((300..700).contains(&grants), "{grants}");
}

#[test]
fn filters_have_wildcards_and_have_none() {
    let wild = share(filter(), Filter::has_wildcard);
    assert!((200..950).contains(&wild), "{wild} of 1000");
}

#[test]
fn few_names_make_a_mesh_in_which_modules_meet() {
    let mesh_share = |holds: fn(&Mesh) -> bool| share(mesh(), |written| holds(&written.mesh));
    let heard = mesh_share(|mesh| {
        let mut modules = mesh.modules().map(|module| &module.manifest);
        modules.any(|manifest| {
            let mut emits = manifest.emits.iter();
            emits.any(|event| mesh.consumers_of(&manifest.name, event).next().is_some())
        })
    });
    assert!(heard > 300, "{heard} of 1000 have an event that is heard");
    let calls = mesh_share(|mesh| mesh.modules().any(|m| !m.manifest.calls.is_empty()));
    assert!(calls > 300, "{calls} of 1000 have a call");
    let requires = mesh_share(|mesh| mesh.modules().any(|m| !m.manifest.requires.is_empty()));
    assert!(requires > 300, "{requires} of 1000 require something");
}

#[test]
fn few_envelopes_and_few_bindings_meet() {
    let replayed =
        share((few_envelopes(), few_envelopes()), |(a, b)| a.replay_key() == b.replay_key());
    assert!((50..500).contains(&replayed), "{replayed} of 1000 are seen twice");
    let bound = share((few_bindings(), few_subjects()), |(b, s)| b.matches(s));
    assert!((50..600).contains(&bound), "{bound} of 1000 match");
    let known = share((few_event_ids(), few_event_ids()), |(a, b)| a == b);
    assert!((200..500).contains(&known), "{known} of 1000 are equal");
}

#[test]
fn a_damaged_text_is_another_text_nearly_always() {
    let whole = || Just(b"{\"a\": [1, 2]}".to_vec());
    let other = share(mutated_bytes(whole()), |bytes| bytes != b"{\"a\": [1, 2]}");
    assert!(other > 900, "{other} of 1000");
}
