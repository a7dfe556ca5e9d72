internal import HTTPClient
internal import Lifecycle
internal import Settings

extension Command {
    /// `flotilla health-check`: for supervisors that can only start a program, such as Docker.
    static let healthCheck = Command(
        name: "health-check", summary: "Asks a process on this machine whether it is ready.",
        usage: "[--admin-listen HOST:PORT]", example: "flotilla health-check --admin-listen 127.0.0.1:9464",
        settings: ["admin.listen"]
    ) { invocation in
        try invocation.refuseWords()
        let listen = invocation.settings[ProcessSettings.self].adminListen
        switch await readiness(at: listen) {
        case .answered(let answer) where answer.status == 200: print("ready")
        case .answered(let answer):
            let said = answer.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw Refusal(
                status: .unavailable, said.isEmpty ? "/readyz answers with \(answer.status)" : said)
        case .failed(let reason):
            throw Refusal(
                status: .unavailable,
                "no answer at \(listen.settingText) (admin.listen): \(reason)")
        }
    }

    private static let answerMilliseconds = 3_000

    private static func readiness(at listen: HostPort) async -> HTTPClientConnection.ExchangeOutcome {
        // A process that listens on every address is asked at the loopback address.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][listen.host] ?? listen.host
        guard let loop = try? EventLoop(name: "health-check"), (try? loop.start()) != nil else {
            return .failed("no thread could be started")
        }
        defer { loop.stop() }
        return await withCheckedContinuation {
            (done: CheckedContinuation<HTTPClientConnection.ExchangeOutcome, Never>) in
            loop.execute {
                let link = Held()
                link.link = HTTPClientConnection(host: host, port: listen.port, on: loop) { outcome in
                    link.link = nil
                    done.resume(returning: outcome)
                }
                link.link?.send(
                    .init(method: "GET", path: "/readyz"),
                    deadline: loop.now.advanced(byMilliseconds: answerMilliseconds))
            }
        }
    }

    /// A box that keeps the link alive until it has reported.
    private final class Held {
        var link: HTTPClientConnection?
    }
}
