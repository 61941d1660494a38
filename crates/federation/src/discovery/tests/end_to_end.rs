//! Two realms that find each other, prove themselves and take the direct way.
#![cfg(feature = "security")]

use std::num::NonZeroUsize;

use mesh_core::guard::Mode;
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::mx::MxPath;
use mesh_core::name::InstanceName;
use mesh_core::port::Connection;
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::*;
use crate::edge::{EdgeConfig, EdgeGateway, GatewayOptions};
use crate::security::{Algorithm, DiscoveredKeys, Generated, MxSec, Signer, generate};
use crate::{Answers, Call, RealmClient, RealmOptions, ResolvedClient};

fn principal(name: &str) -> Principal {
    Principal::Gateway { name: InstanceName::new(name).unwrap() }
}

/// A realm's gateway: every realm has to prove itself, with the keys that discovery finds; its own answers
/// are proven.
async fn gateway(
    of: &str,
    backbone: Connection,
    local: Connection,
    key: &Generated,
    discovery: Arc<Discovery>,
    answers: Option<Answers>,
) -> EdgeGateway {
    let signer = Signer::eddsa_pem(realm(of), key.kid(), key.pem()).unwrap();
    let mut config = EdgeConfig::new(realm(of));
    let guard = MxSec::new(realm(of), DiscoveredKeys::new(discovery));
    config.rules = config.rules.waiting(Mode::Enforce, guard);
    let options =
        GatewayOptions { answers, signer: Some(Arc::new(signer)), ..GatewayOptions::default() };
    EdgeGateway::start(config, backbone, local, options).await.unwrap()
}

fn document(of: &str, key: &Generated) -> Document {
    let jwks = RawJson::new(format!(r#"{{"keys":[{}]}}"#, key.jwk())).unwrap();
    Document::new(realm(of)).with_jwks(&jwks)
}

#[tokio::test]
async fn a_call_takes_the_direct_way_and_both_ends_are_proven() {
    let world = World::new();
    let clock = Arc::new(world.clock.clone());
    let backbone = InMemoryExactBroker::new(clock.clone());
    let [inside_acme, inside_shop] = [(); 2].map(|()| InMemoryFilterBroker::new(clock.clone()));
    let [acme_key, shop_key] = [(); 2].map(|()| generate(Algorithm::EdDsa).unwrap());

    // acme.example: a gateway, a component, and HTTPS in front.
    let published = Published::new(&document("acme.example", &acme_key));
    let shown = world.serve(routes(published.clone(), None, &RoutesOptions::default())).await;
    let knows_shop = world.discovery(world.options(&shown).known(document("shop", &shop_key)));
    let local = inside_acme.connect(principal("acme"));
    let acme_gateway = gateway(
        "acme.example",
        backbone.connect(principal("acme")),
        local.clone(),
        &acme_key,
        knows_shop,
        None,
    )
    .await;
    let inlet = acme_gateway.inlet(NonZeroUsize::new(8).unwrap());
    let endpoint =
        world.serve(routes(published.clone(), Some(inlet), &RoutesOptions::default())).await;
    published
        .replace(&document("acme.example", &acme_key).with_endpoint(url(&endpoint, "/mx/1/in")));
    let host = crate::ComponentHost::new(realm("acme.example"), local, Default::default());
    let _echo = host
        .accept(MxPath::new("echo.accepts.say").unwrap(), |call: Call| async { Ok(call.params) })
        .await
        .unwrap();

    // shop: a client that finds acme.example, and a gateway for the answers.
    let mut options = world.options(&shown).at(realm("acme.example"), place_at(&shown));
    options.egress = options.egress.allow_port(endpoint.local_addr().port());
    let finds_acme = world.discovery(options);
    let answers = Answers::new(Default::default());
    let local = inside_shop.connect(principal("shop"));
    let shop_gateway = gateway(
        "shop",
        backbone.connect(principal("shop")),
        local.clone(),
        &shop_key,
        Arc::clone(&finds_acme),
        Some(answers.clone()),
    )
    .await;
    let signer = Signer::eddsa_pem(realm("shop"), shop_key.kid(), shop_key.pem()).unwrap();
    let outside = ResolvedClient::new(backbone.connect(principal("shop-client")))
        .with_direct(Arc::new(HttpsDirect::new(finds_acme)))
        .with_signer(Arc::new(signer));
    let client = RealmClient::new(realm("shop"), outside, local, answers, RealmOptions::default())
        .await
        .unwrap();

    let body = RawJson::new(r#"{"big": 1e400}"#).unwrap();
    let answer = client.call("matrix://acme.example/echo.accepts.say", &body).await.unwrap();
    assert_eq!(answer.as_str(), body.as_str());
    assert_eq!(client.outside().counts().direct, 1);
    let proven = |gateway: &EdgeGateway| {
        let counters = gateway.guards();
        let guard = counters.of("mxsec").unwrap();
        (guard.passed, guard.refused)
    };
    assert_eq!((proven(&acme_gateway), proven(&shop_gateway)), ((1, 0), (1, 0)));

    // The endpoint goes away: the same call takes the backbone.
    endpoint.close().await;
    let answer = client.call("matrix://acme.example/echo.accepts.say", &body).await.unwrap();
    assert_eq!(answer.as_str(), body.as_str());
    assert_eq!((proven(&acme_gateway), proven(&shop_gateway)), ((2, 0), (2, 0)));
    acme_gateway.close(Duration::from_secs(1)).await;
    shop_gateway.close(Duration::from_secs(1)).await;
}
