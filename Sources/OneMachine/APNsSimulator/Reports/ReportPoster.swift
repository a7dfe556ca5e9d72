internal import HTTPClient
package import InstallationRecords
internal import JSON
package import Lifecycle
package import Telemetry

/// The sink that posts reports to a server's `POST /v1/reports`, as the SDK on a phone does, but up to a
/// thousand at a time. It uses one connection and sends one request after another. Reports that the server did
/// not accept are posted again, so a report can arrive twice. A report is lost only if the process ends, if the
/// server refuses the report permanently, or after too many refusals of the key.
///
/// It is confined to its loop.
package final class ReportPoster: ReportSink {
    /// The address of the server, and the key.
    package struct Target: Sendable {
        package var host: String
        package var port: Int
        package var path: String
        /// An API key with the role `report`.
        package var key: String

        package init(host: String, port: Int, path: String = "/v1/reports", key: String) {
            self.host = host
            self.port = port
            self.path = path
            self.key = key
        }
    }

    /// Limit on the reports of one request.
    static let batchMax = 1_000
    /// Size of a body at which no more report is added.
    static let bodyBytesMax = 900_000
    /// Limit on the reports that wait here.
    static let waitingMax = 10_000
    /// Longest time until an answer arrives.
    static let answerMilliseconds = 15_000
    /// First and longest pause after a failure.
    package static let pauseMilliseconds = 200...10_000
    /// Limit on the doublings of the pause, so that the shift cannot overflow.
    private static let doublingsMax = 10
    /// Limit on consecutive refusals of the key. At the limit the poster gives up. With the pauses this takes
    /// some minutes, in which an operator can still create the key.
    static let keyRefusalsMax = 20

    private let target: Target
    private let loop: EventLoop
    private let log: Log
    private let pauses: ClosedRange<Int>
    /// Reports that are not accepted yet, in order.
    private var waitingReports: [Report] = []
    /// Number of waiting reports, from the first, that the current request contains. 0 without a request.
    private var postedCount = 0
    private var connection: HTTPClientConnection?
    /// Number of consecutive requests that failed. It determines the pause before the next request.
    private var consecutiveFailures = 0
    /// Number of consecutive refusals of the key.
    private var keyRefusals = 0
    private var hasGivenUp = false
    /// The timer that ends the pause after a failure.
    private var timer: LoopTimer?
    private var isEnded = false
    package private(set) var counts = ReportCounts()
    /// The last problem, for an operator.
    package private(set) var lastProblem: String?

    /// - Parameter pauses: first and longest pause after a failure, in milliseconds. Each further failure
    ///   doubles the pause.
    package init(
        to target: Target, on loop: EventLoop, log: Log, pauses: ClosedRange<Int> = pauseMilliseconds
    ) {
        self.target = target
        self.loop = loop
        self.log = log
        self.pauses = pauses
    }

    package var freeCapacity: Int { max(0, Self.waitingMax - waitingReports.count) }

    package func accept(_ reports: [Report]) {
        if hasGivenUp {
            counts.refused += reports.count
            return
        }
        waitingReports += reports
        post()
    }

    /// Stops. Waiting reports are dropped.
    package func stop() {
        isEnded = true
        timer?.cancel()
        connection?.end()
        connection = nil
    }

    // MARK: Requests

    /// Posts the first waiting reports, unless a request is in progress or a pause has not ended.
    private func post() {
        let isRequestInProgress = postedCount > 0
        let isPausing = timer?.isScheduled == true
        if isEnded || isRequestInProgress || isPausing || waitingReports.isEmpty { return }
        let body = takeRequestBody()
        let connection = openConnection()
        let deadline = loop.now.advanced(byMilliseconds: Self.answerMilliseconds)
        connection.send(
            .init(method: "POST", path: target.path, apiKey: target.key, body: body), deadline: deadline)
    }

    private func openConnection() -> HTTPClientConnection {
        if let connection, !connection.hasEnded { return connection }
        let connection = HTTPClientConnection(host: target.host, port: target.port, on: loop) { [weak self] in
            self?.exchangeDidEnd(with: $0)
        }
        self.connection = connection
        return connection
    }

    /// Returns a JSON array of the first waiting reports, and counts them in `postedCount`.
    private func takeRequestBody() -> [UInt8] {
        var body: [UInt8] = [UInt8(ascii: "[")]
        for report in waitingReports.prefix(Self.batchMax) where body.count < Self.bodyBytesMax {
            if postedCount > 0 { body.append(UInt8(ascii: ",")) }
            body += report.encodedWithoutApp()
            postedCount += 1
        }
        body.append(UInt8(ascii: "]"))
        return body
    }

    // MARK: Answers

    private func exchangeDidEnd(with outcome: HTTPClientConnection.ExchangeOutcome) {
        switch outcome {
        case .answered(let answer): processAnswer(status: answer.status)
        case .failed(let reason): retry(reason: reason)
        }
    }

    private func processAnswer(status: Int) {
        switch status {
        case 200...299:
            counts.accepted += postedCount
            removePosted()
        case 401, 403:
            keyRefusals += 1
            if keyRefusals >= Self.keyRefusalsMax { return giveUp(status: status) }
            retry(reason: "the server refused the key with status \(status)")
        // A timeout (408) and too many requests (429) are temporary.
        case 400...499 where status != 408 && status != 429:
            counts.refused += postedCount
            logProblem("the server refused reports with status \(status), and they are dropped")
            removePosted()
        default: retry(reason: "the server answered reports with status \(status)")
        }
    }

    /// Removes the posted reports, which the server has accepted or refused, and posts the next ones.
    private func removePosted() {
        consecutiveFailures = 0
        keyRefusals = 0
        waitingReports.removeFirst(postedCount)
        postedCount = 0
        post()
    }

    /// Drops all reports and stops, because the server refuses the key again and again.
    private func giveUp(status: Int) {
        hasGivenUp = true
        counts.refused += waitingReports.count
        lastProblem = "the server has refused the key \(keyRefusals) times; no more reports are sent"
        log.error(
            """
            the phones have stopped reporting, because their server refuses the key; correct \
            apns-simulator.report-key and restart
            """,
            .field("status", status), .field("tries", keyRefusals), .field("host", target.host),
            .field("port", target.port))
        waitingReports = []
        postedCount = 0
        stop()
    }

    /// Logs a problem once. A continuing problem is not logged again.
    private func logProblem(_ reason: String) {
        if lastProblem != reason {
            log.warning(
                "phone reports are not accepted", .field("reason", reason), .field("host", target.host),
                .field("port", target.port))
        }
        lastProblem = reason
    }

    /// Posts the same reports again after a pause, on a new connection.
    private func retry(reason: String) {
        logProblem(reason)
        counts.retries += 1
        postedCount = 0
        connection?.end()
        connection = nil
        let doublings = min(consecutiveFailures, Self.doublingsMax)
        let pauseMilliseconds = min(pauses.upperBound, pauses.lowerBound << doublings)
        consecutiveFailures += 1
        let timer = self.timer ?? LoopTimer(on: loop) { [weak self] in self?.post() }
        self.timer = timer
        timer.schedule(at: loop.now.advanced(byMilliseconds: pauseMilliseconds))
    }
}
