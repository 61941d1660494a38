"""The golden captures: envelopes as this reader writes them, with what they say. The same each time."""

import json

import mx

BODY = '{"amount": 12.50, "big": 12345678901234567890, "é": [1e3, null, "\\u00e9"], "a": 1, "a": 2}'
TIME = 1_767_225_600_000

HOME, PEER = "acme.com", "été.example"

ENVELOPES = {
    "a command with everything": {
        "profile": mx.MXENV1, "kind": "Cmd", "toRealm": HOME, "toPath": "shop/desk.accepts.greet",
        "fromRealm": PEER, "fromPath": "desk.accepts.answer", "replyRealm": PEER,
        "replyPath": "desk.accepts.answer", "msgId": "m-1", "correlationId": "c-1", "ttl": 8,
        "timestamp": TIME, "traceId": "t-1", "principal": '{"iss":"https://id.example","sub":"ada"}',
        "body": BODY,
    },
    "a command with what it must have": {
        "profile": mx.MXENV1, "kind": "Cmd", "toRealm": HOME, "toPath": "desk.accepts.greet",
        "fromRealm": "matrix-3", "msgId": "m-2",
    },
    "an event": {
        "profile": mx.MXENV1, "kind": "Evt", "toRealm": HOME, "toPath": "desk.emits.greeted",
        "fromRealm": PEER, "msgId": "m-3", "body": '"hello"',
    },
    "a subscription": {
        "profile": mx.MXENV1, "kind": "Sub", "toRealm": HOME, "toPath": "_federation.accepts.subscribe",
        "fromRealm": PEER, "replyRealm": PEER, "replyPath": "desk.accepts.answer", "msgId": "m-4",
        "correlationId": "c-4",
        "body": '{"sourcePath":"desk.emits.greeted","sinkPath":"desk.emits.heard","leaseMs":30000}',
    },
    "the end of one": {
        "profile": mx.MXENV1, "kind": "Unsub", "toRealm": HOME,
        "toPath": "_federation.accepts.unsubscribe", "fromRealm": PEER, "replyRealm": PEER,
        "replyPath": "desk.accepts.answer", "msgId": "m-5", "correlationId": "c-5", "body": '{"id":"l-1"}',
    },
    "a result": {
        "profile": mx.MXENV1, "kind": "Result", "toRealm": PEER, "toPath": "desk.accepts.answer",
        "fromRealm": HOME, "fromPath": "desk.accepts.greet", "msgId": "m-6", "correlationId": "c-1",
        "timestamp": TIME, "body": BODY,
    },
    "a refusal": {
        "profile": mx.MXENV1, "kind": "Nack", "toRealm": PEER, "toPath": "desk.accepts.answer",
        "fromRealm": HOME, "fromPath": "desk.accepts.greet", "msgId": "m-7", "correlationId": "c-1",
        "error": {"code": "MX.EDGE.RATE_LIMITED", "message": "too many", "details": '{"retryMs": 250}'},
    },
    "a legacy command with everything": {
        "profile": mx.LEGACY, "kind": "Cmd", "fromRealm": PEER, "toRealm": HOME,
        "fromPath": "desk.accepts.answer", "toPath": "shop/desk.accepts.greet", "replyRealm": PEER,
        "replyPath": "desk.accepts.answer", "correlationId": "c-8", "timestamp": TIME, "ttlMs": 5000,
        "msgId": "m-8", "principal": '"ada"', "body": BODY,
    },
    "a legacy command with what it must have": {
        "profile": mx.LEGACY, "kind": "Cmd", "fromRealm": "matrix-3", "toPath": "desk.accepts.greet",
        "correlationId": "c-9",
    },
    "a legacy event": {
        "profile": mx.LEGACY, "kind": "Evt", "fromRealm": "matrix-3", "toPath": "desk.emits.greeted",
        "correlationId": "c-10", "body": "[]",
    },
    "a legacy reply": {
        "profile": mx.LEGACY, "kind": "Result", "correlationId": "c-8", "fromRealm": HOME, "body": BODY,
        "timestamp": TIME,
    },
    "a legacy refusal": {
        "profile": mx.LEGACY, "kind": "Nack", "correlationId": "c-8", "fromRealm": HOME,
        "error": {"code": "desk.CLOSED", "message": "come back tomorrow"},
    },
}  # fmt: skip

