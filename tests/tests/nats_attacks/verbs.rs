//! Acknowledgements: of others' deliveries, and with a reply address, which the server answers there
//! with an empty message.

use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Started};
use crate::steps::{Witness, ack_inbox, mark, no_publish};

pub const ATTACKS: &[Attack] = &[
    attack!(delete_a_stream_by_a_progress, by "a module",
        "acknowledges with `+WPI` and the API's address that deletes a stream as the reply"),
    attack!(delete_a_stream_by_a_nak, by "a module",
        "the same with `-NAK`"),
    attack!(delete_a_stream_by_a_term, by "a module",
        "the same with `+TERM`"),
    attack!(delete_a_stream_by_an_ack, by "a module",
        "the same with `+ACK`"),
    attack!(delete_a_stream_by_a_hosts_ack, by "a host",
        "the same at its own declarations"),
    attack!(delete_a_stream_by_a_builders_ack, by "the builder",
        "the same at its builds"),
    attack!(delete_a_consumer_by_a_progress, by "a module",
        "the same with the address that deletes another's consumer"),
    attack!(empty_a_stream_by_a_progress, by "a module",
        "the same with the address that empties NODES"),
    attack!(empty_another_stream_by_a_progress, by "a module",
        "the same with the address that empties another stream"),
    attack!(forge_an_event_by_a_progress, by "a module",
        "the same with another's event"),
    attack!(aim_an_acknowledgements_answer_at_a_declaration, by "a module",
        "the same with a declaration, of a node that has one"),
    attack!(aim_an_acknowledgements_answer_at_a_new_node, by "a module",
        "the same with a declaration, where none is yet"),
    attack!(aim_an_acknowledgements_answer_at_an_enrolment, by "a module",
        "the same with an enrolment"),
    attack!(aim_an_acknowledgements_answer_at_a_report, by "a module",
        "the same with a host's report"),
    attack!(ack_anothers_delivery, by "a module",
        "acknowledges what was delivered to another, in both forms of the address"),
    attack!(nak_anothers_delivery, by "a module",
        "gives back what was delivered to another, and keeps it from being given again"),
    attack!(term_anothers_delivery, by "a module",
        "gives up what was delivered to another"),
    attack!(ack_for_another_node, by "a host, the builder",
        "acknowledges another node's declarations, and what is not its own queue's"),
    attack!(ack_in_a_shorter_form, by "a module",
        "acknowledges with addresses that are shorter, or longer, than either form"),
    attack!(ack_anothers_delivery_in_a_longer_form, by "a module",
        "acknowledges with an address of the second form whose domain and hash are another's consumer"),
];

/// Publishes `verb` at an acknowledgement address with this reply, and returns when the consumer has
/// handled it: it answers one after another.
async fn say(bed: &Bed, who: &str, consumer: &str, verb: &str, reply: &str) -> Started<()> {
    let mut raw = bed.raw(who).await?;
    let address = format!("$JS.ACK.{consumer}.1.1.1.0.0");
    raw.publish(&address, Some(reply), &[], verb.as_bytes()).await?;
    handled(bed, &mut raw, who, &address).await
}

/// Returns when the consumer has answered.
async fn handled(bed: &Bed, raw: &mut RawNats, who: &str, address: &str) -> Started<()> {
    let inbox = ack_inbox(bed, who, 0xfeed);
    let answer = raw.request(address, &inbox, &[], b"+WPI").await?;
    match answer.status {
        None => Ok(()),
        Some(status) => Err(format!("nobody answers at {address}: {status}").into()),
    }
}

async fn deletes(mode: Mode, who: &str, consumer: &str, verb: &str) -> Verdict {
    // Deleted is another stream than the consumer's own, whose end would end the consumer's answers.
    let bed = bed(mode).await?;
    say(&bed, who, consumer, verb, "$JS.API.STREAM.DELETE.CONTROL").await?;
    deleted(&bed).await
}

async fn deleted(bed: &Bed) -> Verdict {
    let mut witness = Witness::of(bed).await?;
    Ok(match witness.messages("CONTROL").await? {
        None => Outcome::Succeeds,
        Some(_) => Outcome::Nowhere,
    })
}

const EVIL: &str = "EVENTS.n1_evil";

async fn delete_a_stream_by_a_progress(mode: Mode) -> Verdict {
    deletes(mode, "evil.n1", EVIL, "+WPI").await
}

async fn delete_a_stream_by_a_nak(mode: Mode) -> Verdict {
    deletes(mode, "evil.n1", EVIL, "-NAK").await
}

/// These two the server answers only where there is a delivery to settle.
async fn deletes_by_settling(mode: Mode, verb: &str) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.subscribe("mesh.deliver.EVENTS.n1_evil", Some("n1_evil")).await?;
    raw.settle().await?;
    bed.raw("svc.n1").await?.publish("mesh.events.svc.made", None, &[], b"{}").await?;
    let address = raw.next().await?.reply.ok_or("a delivery without an address")?;
    raw.publish(&address, Some("$JS.API.STREAM.DELETE.CONTROL"), &[], verb.as_bytes()).await?;
    handled(&bed, &mut raw, "evil.n1", &address).await?;
    deleted(&bed).await
}

