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
        try invocation.requireNoPositionals()
        let listen = invocation.settings[ProcessSettings.self].adminListen
        switch await requestReadiness(at: listen) {
        case .answered(let answer) where answer.status == 200: print("ready")
        case .answered(let answer):
            let bodyText = answer.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw CommandError(
                status: .unavailable, bodyText.isEmpty ? "/readyz answers with \(answer.status)" : bodyText)
        case .failed(let reason):
            throw CommandError(
                status: .unavailable,
                "no answer at \(listen.settingText) (admin.listen): \(reason)")
        }
    }

    private static let timeoutMilliseconds = 3_000

    private static func requestReadiness(at listen: HostPort) async -> HTTPClientConnection.ExchangeOutcome {
        // A process that listens on every address is asked at the loopback address.
        let loopbackHosts = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        let host = loopbackHosts[listen.host] ?? listen.host
        guard let loop = try? EventLoop(name: "health-check"), (try? loop.start()) != nil else {
            return .failed("no thread could be started")
        }
        defer { loop.stop() }
        return await withCheckedContinuation {
            (done: CheckedContinuation<HTTPClientConnection.ExchangeOutcome, Never>) in
            loop.execute {
                let holder = ConnectionHolder()
                holder.connection = HTTPClientConnection(host: host, port: listen.port, on: loop) { outcome in
                    holder.connection = nil
                    done.resume(returning: outcome)
                }
                holder.connection?.send(
                    .init(method: "GET", path: "/readyz"),
                    deadline: loop.now.advanced(byMilliseconds: timeoutMilliseconds))
            }
        }
    }

    /// A reference that keeps the connection alive until it has reported its outcome.
    private final class ConnectionHolder {
        var connection: HTTPClientConnection?
    }
}
