"""A proxy between the browser and the gateway. It can lose an answer or keep it back, refuse connections as a killed gateway does, and
count bytes. With a folder it serves the console's files from there, so that a change of a page needs no build."""
import contextlib
import http.client
import http.server
import os
import threading
import time

PASSED_ON = {"content-type", "date", "content-encoding", "etag", "vary", "location", "set-cookie", "cache-control", "content-security-policy",
             "cross-origin-opener-policy", "cross-origin-resource-policy", "referrer-policy", "x-content-type-options", "next-cursor"}
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


class Proxy:
    def __init__(self, host, port, folder=None):
        self.target, self.folder = (host, port), folder
        # The idempotency keys of the sends that reach the gateway, without trials.
        self.send_keys = set()
        self.bytes = 0
        # "lost": the gateway gets a send, and its answer is lost. "refused": a send does not reach the gateway. After both
        # the gateway is "down": nothing reaches it. "killed": `kill` ends the gateway before it has read a send.
        self.fault = None
        self.kill = lambda: None
        # Paths whose connections are closed without an answer.
        self.lost_paths = set()
        # Seconds by path, for which an answer of the gateway is kept back.
        self.pauses = {}
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_call(self):
                proxy.handle(self)

            do_GET = do_POST = do_PUT = do_DELETE = handle_call

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # The browser may close a connection at any time.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def handle(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if self.fault == "down" or request.path.split("?")[0] in self.lost_paths:
            request.close_connection = True
            return
        is_send = request.command == "POST" and request.path == "/v1/sends" and b'"dryRun"' not in body
        if self.fault == "refused" and is_send:
            self.fault = "down"
            request.close_connection = True
            return
        if is_send:
            self.send_keys.add(request.headers["Idempotency-Key"])
        if self.fault == "killed" and is_send:
            self.kill()
        answer = self.file(request.path) or self.forward(request, body)
        time.sleep(self.pauses.get(request.path.split("?")[0], 0))
        if self.fault == "lost" and is_send:
            self.fault = "down"
            request.close_connection = True
            return
        status, headers, content = answer
        request.send_response_only(status)
        for name, value in headers:
            request.send_header(name, value)
        if status not in (204, 304):
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
        self.bytes += len(content) + sum(len(name) + len(value) + 4 for name, value in headers)

    @contextlib.contextmanager
    def slow(self, path, seconds):
        """Keeps back the answers of a path."""
        self.pauses[path] = seconds
        try:
            yield
        finally:
            del self.pauses[path]

    def file(self, path):
        path = path.split("?")[0]
        if not self.folder or not path.startswith("/console") or path == "/console/session":
            return None
        name = path.removeprefix("/console").strip("/") or "index.html"
        try:
            with open(os.path.join(self.folder, os.path.basename(name)), "rb") as file:
                return 200, [("Content-Type", TYPES[name.split(".")[-1]]), ("Cache-Control", "no-store")], file.read()
        except (OSError, KeyError):
            return 404, [], b""

    def sends(self):
        """Returns the number of sends that pages have asked for, without trials. A browser may repeat a request by itself
        when its connection breaks. The idempotency key is the same then."""
        return len(self.send_keys)

    def forward(self, request, body):
        connection = http.client.HTTPConnection(*self.target, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection", "content-length")}
        connection.request(request.command, request.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, [(name, value) for name, value in answer.getheaders() if name.lower() in PASSED_ON], content
