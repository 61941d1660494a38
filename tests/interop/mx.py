"""The wires between realms, read and written from docs/protocol.md, section 8, and from nothing else.

It shares no code with the project, so that what both understand is what the document says.
"""

import json
import re

LEGACY = "legacy"
MXENV1 = "mxenv1"
KINDS = ("Cmd", "Evt", "Result", "Sub", "Unsub", "Nack")
MAX_DEPTH = 128

UNRESERVED = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~"
)


class Refused(Exception):
    """Bytes that are no envelope, or a text that is no name."""


# Names and topics


def escape(realm):
    """mxesc1: every byte but letters, digits, `-`, `_` and `~` is `%HH`."""
    return "".join(chr(b) if b in UNRESERVED else f"%{b:02X}" for b in realm.encode())


def unescape(text):
    """The realm that was written so. It must be written as `escape` would."""
    if not text or re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise Refused("mxesc1: empty, or a bad escape")
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode())
    try:
        realm = raw.decode()
    except UnicodeDecodeError as error:
        raise Refused("mxesc1: not UTF-8") from error
    if escape(realm) != text:
        raise Refused("mxesc1: not canonical")
    return realm


def mailbox(realm, profile):
    """Where a realm of that wire takes what is for it."""
    if profile == LEGACY:
        return f"public.ingress.{escape(realm)}"
    return f"mx/in/1/{realm}/00"


# Addresses


def parse_uri(text):
    """A `matrix://` address as (realm, mounts, component, plane, message)."""
    scheme, there, rest = text.partition("://")
    if scheme.lower() != "matrix" or not there or re.search(r"[?#]", rest):
        raise Refused("not a matrix:// address")
    realm, *segments = rest.split("/")
    if not segments or "" in segments or not realm or "@" in realm or ":" in realm:
        raise Refused("an empty segment, a user or a port")
    if "-" in segments:
        cut = segments.index("-")
        mounts, tail = segments[:cut], segments[cut + 1 :]
        if len(tail) < 3:
            raise Refused("too little after the delimiter")
        *component, plane, message = map(decoded, tail)
        if any("." in part for part in [*component, plane, message]):
            raise Refused("a dot where only a mount may have one")
    else:
        mounts = segments[:-1]
        parts = segments[-1].rsplit(".", 2)
        if len(parts) != 3:
            raise Refused("no plane")
        component, plane, message = parts[0].split("."), parts[1], parts[2]
        component, message = [decoded(part) for part in component], decoded(message)
        if any("." in part for part in [*component, message]):
            raise Refused("an escaped dot is a dot")
    if plane not in ("accepts", "emits") or "" in component or not message:
        raise Refused("the plane is accepts or emits")
    return decoded(realm), [decoded(part) for part in mounts], ".".join(component), plane, message


def decoded(segment):
    if re.search(r"%(?![0-9A-Fa-f]{2})", segment):
        raise Refused("a bad escape")
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), segment.encode())
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Refused("not UTF-8") from error
    if not text or any(c in "/*>#%" or c.isspace() or ord(c) < 0x20 or ord(c) == 0x7F for c in text):
        raise Refused("a segment holds what it may not")
    return text


def path_of(uri):
    """Realm and path of an address: what an envelope's `to` holds."""
    realm, mounts, component, plane, message = parse_uri(uri)
    return realm, "/".join([*mounts, f"{component}.{plane}.{message}"])


# Reading: strict where the document is, tolerant elsewhere

STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
SPACE = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder(parse_constant=lambda name: refuse(f"{name} is no JSON"))


def refuse(why):
    raise Refused(why)


def check(text):
    """Depth, and pairs of surrogates, over the whole text."""
    depth, at = 0, 0
    while at < len(text):
        c = text[at]
        if c == '"':
            string = STRING.match(text, at) or refuse("a string that does not end")
            json.loads(string[0]).encode("utf-8", "surrogatepass")
            try:
                json.loads(string[0]).encode()
            except UnicodeEncodeError as error:
                raise Refused("half a surrogate pair") from error
            at = string.end()
            continue
        depth += (c in "[{") - (c in "]}")
        if depth > MAX_DEPTH:
            raise Refused("nested too deep")
        at += 1


def members(text):
    """An object's members, each value as its exact text. A key that stands twice is refused."""
    found = {}
    at = SPACE.match(text).end()
    if text[at : at + 1] != "{":
        raise Refused("not an object")
    at = SPACE.match(text, at + 1).end()
    if text[at : at + 1] == "}":
        ends(text, at + 1)
        return found
    while True:
        string = STRING.match(text, at) or refuse("a key is missing")
        key = json.loads(string[0])
        if key in found:
            raise Refused(f"{key} stands twice")
        at = SPACE.match(text, string.end()).end()
        if text[at : at + 1] != ":":
            raise Refused("a colon is missing")
        start = SPACE.match(text, at + 1).end()
        try:
            _, end = DECODER.raw_decode(text, start)
        except ValueError as error:
            raise Refused(str(error)) from error
        found[key] = text[start:end]
        at = SPACE.match(text, end).end()
        mark = text[at : at + 1]
        if mark == "}":
            ends(text, at + 1)
            return found
        if mark != ",":
            raise Refused("neither a comma nor an end")
        at = SPACE.match(text, at + 1).end()


def ends(text, at):
    if SPACE.match(text, at).end() != len(text):
        raise Refused("something follows")


