internal import CatalogRecords
internal import Identifiers
internal import Jobs
internal import StageSupport
internal import Telemetry

/// The metrics of a sender. Those without variable labels are looked up once, because every record uses them.
struct SenderMetrics {
    private let metrics: Metrics
    /// Counters of jobs, by the outcome in their receipts. A mark (moved, intent, released) is no final outcome.
    private let outcomes: [ReceiptOutcome: Counter]
    /// Ages of sends when their jobs are accepted by APNs.
    private let answered: SendAge
    /// Ages of sends when their pushes leave.
    private let pushed: SendAge
    let batchSeconds: Histogram
    let inFlight: Gauge
    let oldestSeconds: Gauge
    let sheets: Gauge
    let bytes: Gauge
    let clockAhead: Gauge
    let suspectTokens: Gauge
    let deadTokens: Counter
    let provenTokens: Counter
    let written: Counter
    let writeFailures: Counter

    init(_ metrics: Metrics) {
        self.metrics = metrics
        outcomes = Dictionary(
            uniqueKeysWithValues: ReceiptOutcome.allCases.map { outcome in
                (
                    outcome,
                    metrics.counter(
                        "flotilla_sender_records_total",
                        help: "jobs by outcome in receipts; moved, intent and released are marks, not ends",
                        labels: ["outcome": outcome.rawValue])
                )
            })
        answered = SendAge(metrics: metrics, step: .answered)
        pushed = SendAge(metrics: metrics, step: .pushed)
        batchSeconds = metrics.histogram(
            "flotilla_sender_batch_seconds",
            help: "one step of a loop: sheets taken, pushes sent, records written")
        inFlight = metrics.gauge(
            "flotilla_sender_in_flight",
            help: "taken permits: pushes whose outcome is not stored yet")
        oldestSeconds = metrics.gauge(
            "flotilla_sender_oldest_seconds", help: "age of the oldest accepted send in hand")
        sheets = metrics.gauge("flotilla_sender_sheets", help: "sheets in hand")
        bytes = metrics.gauge("flotilla_sender_hand_bytes", help: "memory of the sheets in hand")
        clockAhead = metrics.gauge(
            "flotilla_sender_clock_ahead_seconds",
            help: "this machine's clock minus the cluster's, by which jobs expire; below 0 it is behind")
        suspectTokens = metrics.gauge(
            "flotilla_sender_suspect_tokens",
            help: "remembered tokens that APNs refused the last time")
        deadTokens = metrics.counter(
            "flotilla_sender_dead_tokens_total", help: "tokens reported as dead")
        provenTokens = metrics.counter(
            "flotilla_sender_proven_tokens_total", help: "tokens reported as accepted for the first time")
        written = metrics.counter(
            "flotilla_sender_written_total", help: "records stored: receipts, later tiers, dead letters")
        writeFailures = metrics.counter(
            "flotilla_sender_write_failures_total", help: "records that were not stored and are written again"
        )
        for code in Self.deadLetterCodes { _ = deadLetters(code) }
    }

    /// Counts the jobs of a record that is written for the first time.
    func count(_ write: RecordToWrite) {
        switch write.content {
        case .receipt(let parts): count(parts, of: write)
        case .tier: break
        case .deadLetter(let code): deadLetters(code).add(write.lines.count)
        case .malformed(let record): deadLetters(record.error.code).add()
        }
    }

    private func count(_ parts: [Receipt.Part], of write: RecordToWrite) {
        for part in parts {
            outcomes[part.outcome]?.add(part.lines.count)
            guard part.outcome == .accepted, let sheet = write.sheet else { continue }
            answered.observe(
                acceptedAt: sheet.head.acceptedAt, now: write.writtenAt, jobs: part.lines.count)
        }
    }

    /// Counts pushes. Neighbors nearly always belong to one sheet, so they are counted together.
    func count(_ pushes: [DeliveryActions.Push], at now: Int64) {
        var first = 0
        for index in pushes.indices {
            let isLastOfSheet = index + 1 == pushes.count || pushes[index + 1].sheet !== pushes[first].sheet
            guard isLastOfSheet else { continue }
            pushed.observe(acceptedAt: pushes[first].sheet.head.acceptedAt, now: now, jobs: index + 1 - first)
            first = index + 1
        }
    }

    /// The codes of dead letters that the sender itself gives. Their series exist from the start, because `increase` of
    /// Prometheus does not count the first value of a new series.
    private static let deadLetterCodes = [
        "request_faulty", "channel_gone", "attempts_exhausted", "header_faulty", "token_unreadable",
    ]

    /// Returns the counter of dead letters with a code.
    func deadLetters(_ code: String) -> Counter {
        metrics.counter(
            "flotilla_sender_dead_letters_total", help: "jobs in the dead letters, by reason",
            labels: ["code": code])
    }

    /// Makes the series of an app's breakers with 0, so that a query finds them before a breaker opens.
    func makeBreakerSeries(of app: App) {
        for environment in app.environments { _ = breaker(of: app.id, environment: environment.rawValue) }
    }

    /// Returns the gauge that is 1 while an app's breaker is open.
    func breaker(of app: String, environment: String) -> Gauge {
        metrics.gauge(
            "flotilla_sender_breaker_open",
            help: "1 while an app's pushes are paused because its setting is wrong",
            labels: ["app": app, "environment": environment])
    }
}
