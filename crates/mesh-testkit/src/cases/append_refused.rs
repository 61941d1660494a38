use mesh_core::port::ErrorKind;

use super::desk::{Desk, sold};
use super::publish_refused::{broker_headers, repeated_header, too_large};
use crate::fixtures::{module, permissions};
use crate::suite::scene::{closed, refused};
use crate::suite::{Case, Stage, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!(append_over_the_limit_is_too_large),
    case!(append_of_a_broker_header_is_invalid),
    case!(append_to_a_denied_subject_is_denied, Permissions),
    case!(append_after_close_is_closed),
];

const SOLD: &str = "mesh.events.shop.sold";

async fn append_over_the_limit_is_too_large(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let limits = *desk.shop.transport().capabilities().limits();
    for sent in too_large(SOLD, &limits) {
        let result = desk.scene.try_append(&desk.shop, sent).await?;
        refused(result, ErrorKind::TooLarge, "a message over a limit")?;
    }
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn append_of_a_broker_header_is_invalid(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    for sent in broker_headers(SOLD).into_iter().chain([repeated_header(SOLD)]) {
        let what = format!("{:?}", sent.headers());
        let result = desk.scene.try_append(&desk.shop, sent).await?;
        refused(result, ErrorKind::Invalid, &what)?;
    }
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn append_to_a_denied_subject_is_denied(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let crm = module("n1", "crm");
    let may = permissions(&crm, &["mesh.events.crm.>"], &[]);
    let crm = desk.scene.dial(crm, Some(may)).await?;
    let result = desk.scene.try_append(&crm, sold("forged")).await?;
    refused(result, ErrorKind::Denied, "appending where it is denied")?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.expect_only_the_sentinel(&mut reading).await
}

async fn append_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.scene.close(&desk.shop).await?;
    let result = desk.scene.try_append(&desk.shop, sold("1")).await?;
    closed(result, "append")
}
