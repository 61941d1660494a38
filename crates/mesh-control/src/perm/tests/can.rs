//! What is decided of a small mesh, and what is said about it.

use mesh_core::permissions::Verdict;

use super::super::{Act, ActError, can, who_may_publish, who_may_subscribe};
use super::composed;
use crate::compose::Composition;

const RANDOM: &str = "00112233445566778899aabbccddeeff";

/// Yes or no, by which lines, and the notes.
fn told(mesh: &Composition, user: &str, act: &Act) -> String {
    let decision = can(mesh, mesh.user(user).unwrap(), act);
    let mut told = match decision.verdict {
        Verdict::Allowed => "yes",
        Verdict::NotAllowed => "no",
        Verdict::Denied => "denied",
        Verdict::BrokersReply => "reply refused",
    }
    .to_owned();
    for grant in &decision.why {
        told.push_str(&format!("\n  by {}", grant.because));
    }
    for note in &decision.notes {
        told.push_str(&format!("\n  {note}"));
    }
    told
}

fn publishes(user: &str, subject: &str, reply: Option<&str>) -> String {
    told(&composed(&[]), user, &Act::publish(subject, reply).unwrap())
}

fn subscribes(user: &str, filter: &str, group: Option<&str>) -> String {
    told(&composed(&[]), user, &Act::subscribe(filter, group).unwrap())
}

#[test]
fn an_event_is_emitted_by_its_line_and_kept_in_its_stream() {
    assert_eq!(
        publishes("mail.n1", "mesh.events.mail.sent", None),
        "yes\n  by mail.toml:3:10: emits[0]\n  it is kept in the stream EVENTS"
    );
    assert_eq!(
        publishes("mail.n1", "mesh.events.mail.lost", None),
        "no\n  `emits` of mail.toml would have to list \"lost\""
    );
    assert_eq!(publishes("mail.n1", "mesh.events.vault.opened", None), "no");
}

#[test]
fn a_call_says_who_hears_it_and_whether_it_would_be_run() {
    let reply = format!("_INBOX.mail.n1.vault.{RANDOM}");
    let yes = "yes\n  by mail.toml:5:10: calls[0]\n  vault.n1 and vault.n2 may hear it";
    assert_eq!(publishes("mail.n1", "mesh.tools.vault.open", Some(&reply)), yes);
    assert_eq!(
        publishes("mail.n1", "mesh.tools.vault.open", None),
        format!(
            "{yes}\n  without a reply address nobody runs a tool, or answers a question: give one with --reply"
        )
    );
    let other = format!("_INBOX.vault.n1.vault.{RANDOM}");
    assert_eq!(
        publishes("mail.n1", "mesh.tools.vault.open", Some(&other)),
        format!("{yes}\n  it may not listen at {other}, so somebody else gets what is sent there")
    );
    assert_eq!(
        publishes("mail.n1", "mesh.tools.vault.open", Some("mesh.node.n1.declare")),
        format!(
            "{yes}\n  whoever is asked neither runs it nor answers: not a reply address\n  \
             it may not listen at mesh.node.n1.declare, so somebody else gets what is sent there"
        )
    );
    assert_eq!(
        publishes("vault.n1", "mesh.tools.mail.send", None),
        "no\n  `calls` of vault.toml would have to list \"mail.send\""
    );
}

#[test]
fn a_reply_address_that_only_the_server_gives_out_is_refused() {
    for reply in ["$JS.ACK.EVENTS.n1_mail.1.1.1.0.0", "_R_.abc", "$GR.a.b", "_GR_.a"] {
        assert_eq!(
            publishes("mail.n1", "mesh.events.mail.sent", Some(reply)),
            "reply refused",
            "{reply}"
        );
    }
    // The right is looked at first.
    assert_eq!(publishes("mail.n1", "mesh.node.n1.declare", Some("_R_.abc")), "no");
}

#[test]
fn what_the_controller_alone_calls_is_denied_to_whoever_may_call_everything() {
    let open = publishes("person.ann", "mesh.tools.vault.open", None);
    assert!(open.starts_with("yes\n  by mesh.toml:15:17: people[0].administrator\n"), "{open}");
    assert_eq!(
        publishes("person.ann", "mesh.tools.vault.provision_grant", None),
        "denied\n  by the controller alone has providers grant and withdraw"
    );
    let nobody = publishes("person.ann", "mesh.tools.nobody.there", None);
    assert!(nobody.contains("nobody hears it in EDGE"), "{nobody}");
    assert_eq!(
        publishes("person.bob", "mesh.tools.mail.send", None),
        "no\n  `tools` of mesh.toml would have to list \"mail.send\""
    );
}

