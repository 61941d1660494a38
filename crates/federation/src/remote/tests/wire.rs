use super::*;

const NOW: u64 = 1_767_225_600_000;

/// The ids that a generator of this seed gives, in order.
fn ids() -> [String; 2] {
    use crate::Random as _;
    let random = Seeded::new(7);
    [random.id(), random.id()]
}

fn options() -> CallOptions {
    CallOptions {
        principal: Some(json(r#"{"iss":"https://id","sub":"ada"}"#).into_owned()),
        trace_id: Some("t-1".to_owned()),
        ..CallOptions::default()
    }
}

#[tokio::test]
async fn a_call_is_a_command_with_fresh_ids_and_a_way_back_to_us() {
    let bed = Bed::new().await;
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let asking = tokio::spawn(async move {
        let uri = MxUri::parse("matrix://shop.example/front/stock.accepts.count").unwrap();
        client.call_with(&uri, &json(r#"{"n": 1.0, "n": 1e400}"#), &options()).await
    });
    let came = shop.next().await;
    let [correlation, message] = ids();
    assert_eq!(came.kind, MailboxKind::Mx(Shard(0)));
    assert_eq!(
        came.text(),
        format!(
            concat!(
                r#"{{"msgType":"Cmd","to":{{"realm":"shop.example","path":"front/stock.accepts.count"}},"#,
                r#""from":{{"realm":"home.example"}},"#,
                r#""replyTo":{{"realm":"home.example","path":"client.accepts.answer"}},"#,
                r#""msgId":"{message}","correlationId":"{correlation}","timestamp":{now},"#,
                r#""traceId":"t-1","principal":{{"iss":"https://id","sub":"ada"}},"#,
                r#""body":{{"n": 1.0, "n": 1e400}}}}"#
            ),
            message = message,
            correlation = correlation,
            now = NOW
        )
    );
    shop.answer(&came, Ok(r#"{"a": 1.00}"#)).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), r#"{"a": 1.00}"#);
}

#[tokio::test]
async fn a_call_to_a_legacy_realm_is_a_legacy_request_to_its_legacy_mailbox() {
    let bed = Bed::new().await;
    bed.client.set_profile(shop(), Profile::Legacy);
    assert_eq!(bed.client.profile(&shop()), Profile::Legacy);
    let mut shop = bed.shop().await;
    let client = bed.client.clone();
    let asking = tokio::spawn(async move {
        client.call_with(&MxUri::parse(COUNT).unwrap(), &json("[1.0]"), &options()).await
    });
    let came = shop.next().await;
    let [correlation, message] = ids();
    assert_eq!(came.kind, MailboxKind::Legacy);
    assert_eq!(came.message.subject().as_str(), "public.ingress.shop%2Eexample");
    assert_eq!(
        came.text(),
        format!(
            concat!(
                r#"{{"fromRealm":"home.example","toRealm":"shop.example","#,
                r#""toPath":"stock.accepts.count","replyToRealm":"home.example","#,
                r#""replyToPath":"client.accepts.answer","correlationId":"{correlation}","#,
                r#""timestamp":{now},"msgId":"{message}","#,
                r#""principal":{{"iss":"https://id","sub":"ada"}},"body":[1.0]}}"#
            ),
            message = message,
            correlation = correlation,
            now = NOW
        ),
        "without the trace, for which there is no place"
    );
    shop.answer(&came, Ok("2")).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), "2");
}

#[tokio::test]
async fn an_event_is_told_in_the_profile_of_the_realm() {
    let bed = Bed::new().await;
    let mut other = bed.shop().await;
    let uri = MxUri::parse("matrix://shop.example/stock.emits.changed").unwrap();
    for (profile, start) in [
        (Profile::MxEnv1, r#"{"msgType":"Evt","to":{"realm":"shop.example""#),
        (Profile::Legacy, r#"{"fromRealm":"home.example","toRealm":"shop.example""#),
    ] {
        bed.client.set_profile(shop(), profile);
        bed.client.tell(&uri, &json("[1.0]"), &options()).await.unwrap();
        let came = other.next().await;
        assert!(came.text().starts_with(start), "{}", came.text());
        assert!(came.text().ends_with(r#""body":[1.0]}"#), "{}", came.text());
        let decoded = decode(came.message.payload(), DEFAULT_MAX_BYTES).unwrap();
        assert_eq!(decoded.profile(), profile);
        let event = decoded.into_envelope(&shop()).unwrap();
        assert_eq!(event.kind, mesh_core::mx::MsgType::Evt);
    }
    let error = bed.client.call("matrix://shop.example/a.emits.b", &RawJson::NULL).await;
    assert!(matches!(error.unwrap_err(), RemoteError::Plane { .. }));
    let command = MxUri::parse(COUNT).unwrap();
    let error = bed.client.tell(&command, &RawJson::NULL, &CallOptions::default()).await;
    assert!(matches!(error.unwrap_err(), RemoteError::Plane { .. }));
}

/// A strangler: the profile changes while a call is under way, and its answer is taken all the same.
#[tokio::test]
async fn the_profile_of_a_realm_is_switched_live_and_back_and_no_call_is_lost() {
    let bed = Bed::new().await;
    let mut other = bed.shop().await;
    let mut under_way = Vec::new();
    for n in 0..40_u32 {
        let profile = Profile::ALL[(n as usize / 10) % 2];
        bed.client.set_profile(shop(), profile);
        let asking = bed.call("1");
        let came = other.next().await;
        assert_eq!(came.route().1, profile);
        under_way.push((asking, came));
    }
    for (n, (_, came)) in under_way.iter().enumerate() {
        other.answer(came, Ok(&n.to_string())).await;
    }
    for (n, (asking, _)) in under_way.into_iter().enumerate() {
        assert_eq!(asking.await.unwrap().unwrap().as_str(), n.to_string());
    }
    other.nothing_came().await;
}

#[tokio::test]
async fn a_call_to_our_own_realm_stays_inside() {
    let bed = Bed::new().await;
    let answer = |call: crate::Call| async move {
        assert!(call.is_local());
        Ok(call.params)
    };
    let path = MxPath::new("desk.accepts.ask").unwrap();
    let _registered = bed.client.accept(path, answer).await.unwrap();
    let body = json("[1.0]");
    let called = bed.client.call("matrix://home.example/desk.accepts.ask", &body).await;
    assert_eq!(called.unwrap(), body);
    let nobody = bed.client.call("matrix://home.example/desk.accepts.other", &body).await;
    assert!(matches!(nobody.unwrap_err(), RemoteError::Unavailable(_)));
    let topic = Filter::new("mx/1/home.example/desk.emits.said").unwrap();
    let inside = bed.local.connect(gateway("home"));
    let mut heard = inside.transport().subscribe(topic, Default::default()).await.unwrap();
    let uri = MxUri::parse("matrix://home.example/desk.emits.said").unwrap();
    bed.client.tell(&uri, &body, &CallOptions::default()).await.unwrap();
    assert_eq!(heard.next().await.unwrap().unwrap().payload().as_ref(), b"[1.0]");
}