# As older realms write them: what they say is what stands beside it.
VARIANTS = {
    "params are a body": (
        '{"fromRealm":"matrix-3","toPath":"desk.accepts.greet","correlationId":"c","params":{"a":1}}',
        {"profile": mx.LEGACY, "kind": "Cmd", "toPath": "desk.accepts.greet", "fromRealm": "matrix-3",
         "correlationId": "c", "body": '{"a":1}'},
    ),
    "payload is a body": (
        ' {"payload": 7 , "toPath":"desk.accepts.greet","fromRealm":"matrix-3","correlationId":"c"} ',
        {"profile": mx.LEGACY, "kind": "Cmd", "toPath": "desk.accepts.greet", "fromRealm": "matrix-3",
         "correlationId": "c", "body": "7"},
    ),
    "result is a body": (
        '{"correlationId":"c","ok":true,"result":null}',
        {"profile": mx.LEGACY, "kind": "Result", "correlationId": "c", "body": "null"},
    ),
    "fields that nobody knows are passed over": (
        '{"x9":1,"msgType":"Evt","to":{"realm":"acme.com","path":"a.emits.b","x9":2},'
        '"from":{"realm":"p","x9":3},"msgId":"m"}',
        {"profile": mx.MXENV1, "kind": "Evt", "toRealm": "acme.com", "toPath": "a.emits.b", "fromRealm": "p",
         "msgId": "m"},
    ),
}  # fmt: skip

REFUSED = {
    "a key twice": '{"msgType":"Evt","msgType":"Cmd","to":{"realm":"a","path":"a.emits.b"},"from":{"realm":"p"},"msgId":"m"}',
    "a key twice inside to": '{"msgType":"Evt","to":{"realm":"a","realm":"b","path":"a.emits.b"},"from":{"realm":"p"},"msgId":"m"}',
    "a key twice inside error": '{"correlationId":"c","ok":false,"error":{"code":"a","code":"b","message":""}}',
    "a body beside params": '{"fromRealm":"p","toPath":"a.accepts.b","correlationId":"c","body":1,"params":2}',
    "half a surrogate pair": '{"correlationId":"c","ok":true,"body":"\\ud800"}',
    "something that follows": '{"correlationId":"c","ok":true} x',
    "a byte-order mark": '\ufeff{"correlationId":"c","ok":true}',
    "no number": '{"correlationId":"c","ok":true,"body":NaN}',
    "too deep": '{"correlationId":"c","ok":true,"body":' + "[" * 129 + "]" * 129 + "}",
    "no envelope": '{"hello":"world"}',
    "a list": "[]",
    "nothing": "",
    "an unknown kind": '{"msgType":"Ask","to":{"realm":"a","path":"a.accepts.b"},"from":{"realm":"p"},"msgId":"m"}',
    "a request without an id": '{"fromRealm":"p","toPath":"a.accepts.b"}',
}

REALMS = ["acme.com", "matrix-3", "flowpad-demo.tab-01", "été.example", "a~b_c", "x+y"]

ADDRESSES = [
    "matrix://acme.com/desk.accepts.greet",
    "MATRIX://acme.com/shop/eu/desk.till.accepts.pay",
    "matrix://acme.com/shop/-/desk/till/accepts/pay",
    "matrix://acme.com/-/desk/emits/greeted",
    "matrix://acme.com/v1.2/desk.emits.gr%C3%BCn",
]

NO_ADDRESSES = [
    "http://acme.com/desk.accepts.greet",
    "matrix://acme.com",
    "matrix://acme.com/",
    "matrix://acme.com//desk.accepts.greet",
    "matrix://ada@acme.com/desk.accepts.greet",
    "matrix://acme.com:80/desk.accepts.greet",
    "matrix://acme.com/desk.accepts.greet?x=1",
    "matrix://acme.com/desk.accepts.greet#x",
    "matrix://acme.com/desk.asks.greet",
    "matrix://acme.com/greet",
    "matrix://acme.com/a%2Fb/desk.accepts.greet",
    "matrix://acme.com/desk%2Ex.accepts.greet",
    "matrix://acme.com/desk.accepts.%zz",
]


def address(text):
    realm, mounts, component, plane, message = mx.parse_uri(text)
    return {
        "text": text, "realm": realm, "mounts": mounts, "component": component, "plane": plane,
        "message": message, "path": mx.path_of(text)[1],
    }  # fmt: skip


def all_of_them():
    envelopes = [{"name": n, "bytes": mx.write(s).decode(), "says": s} for n, s in ENVELOPES.items()]
    envelopes += [{"name": n, "bytes": text, "says": says} for n, (text, says) in VARIANTS.items()]
    for one in envelopes:
        assert mx.read(one["bytes"].encode()) == one["says"], one["name"]
    for text in REFUSED.values():
        assert refuses(lambda text=text: mx.read(text.encode())), text
    for text in NO_ADDRESSES:
        assert refuses(lambda text=text: mx.parse_uri(text)), text
    return {
        "protocol": "§8",
        "envelopes": envelopes,
        "refused": [{"name": name, "bytes": text} for name, text in REFUSED.items()],
        "mailboxes": [
            {"realm": r, "legacy": mx.mailbox(r, mx.LEGACY), "mxenv1": mx.mailbox(r, mx.MXENV1)} for r in REALMS
        ],
        "addresses": [address(text) for text in ADDRESSES],
        "noAddresses": NO_ADDRESSES,
    }


def refuses(do):
    try:
        do()
    except mx.Refused:
        return True
    return False


def text():
    return json.dumps(all_of_them(), ensure_ascii=False, indent=1)