class Fields:
    """One of the envelope's own objects."""

    def __init__(self, text):
        self.raw = members(text)

    def has(self, key):
        return self.raw.get(key, "null") != "null"

    def value(self, key, kind):
        if not self.has(key):
            return None
        value = json.loads(self.raw[key])
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Refused(f"{key} is of another type")
        return value

    def text(self, key):
        return self.value(key, str)

    def starts(self, key, marks):
        return self.raw.get(key, " ")[0] in marks

    def object(self, key):
        return Fields(self.raw[key]) if self.has(key) else None

    def end(self, key):
        """Realm and path of one end."""
        end = self.object(key)
        return (None, None) if end is None else (end.text("realm"), end.text("path"))

    def body(self, *keys):
        given = [key for key in keys if key in self.raw]
        if len(given) > 1:
            raise Refused(f"{given[0]} stands twice, the second time as {given[1]}")
        return self.raw[given[0]] if given else None


def read(data, limit=1 << 20):
    """What an envelope says, whichever wire it was written for."""
    if len(data) > limit:
        raise Refused("too many bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Refused("not UTF-8") from error
    check(text)
    top = Fields(text)
    if top.starts("msgType", '"') and top.starts("to", "{"):
        return read_mxenv1(top)
    if top.starts("ok", "tf") and top.has("correlationId") and not top.has("toPath"):
        return read_reply(top)
    if top.starts("toPath", '"') and top.has("fromRealm"):
        return read_request(top)
    raise Refused("no envelope")


def said(**fields):
    return {key: value for key, value in fields.items() if value is not None}


def fault(top):
    error = top.object("error")
    if error is None:
        return None
    return said(code=error.text("code"), message=error.text("message"), details=error.body("details"))


def read_mxenv1(top):
    kind = top.text("msgType")
    if kind not in KINDS:
        raise Refused("an unknown msgType")
    to_realm, to_path = top.end("to")
    from_realm, from_path = top.end("from")
    reply_realm, reply_path = top.end("replyTo")
    if to_realm is None or to_path is None or from_realm is None:
        raise Refused("an end is missing")
    return said(
        profile=MXENV1, kind=kind, toRealm=to_realm, toPath=to_path, fromRealm=from_realm,
        fromPath=from_path, replyRealm=reply_realm, replyPath=reply_path,
        msgId=top.text("msgId"), correlationId=top.text("correlationId"), ttl=top.value("ttl", int),
        timestamp=top.value("timestamp", int), traceId=top.text("traceId"),
        principal=top.body("principal"), body=top.body("body"), error=fault(top),
    )  # fmt: skip


def read_reply(top):
    return said(
        profile=LEGACY, kind="Result" if top.value("ok", bool) else "Nack",
        correlationId=top.text("correlationId"), fromRealm=top.text("fromRealm"),
        timestamp=top.value("timestamp", int), body=top.body("body", "result"), error=fault(top),
    )  # fmt: skip


def read_request(top):
    path = top.text("toPath")
    replied = top.has("replyToRealm") or top.has("replyToPath")
    event = path.rpartition("/")[2].split(".")[-2:-1] == ["emits"] and not replied
    if not top.has("correlationId"):
        raise Refused("correlationId is missing")
    return said(
        profile=LEGACY, kind="Evt" if event else "Cmd", toRealm=top.text("toRealm"), toPath=path,
        fromRealm=top.text("fromRealm"), fromPath=top.text("fromPath"),
        replyRealm=top.text("replyToRealm"), replyPath=top.text("replyToPath"),
        msgId=top.text("msgId"), correlationId=top.text("correlationId"),
        timestamp=top.value("timestamp", int), ttlMs=top.value("ttlMs", int),
        principal=top.body("principal"), body=top.body("body", "params", "payload"),
    )  # fmt: skip


# Writing


def written(pairs):
    """An object of members that are JSON already, in this order."""
    given = (f"{json.dumps(key)}:{value}" for key, value in pairs if value is not None)
    return "{" + ",".join(given) + "}"


def quoted(value):
    return None if value is None else json.dumps(value, ensure_ascii=False)


def end(realm, path=None):
    return written([("realm", quoted(realm)), ("path", quoted(path))])


def write(said):
    """The bytes of what `read` tells."""
    get = said.get
    error = get("error")
    if error is not None:
        error = written(
            [("code", quoted(error["code"])), ("message", quoted(error["message"])), ("details", error.get("details"))]
        )
    if get("profile") == MXENV1:
        reply = get("replyRealm") and end(get("replyRealm"), get("replyPath"))
        text = written([
            ("msgType", quoted(get("kind"))), ("to", end(get("toRealm"), get("toPath"))),
            ("from", end(get("fromRealm"), get("fromPath"))), ("replyTo", reply),
            ("msgId", quoted(get("msgId"))), ("correlationId", quoted(get("correlationId"))),
            ("ttl", quoted(get("ttl"))), ("timestamp", quoted(get("timestamp"))),
            ("traceId", quoted(get("traceId"))), ("principal", get("principal")),
            ("body", get("body")), ("error", error),
        ])  # fmt: skip
    elif get("toPath") is None:
        text = written([
            ("correlationId", quoted(get("correlationId"))), ("ok", quoted(get("kind") == "Result")),
            ("fromRealm", quoted(get("fromRealm"))), ("body", get("body")), ("error", error),
            ("timestamp", quoted(get("timestamp"))),
        ])  # fmt: skip
    else:
        text = written([
            ("fromRealm", quoted(get("fromRealm"))), ("toRealm", quoted(get("toRealm"))),
            ("fromPath", quoted(get("fromPath"))), ("toPath", quoted(get("toPath"))),
            ("replyToRealm", quoted(get("replyRealm"))), ("replyToPath", quoted(get("replyPath"))),
            ("correlationId", quoted(get("correlationId"))), ("timestamp", quoted(get("timestamp"))),
            ("ttlMs", quoted(get("ttlMs"))), ("msgId", quoted(get("msgId"))),
            ("principal", get("principal")), ("body", get("body")),
        ])  # fmt: skip
    return text.encode()
