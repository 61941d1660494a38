//! The demo on RabbitMQ: one that the program starts, and one that runs already.

use std::net::TcpStream;
use std::process::Command;

use mesh_core::identity::Principal;
use mesh_testkit::servers::rabbit::{Layout, MeshServer};

use super::given::example;
use super::{Folder, mesh, text};

/// Where the broker is, by the first line of the story.
fn address(line: &str) -> &str {
    let (_, rest) = line.split_once(" at amqps://").unwrap();
    rest.split_once(' ').unwrap().0
}

#[test]
fn the_demo_on_rabbitmq_exits_0_and_its_broker_is_gone() {
    let run = mesh(&["demo", "--transport", "amqp"]);
    let story = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
    assert_eq!(text(&run.stderr), "");
    assert!(story.contains("12 as computed from the files, 0 otherwise"), "{story}");
    assert!(story.ends_with("RabbitMQ has ended, and what it stored is gone.\n"), "{story}");
    assert!(TcpStream::connect(address(story.lines().next().unwrap())).is_err());
}

#[test]
fn what_the_memory_brokers_expect_is_expected_of_rabbitmq_but_for_why_a_letter_is_dead() {
    let steps = |transport: &str| {
        let story = text(&mesh(&["demo", "--transport", transport]).stdout);
        let mut steps: Vec<String> = Vec::new();
        for line in story.lines() {
            match line.strip_prefix("    - ") {
                Some(step) => steps.push(step.to_owned()),
                None if line.starts_with("      ") => {
                    if let Some(step) = steps.last_mut() {
                        step.push(' ');
                        step.push_str(line.trim());
                    }
                }
                None => {}
            }
        }
        steps
    };
    let (amqp, memory) = (steps("amqp"), steps("memory"));
    assert_eq!(amqp.len(), 43);
    for (amqp, memory) in amqp.iter().zip(&memory) {
        let without = memory.replace(" after 5 tries (the demo asked for a failure)", "");
        assert_eq!(*amqp, without);
    }
}

#[test]
fn a_broken_flow_on_rabbitmq_exits_1_and_is_named_last() {
    for flow in ["dead-letter", "redelivery", "grants", "refused", "legacy-realm"] {
        let run = mesh(&["demo", "--transport", "amqp", "--break", flow]);
        assert_eq!(run.status.code(), Some(1), "{flow}: {}", text(&run.stderr));
        let story = text(&run.stdout);
        assert!(story.ends_with(&format!("Came out otherwise: {flow}.\n")), "{story}");
    }
}

#[test]
fn without_rabbitmq_it_exits_2_and_says_what_to_install() {
    let run = Command::new(env!("CARGO_BIN_EXE_mesh"))
        .args(["demo", "--transport", "amqp"])
        .env("MESH_RABBITMQ_SBIN", "/no/such/sbin")
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "");
    let told = text(&run.stderr);
    assert!(told.contains("/no/such/sbin") && told.contains("--credentials"), "{told}");
}

#[tokio::test]
async fn the_demo_runs_on_a_broker_that_is_given_and_leaves_what_it_says() {
    let server = MeshServer::launch(Layout::of(&example()).unwrap()).await.unwrap();
    let folder = Folder::new("given-amqp");
    for user in server.layout().users() {
        let document = server.credential(user).unwrap().to_document().unwrap();
        let name = match user.principal() {
            Principal::Controller { .. } => "controller",
            _ => user.name(),
        };
        folder.write(&format!("{name}.json"), document.expose());
    }
    let path = folder.0.display().to_string();
    // The second time everything is there already, dead letters too.
    for _ in 0..2 {
        let run = mesh(&["demo", "--transport", "amqp", "--credentials", &path]);
        let story = text(&run.stdout);
        assert_eq!(run.status.code(), Some(0), "{story}{}", text(&run.stderr));
        assert!(story.contains("12 as computed from the files, 0 otherwise"), "{story}");
        assert!(
            story
                .contains("On the broker are left: the exchanges of the mesh; the queues control,"),
            "{story}"
        );
    }
    let run = mesh(&["demo", "--transport", "nats", "--credentials", &path]);
    assert_eq!(run.status.code(), Some(2));
    let told = text(&run.stderr);
    assert!(told.contains("controller.json: the credential's URL is neither"), "{told}");
    assert!(!told.contains(server.layout().users()[0].password()), "{told}");
}
