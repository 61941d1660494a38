//! A transport of one's own: the smallest adapter that passes the suite, for a broker on a TCP port.
//!
//! `broker.rs` and `wire.rs` are the stranger that it is written for, `transport.rs` and `link.rs` are the
//! adapter, `harness.rs` is what the suite needs. `docs/adding-a-transport.md` goes through it step by step.
//!
//! Run it with `cargo run -p mesh-examples --example custom_transport`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod broker;
mod harness;
mod link;
mod transport;
mod wire;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::name::NameError;
use mesh_core::port::ReceiveError;
use mesh_core::subject::{Filter, Subject};
use mesh_sdk::Broker;
use mesh_testkit::suite;

use broker::TinyBroker;
use harness::Tiny;
use transport::connect;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    work().await?;

    let report = suite::run(&Tiny).await;
    println!("the suite: {}", report.summary());
    if report.failures().next().is_some() {
        println!("{report}");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Two connections, a message from one to the other, and what there is not.
async fn work() -> Result<(), Box<dyn Error>> {
    let broker = TinyBroker::start().await?;
    let audit = connect(broker.address(), module("audit")?).await?;
    let mail = connect(broker.address(), module("mail")?).await?;

    let subject = Subject::new("test.sent")?;
    let mut heard = audit.transport().subscribe(subject.clone().into(), Default::default()).await?;
    mail.transport().publish(Message::new(subject, "to bob"), Default::default()).await?;
    let message = heard.next().await.ok_or("it ended")??;
    println!("{} heard {:?}", audit.principal(), message.payload());

    let all = Filter::new("test.>")?;
    refused(audit.transport().subscribe(all, Default::default()).await.map(drop));
    refused(mail.streams().map(drop));
    refused(Broker::builder(mail.clone()).build().map(drop));

    drop(broker);
    match heard.next().await {
        Some(Err(ReceiveError::Ended(why))) => println!("without the broker: {}", why.kind()),
        other => println!("without the broker came {other:?}"),
    }
    refused(mail.transport().flush(Duration::from_secs(1)).await);
    mail.transport().close(Duration::from_secs(1)).await;
    Ok(())
}

fn module(name: &str) -> Result<Principal, NameError> {
    Ok(Principal::Module { node: "n1".parse()?, module: name.parse()? })
}

fn refused<E: Error>(result: Result<(), E>) {
    match result {
        Ok(()) => println!("it was not refused"),
        Err(error) => println!("refused: {error}"),
    }
}