async fn delete_a_stream_by_a_term(mode: Mode) -> Verdict {
    deletes_by_settling(mode, "+TERM because").await
}

async fn delete_a_stream_by_an_ack(mode: Mode) -> Verdict {
    deletes_by_settling(mode, "+ACK").await
}

async fn delete_a_stream_by_a_hosts_ack(mode: Mode) -> Verdict {
    deletes(mode, "host.n1", "NODES.n1", "+WPI").await
}

async fn delete_a_stream_by_a_builders_ack(mode: Mode) -> Verdict {
    deletes(mode, "builder.n1", "BUILDS.builder", "+WPI").await
}

async fn delete_a_consumer_by_a_progress(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    say(&bed, "evil.n1", EVIL, "+WPI", "$JS.API.CONSUMER.DELETE.EVENTS.n1_svc").await?;
    let mut witness = Witness::of(&bed).await?;
    Ok(match witness.consumer("EVENTS", "n1_svc").await? {
        None => Outcome::Succeeds,
        Some(_) => Outcome::Nowhere,
    })
}

/// All but NODES, whose roll-up needs it, deny a purge.
async fn empty_another_stream_by_a_progress(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    witness.append("mesh.replay.n9_mark.a.b", "kept").await?;
    say(&bed, "evil.n1", EVIL, "+WPI", "$JS.API.STREAM.PURGE.EVENTS").await?;
    Ok(match witness.messages("EVENTS").await? {
        Some(0) => Outcome::Succeeds,
        _ if bed.is_split() => Outcome::Nowhere,
        _ => Outcome::Kept,
    })
}

async fn empty_a_stream_by_a_progress(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    witness.declare("n2", "declared").await?;
    say(&bed, "evil.n1", EVIL, "+WPI", "$JS.API.STREAM.PURGE.NODES").await?;
    Ok(match witness.messages("NODES").await? {
        Some(0) => Outcome::Succeeds,
        _ => Outcome::Nowhere,
    })
}

async fn forge_an_event_by_a_progress(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    say(&bed, "evil.n1", EVIL, "+WPI", "mesh.events.svc.made").await?;
    // What the stream takes after it has a higher number.
    let said = witness.append("mesh.replay.n9_mark.a.b", "mark").await?;
    match said["seq"].as_u64() {
        Some(1) => Ok(Outcome::Nowhere),
        Some(2) => Ok(Outcome::Succeeds),
        _ => Err(said.to_string().into()),
    }
}

/// An empty message on its way to a stream; one that is stored moves the numbers of what comes later.
async fn answer_at_a_stream(mode: Mode, stream: &str, target: &str) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    answered_at(&bed, &mut witness, stream, target).await
}

async fn answered_at(bed: &Bed, witness: &mut Witness, stream: &str, target: &str) -> Verdict {
    let before = mark(bed, witness, stream).await?;
    say(bed, "evil.n1", EVIL, "+WPI", target).await?;
    match mark(bed, witness, stream).await? - before {
        1 => Ok(Outcome::Nowhere),
        2 => Ok(Outcome::Succeeds),
        other => Err(format!("{other} messages between two marks").into()),
    }
}

async fn aim_an_acknowledgements_answer_at_a_declaration(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    let declared = witness.declare("n2", "declared").await?;
    let outcome = answered_at(&bed, &mut witness, "NODES", "mesh.node.n2.declare").await?;
    let last = witness.last("NODES", "mesh.node.n2.declare").await?.ok_or("it is gone")?;
    if last["seq"] != declared["seq"] {
        return Ok(Outcome::Succeeds);
    }
    // In one account it comes to the stream, which keeps what it has.
    Ok(if bed.is_split() { outcome } else { Outcome::Kept })
}

async fn aim_an_acknowledgements_answer_at_a_new_node(mode: Mode) -> Verdict {
    answer_at_a_stream(mode, "NODES", "mesh.node.n2.declare").await
}

async fn aim_an_acknowledgements_answer_at_an_enrolment(mode: Mode) -> Verdict {
    answer_at_a_stream(mode, "CONTROL", "mesh.control.enrol").await
}

async fn aim_an_acknowledgements_answer_at_a_report(mode: Mode) -> Verdict {
    answer_at_a_stream(mode, "CONTROL", "mesh.control.n2.report").await
}

/// Says this at each of these addresses, after one of its own.
async fn refused_to(
    mode: Mode,
    (who, own): (&str, &str),
    word: &str,
    addresses: &[&str],
) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw(who).await?;
    handled(&bed, &mut raw, who, own).await?;
    for address in addresses {
        raw.publish(address, None, &[], word.as_bytes()).await?;
        let errors = raw.settle().await?.errors;
        if errors != [no_publish(address)] {
            return Err(format!("{address}: {errors:?}").into());
        }
    }
    Ok(Outcome::Refused)
}

