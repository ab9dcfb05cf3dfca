"""Submits a transaction with py-near to the server at the address given, and prints its hash.

Used by clients.test.js, in the environment of requirements.txt.
"""

import asyncio
import sys

import base58
from nacl.signing import SigningKey
from py_near.account import Account


async def main(url):
    key = SigningKey.generate()
    secret = base58.b58encode(bytes(key) + bytes(key.verify_key)).decode()
    account = Account("erin.practice", f"ed25519:{secret}", url)
    await account.startup()
    try:
        sent = await account.send_money("frank.practice", 1)
    finally:
        await account.shutdown()
    assert sent.status == {"SuccessValue": ""}, sent.status
    print(sent.transaction.hash)


asyncio.run(main(sys.argv[1]))
