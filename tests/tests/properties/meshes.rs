//! Whole meshes whose files agree: what their broker holds and what their accounts may do.

use mesh_core::identity::Instance;
use mesh_core::identity::Principal;
use mesh_core::identity::Responder;
use mesh_core::manifest::{AssignedModule, Mesh, Severity, ToolRef};
use mesh_core::name::{ConsumerName, EventName, ModuleName, ToolName};
use mesh_core::permissions::Permissions;
use mesh_core::port::QueueGroup;
use mesh_core::provision::{GRANT_TOOL, WITHDRAW_TOOL};
use mesh_core::subject::{Filter, Subject, overlaps};
use mesh_core::topology::{
    AckAddress, ConsumerRef, DeliverySubject, Inbox, MeshSubject, StreamName,
};
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

fn principal_of(instance: &Instance) -> Principal {
    let (node, module) = (instance.node.clone(), instance.module.clone());
    Principal::Module { node, module }
}

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

fn event_subject(module: &ModuleName, event: &EventName) -> Subject {
    let (module, event) = (module.clone(), event.clone());
    MeshSubject::Event { module, event }.to_subject().unwrap()
}

fn tool_subject(tool: &ToolRef) -> Subject {
    let (module, tool) = (tool.module.clone(), tool.tool.clone());
    MeshSubject::Tool { module, tool }.to_subject().unwrap()
}

fn consumer_of(instance: &Instance) -> ConsumerRef {
    let name = ConsumerName::of_module(&instance.node, &instance.module);
    ConsumerRef::new(StreamName::Events, name)
}

/// Every event of a module of the mesh, and one of each that none emits.
fn events(mesh: &Mesh) -> Vec<(ModuleName, EventName)> {
    let silent = EventName::new("never.said").unwrap();
    let of = |module: &AssignedModule| {
        let mut events = module.manifest.emits.clone();
        events.push(silent.clone());
        let name = module.manifest.name.clone();
        events.into_iter().map(move |event| (name.clone(), event)).collect::<Vec<_>>()
    };
    mesh.modules().flat_map(of).collect()
}

/// Every tool of a module of the mesh, one of each that it has not, and the controller's two.
fn tools(mesh: &Mesh) -> Vec<ToolRef> {
    let of = |module: &AssignedModule| {
        let own = module.manifest.tools.iter().map(|tool| tool.name.clone());
        let others = ["no-such-tool", GRANT_TOOL, WITHDRAW_TOOL];
        let others = others.map(|name| ToolName::new(name).unwrap());
        let name = module.manifest.name.clone();
        let all = own.chain(others).collect::<Vec<_>>();
        all.into_iter().map(move |tool| ToolRef { module: name.clone(), tool }).collect::<Vec<_>>()
    };
    mesh.modules().flat_map(of).collect()
}

/// Each module on each of its nodes, with what its account may do.
fn accounts(mesh: &Mesh) -> Vec<(Instance, AssignedModule, Permissions)> {
    let of = |instance: Instance| {
        let module = mesh.module(&instance.module).unwrap().clone();
        let permissions = mesh.permissions(&principal_of(&instance)).unwrap();
        (instance, module, permissions)
    };
    mesh.instances().map(of).collect()
}

