use super::*;

async fn story(place: &Place, broken: Option<FlowName>) -> (bool, String) {
    let mut out = Vec::new();
    let good = run(None, place, broken, &mut Teller::new(&mut out, false)).await.unwrap();
    (good, String::from_utf8(out).unwrap())
}

#[tokio::test]
async fn the_example_comes_out_as_computed() {
    let (good, story) = story(&Place::Memory, None).await;
    assert!(good, "{story}");
    insta::assert_snapshot!(story);
}

#[cfg(unix)]
#[tokio::test]
async fn the_example_comes_out_as_computed_on_a_nats_server() {
    let (good, story) = story(&Place::Own(Kind::Nats), None).await;
    assert!(good, "{story}");
    let (before, rest) = story.split_once("nats-server ").unwrap();
    let (server, after) = rest.split_once(".\n").unwrap();
    let (version, address) = server.split_once(" at ").unwrap();
    assert!(version.split('.').all(|part| part.parse::<u16>().is_ok()), "{version}");
    assert!(address.starts_with("tls://127.0.0.1:"), "{address}");
    insta::assert_snapshot!(format!("{before}nats-server [version] at [address].\n{after}"));
}

#[cfg(unix)]
#[tokio::test]
async fn the_example_comes_out_as_computed_on_rabbitmq() {
    let (good, story) = story(&Place::Own(Kind::Amqp), None).await;
    assert!(good, "{story}");
    let (before, rest) = story.split_once("RabbitMQ at ").unwrap();
    let (address, after) = rest.split_once(" (virtual").unwrap();
    assert!(address.starts_with("amqps://127.0.0.1:"), "{address}");
    insta::assert_snapshot!(format!("{before}RabbitMQ at [address] (virtual{after}"));
}

#[tokio::test]
async fn a_broken_flow_is_named_and_no_other() {
    // Side by side: a flow that came out otherwise has waited for what did not come.
    let places = [
        Place::Memory,
        #[cfg(unix)]
        Place::Own(Kind::Nats),
    ];
    // A node of RabbitMQ for each is much for one machine: tests of the program break some flows on it.
    for place in places {
        let stories = FlowName::ALL.map(|name| {
            let place = place.clone();
            (name, tokio::spawn(async move { story(&place, Some(name)).await }))
        });
        for (name, running) in stories {
            let (good, story) = running.await.unwrap();
            assert!(!good, "{name:?} was broken and not noticed:\n{story}");
            let last = story.lines().last().unwrap();
            assert_eq!(last, format!("Came out otherwise: {}.", name.word()), "{story}");
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_and_read_no_further_than_its_limit() {
    let refused = async |file: &str| {
        let mut out = Vec::new();
        let mut teller = Teller::new(&mut out, false);
        let run = run(Some(file.as_ref()), &Place::Memory, None, &mut teller);
        run.await.unwrap_err().to_string()
    };
    let folder = refused("src").await;
    assert!(folder.contains("src: "), "{folder}");
    #[cfg(unix)]
    {
        let endless = refused("/dev/zero").await;
        assert!(endless.contains("/dev/zero: more than 1048576 bytes long"), "{endless}");
    }
}
