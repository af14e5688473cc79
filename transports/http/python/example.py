"""Makes calls over HTTP: start `example.py serve`, then `example.py call` in a second terminal."""

import sys
import time

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response

PAYLOAD_BYTES = 1000
RATE_HZ = 100.0
COUNT = 100
TOPIC = "messages"
ADDRESS = "127.0.0.1:8080"
KEEP_ALIVE = True
LOOP = "uvloop"  # or asyncio
PARSER = "httptools"  # or h11
PATIENCE_S = 10.0


def call() -> None:
    payload = bytes(PAYLOAD_BYTES)
    headers = {"Content-Type": "application/octet-stream", **({} if KEEP_ALIVE else {"Connection": "close"})}
    count = 0
    with httpx.Client(headers=headers, timeout=PATIENCE_S, trust_env=False) as client:
        begin = time.monotonic()
        for number in range(COUNT):
            time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
            reply = client.post(f"http://{ADDRESS}/{TOPIC}", content=payload)
            count += reply.status_code == httpx.codes.OK and len(reply.content) == PAYLOAD_BYTES
    print(f"received {count} replies")


def serve() -> None:
    app, count = FastAPI(), 0

    @app.post(f"/{TOPIC}")
    async def answer(request: Request) -> Response:
        nonlocal count
        body = await request.body()
        count += len(body) == PAYLOAD_BYTES
        server.should_exit = count == COUNT
        return Response(body, media_type="application/octet-stream")

    class Announced(uvicorn.Server):
        async def startup(self, sockets: object = None) -> None:
            await super().startup()
            print("ready", flush=True)

    host, _, port = ADDRESS.partition(":")
    server = Announced(uvicorn.Config(app, host, int(port), loop=LOOP, http=PARSER, log_level="error"))
    server.run()
    print(f"answered {count} calls")


if __name__ == "__main__":
    {"call": call, "serve": serve}[sys.argv[1]]()
