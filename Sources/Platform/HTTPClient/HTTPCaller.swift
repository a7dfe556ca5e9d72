internal import Lifecycle

/// A client of one server. It sends one request after the other and waits for each answer.
package final class HTTPCaller: Sendable {
    private let line: LoopOwned<CallerLine>

    package init(host: String, port: Int, name: String) throws {
        line = try LoopOwned(thread: name) { CallerLine(host: host, port: port, on: $0.loop) }
    }

    package func stop() { line.stop { $0.end() } }

    /// Sends a request and returns its outcome.
    ///
    /// - Parameter milliseconds: The time to wait for the answer.
    package func ask(_ request: HTTPLink.Request, withinMilliseconds milliseconds: Int) async
        -> HTTPLink.Outcome
    {
        await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let isAsked = line.execute {
                $0.ask(request, withinMilliseconds: milliseconds) { continuation.resume(returning: $0) }
            }
            if !isAsked { continuation.resume(returning: .failed("the client has been stopped")) }
        }
    }
}

/// The connection, which is replaced after it ends, and the caller that waits for an answer.
private final class CallerLine {
    private let host: String
    private let port: Int
    private let loop: EventLoop
    private var link: HTTPLink?
    private var answered: ((HTTPLink.Outcome) -> Void)?

    init(host: String, port: Int, on loop: EventLoop) {
        self.host = host
        self.port = port
        self.loop = loop
    }

    func ask(
        _ request: HTTPLink.Request, withinMilliseconds milliseconds: Int,
        then: @escaping (HTTPLink.Outcome) -> Void
    ) {
        answered = then
        usableLink().send(request, deadline: loop.now.advanced(byMilliseconds: milliseconds))
    }

    func end() { link?.end() }

    private func usableLink() -> HTTPLink {
        if let link, !link.isOver { return link }
        let link = HTTPLink(host: host, port: port, on: loop) { [unowned self] outcome in
            let waiting = answered
            answered = nil
            if case .failed = outcome { self.link?.end() }
            waiting?(outcome)
        }
        self.link = link
        return link
    }
}
