internal import JSON
package import Lifecycle
package import LiveActivity

/// Posts reports to a server's `POST /v1/reports`, as the SDK on a phone does, but a thousand at a time:
/// one connection, one request after the other. What was not taken for good is posted again, so a
/// report can arrive twice and is never lost before the process ends.
///
/// Confined to its loop.
package final class ReportPoster: ReportSink {
    package struct Target: Sendable {
        package var host: String
        package var port: Int
        package var path = "/v1/reports"
        /// An API key with the role `report`.
        package var key: String

        package init(host: String, port: Int, key: String) {
            self.host = host
            self.port = port
            self.key = key
        }
    }

    package struct Counts: Sendable, Hashable {
        package var taken = 0
        /// Refused by the server, which will refuse them again: dropped.
        package var refused = 0
        package var retries = 0
    }

    /// Reports in one request, and the bytes beyond which it takes no more.
    static let batchMax = 1_000
    static let bodyBytesMax = 900_000
    /// Reports that wait here.
    static let waitingMax = 10_000
    static let answerMilliseconds = 15_000
    static let pauseMilliseconds = 200...10_000

    private let target: Target
    private let loop: EventLoop
    private var waiting: [Report] = []
    /// In the request that is on its way: the first so many of those that wait.
    private var posted = 0
    private var link: PosterLink?
    private var failures = 0
    private var timer: LoopTimer?
    private var isEnded = false
    package private(set) var counts = Counts()
    /// What went wrong last, for a person.
    package private(set) var trouble: String?

    package init(to target: Target, on loop: EventLoop) {
        self.target = target
        self.loop = loop
    }

    package var room: Int { max(0, Self.waitingMax - waiting.count) }

    package func take(_ reports: [Report]) {
        waiting += reports
        post()
    }

    /// Stops; what waits is dropped.
    package func end() {
        isEnded = true
        timer?.cancel()
        link?.end()
        link = nil
    }

    private func post() {
        guard !isEnded, posted == 0, !waiting.isEmpty, timer?.isScheduled != true else { return }
        let body = self.body()
        let link = usableLink()
        let deadline = loop.now.advanced(byMilliseconds: Self.answerMilliseconds)
        link.post(target.path, host: target.host, key: target.key, body: body, deadline: deadline)
    }

    private func usableLink() -> PosterLink {
        if let link, !link.isOver { return link }
        let link = PosterLink(host: target.host, port: target.port, on: loop) { [weak self] in
            self?.answered($0)
        }
        self.link = link
        return link
    }

    private func body() -> [UInt8] {
        var body: [UInt8] = [UInt8(ascii: "[")]
        for report in waiting.prefix(Self.batchMax) where body.count < Self.bodyBytesMax {
            if posted > 0 { body.append(UInt8(ascii: ",")) }
            body += report.encoded()
            posted += 1
        }
        body.append(UInt8(ascii: "]"))
        return body
    }

    private func answered(_ outcome: PosterLink.Outcome) {
        switch outcome {
        case .status(let status) where (200...299).contains(status):
            counts.taken += posted
            settle()
        case .status(let status)
        where (400...499).contains(status) && ![401, 403, 408, 429].contains(status):
            counts.refused += posted
            trouble = "the server refuses reports with status \(status)"
            settle()
        case .status(let status): retry("the server answers reports with status \(status)")
        case .failed(let reason): retry(reason)
        }
    }

    private func settle() {
        failures = 0
        waiting.removeFirst(posted)
        posted = 0
        post()
    }

    /// A wrong key is retried too: somebody may be about to create it.
    private func retry(_ reason: String) {
        trouble = reason
        counts.retries += 1
        posted = 0
        link?.end()
        link = nil
        let range = Self.pauseMilliseconds
        let pause = min(range.upperBound, range.lowerBound << min(failures, 10))
        failures += 1
        let timer = self.timer ?? LoopTimer(on: loop) { [weak self] in self?.post() }
        self.timer = timer
        timer.schedule(at: loop.now.advanced(byMilliseconds: pause))
    }
}