#[test]
fn a_subscription_is_judged_with_its_group() {
    let serve = subscribes("vault.n1", "mesh.tools.vault.open", Some("serve"));
    assert!(serve.starts_with("yes\n  by vault.toml:4:"), "{serve}");
    assert!(serve.contains("sent by mail.n1, person.ann and person.bob"), "{serve}");
    assert_eq!(
        subscribes("vault.n1", "mesh.tools.vault.open", None),
        "no\n  it may in the queue group serve, not alone"
    );
    assert_eq!(
        subscribes("vault.n1", "mesh.tools.vault.open", Some("mine")),
        "no\n  it may in the queue group serve, not in mine"
    );
    assert_eq!(
        subscribes("vault.n1", "mesh.tools.vault.shut", Some("serve")),
        "no\n  `tools` of vault.toml would have to list \"shut\""
    );
    assert_eq!(
        subscribes("mail.n1", "mesh.tools.mail.provision_grant", Some("serve")),
        "no\n  `provides` of mail.toml would have to list \"provision_grant\""
    );
}

#[test]
fn events_are_delivered_and_not_subscribed_to() {
    let delivered = subscribes("mail.n1", "mesh.deliver.EVENTS.n1_mail", Some("n1_mail"));
    assert!(delivered.starts_with("yes\n  by mail.toml:4:12: consumes"), "{delivered}");
    assert!(delivered.ends_with("sent by the stream EVENTS"), "{delivered}");
    let events = subscribes("mail.n1", "mesh.events.vault.opened", None);
    assert!(events.contains("they are delivered, by what `consumes`"), "{events}");
    let vault = subscribes("vault.n1", "mesh.deliver.EVENTS.n1_vault", Some("n1_vault"));
    assert!(vault.contains("`consumes` of vault.toml would have to list"), "{vault}");
}

#[test]
fn a_wider_subscription_than_allowed_names_the_parts_that_are() {
    assert_eq!(
        subscribes("host.n1", "_INBOX.>", None),
        "no\n  of that it may subscribe to _INBOX.host.n1.> alone"
    );
    let own = subscribes("host.n1", "_INBOX.host.n1.controller.*", None);
    assert!(own.starts_with("yes\n  by everybody hears the own inbox"), "{own}");
    assert!(own.contains("sent by controller-edge"), "{own}");
}

#[test]
fn what_nobody_may_send_is_told() {
    let nobody = subscribes("person.ann", "_INBOX.person.ann.nobody.*", None);
    assert!(nobody.ends_with("nobody may send anything there"), "{nobody}");
}

#[test]
fn who_was_asked_may_answer_anywhere_where_answers_are_not_scoped() {
    let bus = (
        "[[people]]\nname = 'ann'",
        "[bus]\nanswers = 'allow_responses'\nresponses = { max = 1, expires = '20m' }\n\n[[people]]\nname = 'ann'",
    );
    let mesh = composed(&[bus]);
    let act = Act::publish("mesh.node.n1.declare", None).unwrap();
    assert_eq!(
        told(&mesh, "vault.n1", &act),
        "no\n  it may send to any subject at all what a message to it asks for: 1 answer, within 1200 s"
    );
    assert_eq!(told(&mesh, "host.n1", &act), "no");
}

#[test]
fn what_cant_be_tried_is_refused_by_what_is_wrong() {
    assert!(matches!(Act::publish("a.*", None), Err(ActError::Subject(_))));
    assert!(matches!(Act::publish("a", Some("b.>")), Err(ActError::Reply(_))));
    assert!(matches!(Act::subscribe("a..b", None), Err(ActError::Subject(_))));
    assert!(matches!(Act::subscribe("a", Some("g g")), Err(ActError::Group(_))));
    assert_eq!(
        Act::publish("a.*", None).unwrap_err().to_string(),
        "the subject: wildcard at offset 2"
    );
}

#[test]
fn who_may_is_told_by_name_and_group() {
    let mesh = composed(&[]);
    let names = |text: &str| {
        let who = who_may_publish(&mesh, &text.parse().unwrap());
        who.iter().map(|who| who.user.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("mesh.tools.vault.open"), ["mail.n1", "person.ann", "person.bob"]);
    assert_eq!(names("mesh.tools.vault.provision_grant"), ["controller-edge"]);
    assert_eq!(names("$JS.API.STREAM.DELETE.EVENTS"), ["controller"]);
    assert_eq!(names("mesh.deliver.EVENTS.n1_mail"), Vec::<String>::new());
    let who = who_may_subscribe(&mesh, &"mesh.tools.vault.open".parse().unwrap());
    let who: Vec<String> = who
        .iter()
        .map(|who| format!("{} {}", who.user.name(), who.group.as_ref().unwrap()))
        .collect();
    assert_eq!(who, ["vault.n1 serve", "vault.n2 serve"]);
}
