"""A foreign realm: it speaks both wires over a real nats-server, and does what its standard input tells it.

    foreign.py talk CONFIG.json     a realm; one JSON command a line in, one JSON answer a line out
    foreign.py captures             prints the golden captures
    foreign.py read                 one envelope a line in, what it says a line out
"""

import asyncio
import json
import ssl
import sys
import time

import captures
import mx


class Realm:
    """One realm, with a mailbox on each wire."""

    def __init__(self, config):
        self.name = config["realm"]
        self.config = config
        self.answers = {}
        self.inbound = asyncio.Queue()
        self.served = {}
        self.errors = []
        self.nats = None
        self.count = 0

    async def connect(self):
        import nats

        context = ssl.create_default_context(cafile=self.config["ca"])
        self.nats = await nats.connect(
            self.config["url"], user=self.config["user"], password=self.config["password"],
            tls=context, allow_reconnect=False, error_cb=self.failed,
        )  # fmt: skip
        for profile in (mx.LEGACY, mx.MXENV1):
            await self.nats.subscribe(mx.mailbox(self.name, profile), cb=self.receive(profile))
        await self.nats.flush(10)

    async def failed(self, error):
        self.errors.append(str(error))

    def fresh(self, what):
        self.count += 1
        return f"{what}-{self.name}-{self.count}"

    def receive(self, profile):
        async def one(message):
            try:
                said = mx.read(message.data)
            except mx.Refused as why:
                self.inbound.put_nowait({"refused": str(why)})
                return
            if said["kind"] in ("Result", "Nack"):
                waiting = self.answers.setdefault(said.get("correlationId"), asyncio.Queue())
                waiting.put_nowait(said)
            elif said["kind"] == "Evt" or said["toPath"] not in self.served:
                self.inbound.put_nowait(said)
            else:
                await self.answer(profile, said, self.served[said["toPath"]])

        return one

    async def answer(self, profile, asked, how):
        """Answers in the profile and the mailbox that the request came in."""
        if asked.get("replyRealm", asked["fromRealm"]) != asked["fromRealm"]:
            return  # nobody else is answered than who asks
        said = {
            "profile": asked["profile"], "kind": "Result", "toRealm": asked["fromRealm"],
            "correlationId": asked.get("correlationId", asked.get("msgId")), "fromRealm": self.name,
            "timestamp": now(),
        }  # fmt: skip
        if how == "echo":
            said["body"] = asked.get("body", "null")
        else:
            said["kind"], said["error"] = "Nack", how
        if said["profile"] == mx.MXENV1:
            said["toPath"] = asked.get("replyPath", asked.get("fromPath"))
            said["fromPath"], said["msgId"] = asked["toPath"], self.fresh("m")
            if said["toPath"] is None:
                return  # there is no way back
        await self.nats.publish(mx.mailbox(asked["fromRealm"], profile), mx.write(said))

    async def send(self, command):
        """Sends an envelope; what is not given is filled in. Answers its correlationId."""
        said = dict(command["say"])
        if "uri" in command:
            said["toRealm"], said["toPath"] = mx.path_of(command["uri"])
        said.setdefault("kind", "Cmd")
        said.setdefault("fromRealm", self.name)
        said.setdefault("msgId", self.fresh("m"))
        said.setdefault("correlationId", self.fresh("c"))
        if said["kind"] != "Evt":
            said.setdefault("replyRealm", self.name)
            said.setdefault("replyPath", "desk.accepts.answer")
        to = command.get("mailboxOf", said["toRealm"])
        await self.nats.publish(mx.mailbox(to, said["profile"]), mx.write(said))
        await self.nats.flush(10)
        return {"correlationId": said["correlationId"], "msgId": said["msgId"]}

    async def obey(self, command):
        verb = command["do"]
        if verb == "send":
            return await self.send(command)
        if verb == "answer":
            waiting = self.answers.setdefault(command["correlationId"], asyncio.Queue())
            return await waiting.get()
        if verb == "answered":  # how many answers wait to be taken
            return {key: queue.qsize() for key, queue in self.answers.items() if queue.qsize()}
        if verb == "inbound":
            return await self.inbound.get()
        if verb == "serve":
            self.served[command["path"]] = command["how"]
            return {}
        if verb == "publish":  # any bytes to any topic
            await self.nats.publish(command["topic"], command["data"].encode())
            return await self.told()
        if verb == "listen":
            await self.nats.subscribe(command["topic"])
            return await self.told()
        raise ValueError(f"no verb {verb}")

    async def told(self):
        """What the server refused of what was asked before."""
        await self.nats.flush(10)
        # An error that came before the first pong is told by a task, which has run by the second.
        await self.nats.flush(10)
        errors, self.errors = self.errors, []
        return {"refused": errors}



def now():
    return int(time.time() * 1000)


async def talk(config):
    realm = Realm(config)
    await realm.connect()
    print(json.dumps({"ready": realm.name}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answer = await realm.obey(json.loads(line))
        print(json.dumps(answer), flush=True)
    await realm.nats.close()


def read_lines():
    for line in sys.stdin:
        try:
            said = mx.read(json.loads(line).encode("utf-8", "surrogatepass"))
        except mx.Refused as why:
            said = {"refused": str(why)}
        print(json.dumps(said), flush=True)


def main():
    verb, *rest = sys.argv[1:]
    if verb == "talk":
        with open(rest[0], encoding="utf-8") as file:
            config = json.load(file)
        asyncio.run(talk(config))
    elif verb == "captures":
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        print(captures.text())
    elif verb == "read":
        read_lines()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
