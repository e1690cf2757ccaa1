"""Chromium with the page that measures, and the desk: the server that gives the page out and carries its offers to a chain."""
import contextlib
import http.server
import pathlib
import threading
import time

from proxy import Impairment, Staircase

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ("--headless=new", "--no-sandbox", "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required",
         "--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection",
         "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
         "--disable-backgrounding-occluded-windows", "--window-size=1300,1200")
FILES = {"/": ("page.html", "text/html"), **{f"/{name}": (name, "text/javascript") for name in ("page.js", "code.js", "sound.js")}}


class Desk(http.server.ThreadingHTTPServer):
    """Serves the page, and carries its offers to the present chain: so a server needs no CORS for the page."""

    daemon_threads = True
    chain = impairment = poor = None
    warm_up = 0.0

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Request)

    def answer(self, leg, sdp):
        if leg == "settle":
            self.chain.settle()
            self.impairment.settle(self.warm_up)
            return ""
        if leg == "callee":
            return self.impairment.answer(sdp)
        if leg == "poor":
            return self.poor.answer(self.chain.answer("watch", self.poor.offer(sdp)))
        answer = self.chain.answer(leg, self.impairment.offer(sdp))
        return answer if leg in ("caller", "accept") else self.impairment.answer(answer, watches=leg != "publish")

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # Head and body leave together: else the body waits for the acknowledgement of the head.

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/clock":
            return self.reply(200, "text/plain", repr(time.time() * 1000).encode())
        if self.path not in FILES:
            return self.reply(404, "text/plain", b"there is nothing here")
        name, kind = FILES[self.path]
        self.reply(200, kind, (HERE / name).read_bytes())

    def do_POST(self):
        sdp = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            self.reply(200, "application/sdp", self.server.answer(self.path.rsplit("/", 1)[1], sdp).encode())
        except (OSError, RuntimeError) as error:
            self.reply(502, "text/plain", str(error).encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def browser(headful=False):
    """Chromium under its driver. Needs selenium: `environment.enter(environment.SELENIUM)`."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in FLAGS[headful:]:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()


def measure(driver, desk, chain, plan, impairment=None):
    """Runs `measure` of page.js on a chain; what it recorded, and what the proxies did. Times of the plan are milliseconds."""
    desk.chain, desk.impairment, desk.warm_up = chain, impairment or Impairment(), plan["warmUp"] / 1000
    if chain.poor:
        rate, loss, delay = chain.poor
        desk.poor = Impairment(loss, delay / 1000, link=Staircase([rate], 1))
    driver.set_script_timeout((plan["warmUp"] + plan["duration"]) / 1000 + 60)
    try:
        driver.get(f"http://127.0.0.1:{desk.server_port}/")
        record = driver.execute_async_script(
            "const [plan, done] = arguments;"
            "const begin = () => measure(plan).then(done, (e) => done({ fault: String(e.message ?? e) }));"
            "window.measure ? begin() : addEventListener('load', begin)", {"kind": chain.kind, "hasPoor": bool(chain.poor), **plan})
        driver.get("about:blank")
    finally:
        chain.hang_up()
        datagrams = desk.impairment.close()
        if chain.poor:
            desk.poor.close()
    if "fault" in record:
        raise RuntimeError(f"{chain.name}: {record['fault']}")
    return record, datagrams
