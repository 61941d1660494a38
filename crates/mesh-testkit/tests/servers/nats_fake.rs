use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{FakeConfig, FakeNats, Heard, RawNats};

#[tokio::test]
async fn it_says_what_it_is_told_to_and_keeps_what_a_client_sends() {
    let config = FakeConfig::new().version("2.9.10").info("nonce", "n").info("jetstream", ());
    let fake = FakeNats::start(config).await.unwrap();
    let mut client = RawNats::plain(fake.address()).await.unwrap();
    let info = client.info();
    assert_eq!((&info["version"], &info["nonce"]), (&"2.9.10".into(), &"n".into()));
    assert_eq!((&info["port"], info.get("jetstream")), (&fake.address().port().into(), None));
    client.login("host-a", "p@ss").await.unwrap();
    client.subscribe("a.>", Some("g")).await.unwrap();
    client.publish("a.b", Some("r"), &[("K", "v")], b"body").await.unwrap();
    client.settle().await.unwrap();
    drop(client);
    let visit = fake.whole_visit().await.unwrap();
    let [
        Heard::Opened(1),
        Heard::Connect(fields),
        Heard::Line(line),
        Heard::Publish(message),
        Heard::Closed(1),
    ] = visit.as_slice()
    else {
        panic!("{visit:?}");
    };
    assert_eq!((&fields["user"], &fields["pass"]), (&"host-a".into(), &"p@ss".into()));
    assert_eq!(line, "SUB a.> g 1");
    assert_eq!((message.subject.as_str(), message.reply.as_deref()), ("a.b", Some("r")));
    assert_eq!((message.header("K"), message.body.as_slice()), (Some("v"), &b"body"[..]));
}

#[tokio::test]
async fn it_refuses_with_a_reason() {
    let fake = FakeNats::start(FakeConfig::new().refuse("Authorization Violation")).await.unwrap();
    let mut client = RawNats::plain(fake.address()).await.unwrap();
    let refused = client.login("a", "b").await.unwrap_err();
    assert_eq!(refused.to_string(), "the server answers: Authorization Violation");
    assert_eq!(fake.connect_fields().await.unwrap()["user"], "a");
}

#[tokio::test]
async fn words_go_to_whoever_is_there() {
    let fake = FakeNats::start(FakeConfig::new()).await.unwrap();
    assert_eq!(fake.say("+OK\r\n"), 0);
    let mut client = RawNats::plain(fake.address()).await.unwrap();
    assert_eq!(fake.say("MSG a 1 2\r\nhi\r\n"), 1);
    assert_eq!(client.next().await.unwrap().body, b"hi");
    assert_eq!(fake.say("INFO {\"connect_urls\":[\"10.0.0.1:4222\"]}\r\n-ERR 'Stale'\r\n"), 1);
    assert!(client.next().await.is_err());
    assert_eq!(client.info()["connect_urls"][0], "10.0.0.1:4222");
}

#[tokio::test]
async fn it_shows_its_certificate_before_or_after_its_greeting() {
    for first in [false, true] {
        let mut config = FakeConfig::new().tls(Certificate::local().unwrap());
        if first {
            config = config.handshake_first();
        }
        let fake = FakeNats::start(config).await.unwrap();
        let pin = fake.fingerprint().unwrap();
        let mut client = RawNats::secured(fake.address(), pin, first).await.unwrap();
        assert_eq!(client.info()["tls_required"], true);
        client.login("a", "b").await.unwrap();
        assert_eq!(fake.heard().await.unwrap(), Heard::Opened(1));
        assert_eq!(fake.heard().await.unwrap(), Heard::Secured);
        assert_eq!(fake.connect_fields().await.unwrap()["pass"], "b");
    }
}

#[tokio::test]
async fn a_copied_certificate_does_not_pass_for_the_server() {
    let certificate = Certificate::local().unwrap();
    let impostor = certificate.with_wrong_key().unwrap();
    let fake = FakeNats::start(FakeConfig::new().tls(impostor)).await.unwrap();
    let pin = certificate.fingerprint();
    let refused = RawNats::secured(fake.address(), &pin, false).await.unwrap_err();
    assert!(refused.to_string().contains("BadSignature"), "{refused}");
    let visit = fake.whole_visit().await.unwrap();
    assert!(
        matches!(visit.as_slice(), [Heard::Opened(1), Heard::Unsecured(_), Heard::Closed(1)]),
        "{visit:?}"
    );
}

#[tokio::test]
async fn it_falls_silent_after_so_many_pongs() {
    let fake = FakeNats::start(FakeConfig::new().pongs(1)).await.unwrap();
    let mut client = RawNats::plain(fake.address()).await.unwrap();
    client.login("a", "b").await.unwrap();
    client.send("PING\r\nLAST\r\n").await.unwrap();
    while fake.heard().await.unwrap() != Heard::Line("LAST".into()) {}
    // What came after the PING was read, and yet the first that is said is this.
    assert_eq!(fake.say("MSG a 1 2\r\nhi\r\n"), 1);
    assert_eq!(client.next().await.unwrap().body, b"hi");
}

#[tokio::test]
async fn it_hangs_up_on_who_is_there_and_goes_on_listening() {
    let fake = FakeNats::start(FakeConfig::new()).await.unwrap();
    let mut client = RawNats::plain(fake.address()).await.unwrap();
    client.login("a", "b").await.unwrap();
    fake.hang_up();
    assert!(client.next().await.is_err());
    assert!(matches!(fake.whole_visit().await.unwrap()[..], [.., Heard::Closed(1)]));
    RawNats::plain(fake.address()).await.unwrap().login("a", "b").await.unwrap();
    assert_eq!(fake.heard().await.unwrap(), Heard::Opened(2));
}
