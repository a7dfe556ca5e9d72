"""Pushes to the simulated APNs with PyPI's aioapns, a client that nobody here wrote.

aioapns-push.py DIRECTORY KEY_ID TEAM PORT TOPIC GOOD_TOKEN DEAD_TOKEN
"""
import asyncio
import ssl
import sys
import uuid

from aioapns import APNs, NotificationRequest, PRIORITY_HIGH, PushType
from aioapns.connection import APNsProductionClientProtocol

directory, key_id, team, port, topic, good, dead = sys.argv[1:]
APNsProductionClientProtocol.APNS_SERVER = "localhost"
APNsProductionClientProtocol.APNS_PORT = int(port)


def request(token, number):
    body = {"aps": {"timestamp": 1763632800 + number, "event": "update", "content-state": {"home": number}}}
    return NotificationRequest(
        device_token=token, message=body, notification_id=str(uuid.uuid4()), priority=PRIORITY_HIGH,
        push_type=PushType.LIVEACTIVITY)


async def main():
    trust = ssl.create_default_context(cafile=directory + "/ca.pem")
    with open(f"{directory}/AuthKey_{key_id}.p8") as file:
        client = APNs(key=file.read(), key_id=key_id, team_id=team, topic=topic, ssl_context=trust)
    first = await client.send_notification(request(good, 0))
    print("first", first.status)
    results = await asyncio.gather(*(client.send_notification(request(good, n)) for n in range(1, 200)))
    print("then", sum(result.is_successful for result in results))
    last = await client.send_notification(request(dead, 0))
    print("last", last.status, last.description, last.timestamp)


asyncio.run(main())
