internal import Lifecycle

/// Asks one server, one request after the other, and waits for each answer.
///
/// `@unchecked Sendable`: `link` and `answered` are touched on `loop` alone.
package final class HTTPCaller: @unchecked Sendable {
    private let host: String
    private let port: Int
    private let loop: EventLoop
    private var link: HTTPLink?
    private var answered: CheckedContinuation<HTTPLink.Outcome, Never>?

    package init(host: String, port: Int, name: String) throws {
        self.host = host
        self.port = port
        loop = try EventLoop(name: name)
        try loop.start()
    }

    package func stop() {
        _ = loop.perform { self.link?.end() }
        loop.stop()
    }

    /// - Parameter milliseconds: how long the answer is waited for.
    package func ask(_ request: HTTPLink.Request, withinMilliseconds milliseconds: Int) async
        -> HTTPLink.Outcome
    {
        await withCheckedContinuation { (continuation: CheckedContinuation<_, Never>) in
            let isAsked = loop.execute {
                self.answered = continuation
                let deadline = self.loop.now.advanced(byMilliseconds: milliseconds)
                self.usableLink().send(request, deadline: deadline)
            }
            if !isAsked { continuation.resume(returning: .failed("it has been stopped")) }
        }
    }

    private func usableLink() -> HTTPLink {
        if let link, !link.isOver { return link }
        let link = HTTPLink(host: host, port: port, on: loop) { [unowned self] outcome in
            let waiting = answered
            answered = nil
            if case .failed = outcome { self.link?.end() }
            waiting?.resume(returning: outcome)
        }
        self.link = link
        return link
    }
}
