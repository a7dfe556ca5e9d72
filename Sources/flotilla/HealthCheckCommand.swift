internal import HTTPClient
internal import Lifecycle
internal import Settings

extension Command {
    /// For supervisors that can only start a program, as Docker does.
    static let healthCheck = Command(
        name: "health-check", summary: "Asks a process of this machine whether work may come to it.",
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
                "nobody answers at \(listen.settingText), where admin.listen says: \(reason)")
        }
    }

    private static let answerMilliseconds = 3_000

    private static func readiness(at listen: HostPort) async -> HTTPLink.Outcome {
        // Who listens at every address is asked at this machine's own.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][listen.host] ?? listen.host
        guard let loop = try? EventLoop(name: "health-check"), (try? loop.start()) != nil else {
            return .failed("no thread could be started")
        }
        defer { loop.stop() }
        return await withCheckedContinuation { (done: CheckedContinuation<HTTPLink.Outcome, Never>) in
            loop.execute {
                let link = Held()
                link.link = HTTPLink(host: host, port: listen.port, on: loop) { outcome in
                    link.link = nil
                    done.resume(returning: outcome)
                }
                link.link?.send(
                    .init("GET", "/readyz"), deadline: loop.now.advanced(byMilliseconds: answerMilliseconds))
            }
        }
    }

    /// Keeps the link until it has told.
    private final class Held {
        var link: HTTPLink?
    }
}