const OWN: (&str, &str) = ("evil.n1", "$JS.ACK.EVENTS.n1_evil.1.1.1.0.0");

async fn refused(mode: Mode, addresses: &[&str]) -> Verdict {
    refused_to(mode, OWN, "+ACK", addresses).await
}

const OTHERS: [&str; 6] = [
    "$JS.ACK.EVENTS.n1_svc.1.1.1.0.0",
    "$JS.ACK.EVENTS.n2_evil.1.1.1.0.0",
    "$JS.ACK.NODES.n1.1.1.1.0.0",
    "$JS.ACK.CONTROL.controller.1.1.1.0.0",
    "$JS.ACK._.hash.EVENTS.n1_svc.1.1.1.0.0.random",
    "$JS.ACK._.hash.NODES.n1.1.1.1.0.0.random",
];

async fn ack_anothers_delivery(mode: Mode) -> Verdict {
    refused(mode, &OTHERS).await
}

async fn nak_anothers_delivery(mode: Mode) -> Verdict {
    refused_to(mode, OWN, "-NAK {\"delay\": 3600000000000}", &OTHERS).await
}

async fn term_anothers_delivery(mode: Mode) -> Verdict {
    refused_to(mode, OWN, "+TERM because", &OTHERS).await
}

async fn ack_for_another_node(mode: Mode) -> Verdict {
    let others = [
        "$JS.ACK.NODES.n2.1.1.1.0.0",
        "$JS.ACK._.hash.NODES.n2.1.1.1.0.0.random",
        "$JS.ACK.BUILDS.builder.1.1.1.0.0",
    ];
    let host = ("host.n1", "$JS.ACK.NODES.n1.1.1.1.0.0");
    refused_to(mode, host, "+ACK", &others).await?;
    let others = ["$JS.ACK.NODES.n1.1.1.1.0.0", "$JS.ACK.CONTROL.controller.1.1.1.0.0"];
    let builder = ("builder.n1", "$JS.ACK.BUILDS.builder.1.1.1.0.0");
    refused_to(mode, builder, "+ACK", &others).await
}

async fn ack_in_a_shorter_form(mode: Mode) -> Verdict {
    let others = [
        "$JS.ACK.EVENTS.n1_evil",
        "$JS.ACK.EVENTS.n1_evil.1.1.1",
        "$JS.ACK.EVENTS.n1_evil.1.1.1.0",
        // The first form of another's, with this one's names where numbers are.
        "$JS.ACK.NODES.n2.EVENTS.n1_evil.1.1.1",
        "$JS.ACK.EVENTS.n1_svc.EVENTS.n1_evil.1.0.0",
        "$JS.ACK.EVENTS.n1_evil.1.1.1.0.0.0",
        "$JS.ACK._.hash.EVENTS.n1_evil.1.1.1.0",
    ];
    refused(mode, &others).await
}

async fn ack_anothers_delivery_in_a_longer_form(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut witness = Witness::of(&bed).await?;
    // `svc` holds an event, unsettled.
    let mut svc = bed.raw("svc.n1").await?;
    svc.subscribe("mesh.deliver.EVENTS.n1_svc", Some("n1_svc")).await?;
    svc.settle().await?;
    let mut raw = bed.raw("evil.n1").await?;
    raw.publish("mesh.events.evil.x", None, &[], b"held").await?;
    let held = svc.next().await?;
    let address = held.reply.ok_or("a delivery without an address")?;
    let numbers = address.strip_prefix("$JS.ACK.EVENTS.n1_svc.").ok_or("another address")?;
    // Both names where the second form has domain and hash: the server reads the address by its length.
    for sly in [
        format!("$JS.ACK.EVENTS.n1_svc.EVENTS.n1_evil.{numbers}"),
        format!("$JS.ACK.EVENTS.n1_svc.EVENTS.n1_evil.{numbers}.random"),
    ] {
        raw.publish(&sly, None, &[], b"+ACK").await?;
        let errors = raw.settle().await?.errors;
        if !errors.is_empty() {
            return Err(format!("{sly}: {errors:?}").into());
        }
    }
    handled(&bed, &mut raw, "evil.n1", "$JS.ACK.EVENTS.n1_evil.1.1.1.0.0").await?;
    handled(&bed, &mut svc, "svc.n1", &address).await?;
    let state = witness.consumer("EVENTS", "n1_svc").await?.ok_or("no consumer")?;
    match state["num_ack_pending"].as_u64() {
        Some(1) => Ok(Outcome::Nowhere),
        Some(0) => Ok(Outcome::Succeeds),
        _ => Err(state.to_string().into()),
    }
}