/// The other modules, hosts, people and so on whose inboxes are not this one's.
fn others(mesh: &Mesh, instance: &Instance) -> Vec<Principal> {
    let own = principal_of(instance);
    let hosts = mesh.nodes().iter().map(|node| Principal::Host { node: node.clone() });
    let people = mesh.people().map(|(name, _)| Principal::Person { name: name.clone() });
    let controller = [mesh_testkit::fixtures::controller()];
    let modules = mesh.instances().map(|instance| principal_of(&instance));
    let all = modules.chain(hosts).chain(people).chain(controller);
    all.filter(|other| *other != own).collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_files_of_a_mesh_agree(written in mesh()) {
        let manifests: Vec<_> = written.manifests.iter().map(|m| m.value.clone()).collect();
        let mesh = Mesh::resolve(&written.file.value, &manifests).unwrap();
        prop_assert!(mesh.warnings().iter().all(|warning| warning.severity == Severity::Warning));
        prop_assert_eq!(mesh, written.mesh);
    }

    #[test]
    fn what_a_broker_holds_does_not_overlap(written in mesh()) {
        let topology = written.mesh.topology().unwrap();
        let subjects: Vec<Filter> =
            topology.streams().iter().flat_map(|stream| stream.subjects.clone()).collect();
        prop_assert_eq!(overlaps(&subjects).next(), None);
        for consumer in topology.consumers() {
            let stream = topology.stream(consumer.reference.stream).unwrap();
            for (index, filter) in consumer.filters.iter().enumerate() {
                prop_assert!(stream.subjects.iter().any(|taken| taken.contains(filter)), "{}", filter);
                let others = consumer.filters.iter().enumerate();
                let mut others = others.filter(|(other, _)| *other != index);
                prop_assert!(!others.any(|(_, wider)| wider.contains(filter)), "{}", filter);
            }
        }
        let references = topology.consumers().iter().map(|consumer| &consumer.reference);
        let all = references.collect::<std::collections::HashSet<_>>();
        prop_assert_eq!(all.len(), topology.consumers().len());
    }

    #[test]
    fn an_event_reaches_its_consumers_and_nobody_else(written in mesh()) {
        let mesh = written.mesh;
        let topology = mesh.topology().unwrap();
        for (module, event) in events(&mesh) {
            let subject = event_subject(&module, &event);
            let consumers: Vec<Instance> = mesh.consumers_of(&module, &event).collect();
            for instance in mesh.instances() {
                let consumer = topology.consumer(&consumer_of(&instance));
                let filters = consumer.map_or(&[][..], |consumer| &consumer.filters);
                let heard = filters.iter().any(|filter| filter.matches(&subject));
                prop_assert_eq!(heard, consumers.contains(&instance), "{} at {}", subject, instance);
            }
        }
    }

    #[test]
    fn a_module_emits_what_its_manifest_says(written in mesh()) {
        let mesh = written.mesh;
        for (instance, module, may) in accounts(&mesh) {
            for (emitter, event) in events(&mesh) {
                let own = emitter == instance.module && module.manifest.emits.contains(&event);
                let subject = event_subject(&emitter, &event);
                prop_assert_eq!(may.publish.permits(&subject), own, "{}: {}", instance, subject);
                // An event is heard through the consumer, never live.
                prop_assert!(!may.subscribe.permits_filter(&subject.into(), None));
            }
        }
    }

    #[test]
    fn a_module_calls_and_serves_what_its_manifest_says(written in mesh()) {
        let mesh = written.mesh;
        let serve = QueueGroup::new("serve").unwrap();
        for (instance, module, may) in accounts(&mesh) {
            let caller = principal_of(&instance);
            for tool in tools(&mesh) {
                let subject = tool_subject(&tool);
                let called = module.manifest.calls.contains(&tool);
                prop_assert_eq!(may.publish.permits(&subject), called, "{}: {}", instance, tool);
                prop_assert_eq!(mesh.may_call(&caller, &tool), called);
                let reserved = [GRANT_TOOL, WITHDRAW_TOOL].contains(&tool.tool.as_str());
                let has = if reserved {
                    !module.manifest.provides.is_empty()
                } else {
                    module.manifest.tool(&tool.tool).is_some()
                };
                let served = tool.module == instance.module && has;
                let filter = Filter::from(subject);
                prop_assert_eq!(may.subscribe.permits_filter(&filter, Some(&serve)), served, "{}: {}", instance, tool);
                prop_assert!(!may.subscribe.permits_filter(&filter, None));
            }
        }
    }

    #[test]
    fn a_person_calls_what_the_file_says(written in mesh()) {
        let mesh = written.mesh;
        for (name, _) in mesh.people() {
            let caller = Principal::Person { name: name.clone() };
            let may = mesh.permissions(&caller).unwrap();
            for tool in tools(&mesh) {
                let permitted = may.publish.permits(&tool_subject(&tool));
                prop_assert_eq!(permitted, mesh.may_call(&caller, &tool), "{}: {}", name, tool);
            }
            for (module, event) in events(&mesh) {
                prop_assert!(!may.publish.permits(&event_subject(&module, &event)));
            }
        }
    }

    #[test]
    fn a_module_reads_and_settles_its_own_consumer_alone(written in mesh()) {
        let mesh = written.mesh;
        let instances: Vec<Instance> = mesh.instances().collect();
        for (instance, module, may) in accounts(&mesh) {
            let consumes = !module.manifest.consumes.is_empty();
            for other in &instances {
                let own = consumes && *other == instance;
                let consumer = consumer_of(other);
                let group = QueueGroup::new(consumer.consumer.as_str()).unwrap();
                let delivery = DeliverySubject::of(consumer.clone()).to_subject().into();
                prop_assert_eq!(may.subscribe.permits_filter(&delivery, Some(&group)), own);
                prop_assert!(!may.subscribe.permits_filter(&delivery, None));
                let first = format!("$JS.ACK.EVENTS.{}.1.2.3.4.5", consumer.consumer);
                let second = format!("$JS.ACK.hub.hash.EVENTS.{}.1.2.3.4.5.x", consumer.consumer);
                for ack in [first, second] {
                    let ack = Subject::new(ack).unwrap();
                    prop_assert_eq!(AckAddress::parse(&ack).unwrap().consumer, consumer.clone());
                    prop_assert_eq!(may.publish.permits(&ack), own, "{}: {}", instance, ack);
                }
            }
            for stream in StreamName::ALL {
                let name = ConsumerName::of_node(&instance.node);
                for ack in AckAddress::filters(&ConsumerRef::new(stream, name)) {
                    prop_assert!(!may.publish.allowed().iter().any(|rule| rule.filter.overlaps(&ack)));
                }
            }
        }
    }

    #[test]
    fn a_module_answers_as_itself_and_listens_to_its_own_inbox(written in mesh(), random: u128) {
        let mesh = written.mesh;
        for (instance, module, may) in accounts(&mesh) {
            let inbox = Inbox::of(&principal_of(&instance));
            let serves = !module.manifest.tools.is_empty() || !module.manifest.provides.is_empty();
            prop_assert!(may.subscribe.permits_filter(&inbox.filter(), None));
            prop_assert!(may.publish.permits(&inbox.echo(random)));
            prop_assert!(!may.publish.permits(&inbox.confirmation(random)));
            for other in others(&mesh, &instance) {
                let theirs = Inbox::of(&other);
                prop_assert!(!may.subscribe.allowed().iter().any(|rule| rule.filter.overlaps(&theirs.filter())));
                prop_assert!(!may.publish.permits(&theirs.echo(random)));
                prop_assert!(!may.publish.permits(&theirs.confirmation(random)));
                for responder in mesh.modules().map(|module| module.manifest.name.clone()) {
                    let own = serves && responder == instance.module;
                    let reply = theirs.reply(&Responder::Module(responder), random);
                    prop_assert_eq!(may.publish.permits(&reply), own, "{}: {}", instance, reply);
                }
            }
        }
    }

    #[test]
    fn nobody_but_the_controller_touches_the_broker_or_what_is_the_controllers(written in mesh()) {
        let mesh = written.mesh;
        let hosts = mesh.nodes().iter().map(|node| Principal::Host { node: node.clone() });
        let builders = mesh.nodes().iter().map(|node| Principal::Builder { node: node.clone() });
        let people = mesh.people().map(|(name, _)| Principal::Person { name: name.clone() });
        let modules = mesh.instances().map(|instance| principal_of(&instance));
        for principal in modules.chain(people).chain(hosts).chain(builders) {
            let may = mesh.permissions(&principal).unwrap();
            prop_assert!(!may.publish.allowed().is_empty());
            for barred in ["$JS.API.>", "mesh.deliver.>", "mesh.node.>", "mesh.replay.>", "mesh.events.dead", "mesh.build.>", "_INBOX.*.*.ack.>"] {
                let barred = filter(barred);
                let reaches = may.publish.allowed().iter().find(|rule| rule.filter.overlaps(&barred));
                prop_assert_eq!(reaches, None, "{} reaches {}", principal, barred);
            }
            for wide in [">", "mesh.>", "_INBOX.>", "$JS.>", "$JS.EVENT.>", "mesh.events.>", "mesh.tools.>"] {
                prop_assert!(!may.subscribe.permits_filter(&filter(wide), None), "{} hears {}", principal, wide);
            }
        }
    }

    #[test]
    fn whoever_the_files_do_not_know_may_do_nothing(written in mesh(), stranger in principal()) {
        let known = match &stranger {
            Principal::Module { node, module } => {
                written.mesh.instances().any(|i| i.node == *node && i.module == *module)
            }
            Principal::Host { node } | Principal::Builder { node } => written.mesh.nodes().contains(node),
            Principal::Person { name } => written.mesh.people().any(|(known, _)| known == name),
            Principal::Controller { .. } | Principal::Enrolment { .. } => true,
            Principal::Gateway { .. } => false,
        };
        let may = written.mesh.permissions(&stranger).unwrap();
        prop_assert_eq!(may != Permissions::default(), known, "{}", stranger);
    }
}
