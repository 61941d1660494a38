use mesh_core::topology::*;
use mesh_testkit::servers::nats::RawNats;
use serde_json::json;
pub async fn temp_assert(raw: &mut RawNats, topology: &Topology) {
    for s in topology.streams() {
        let per = s.max_messages_per_subject.map_or(-1, |v| v as i64);
        let body = json!({"name": s.name.to_string(), "subjects": s.subjects.iter().map(|f| f.to_string()).collect::<Vec<_>>(),
          "retention": if s.retention == Retention::WorkQueue {"workqueue"} else {"limits"}, "max_age": s.max_age.unwrap_or_default().as_nanos() as u64,
          "max_bytes": s.max_bytes, "max_msgs_per_subject": per, "discard":"new", "discard_new_per_subject": per>0, "max_msg_size": s.max_message_bytes.map_or(-1, |v| v as i64),
          "max_consumers": s.max_consumers, "duplicate_window": s.deduplication_window.as_nanos() as u64, "allow_rollup_hdrs": s.retention==Retention::NewestPerSubject, "storage":"file","num_replicas":1, "max_msgs": -1});
        let a = raw
            .request(
                &format!("$JS.API.STREAM.CREATE.{}", s.name),
                "_INBOX.controller.c1.ack.1",
                &[],
                body.to_string().as_bytes(),
            )
            .await
            .unwrap();
        let t = String::from_utf8(a.body).unwrap();
        assert!(!t.contains("\"error\""), "{t}");
    }
    for c in topology.consumers() {
        let r = &c.reference;
        let mut cfg = json!({"durable_name": r.consumer.to_string(), "deliver_subject": format!("mesh.deliver.{}.{}", r.stream, r.consumer),
         "ack_policy":"explicit","ack_wait": c.rules.ack_wait.as_nanos() as u64, "max_deliver": c.rules.max_deliver.map_or(-1, i64::from), "max_ack_pending": c.rules.max_ack_pending,
         "deliver_policy": match c.deliver_from { DeliverFrom::All=>"all", DeliverFrom::New=>"new", DeliverFrom::LastPerSubject=>"last_per_subject"},
         "filter_subjects": c.filters.iter().map(|f| f.to_string()).collect::<Vec<_>>()});
        if c.rules.shared {
            cfg["deliver_group"] = json!(r.consumer.to_string());
        }
        let body = json!({"stream_name": r.stream.to_string(), "config": cfg});
        let a = raw
            .request(
                &format!("$JS.API.CONSUMER.DURABLE.CREATE.{}.{}", r.stream, r.consumer),
                "_INBOX.controller.c1.ack.2",
                &[],
                body.to_string().as_bytes(),
            )
            .await
            .unwrap();
        let t = String::from_utf8(a.body).unwrap();
        assert!(!t.contains("\"error\""), "{t}");
    }
}
