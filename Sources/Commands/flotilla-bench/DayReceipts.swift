internal import IngestTesting
internal import JSON
internal import Jobs
internal import Kafka
internal import Payloads
internal import RecordFormat
internal import Topics

/// The outcomes of the updates and of the end, from their receipts.
struct DayReceipts {
    private(set) var accepted = 0
    private(set) var superseded = 0
    /// The number of finished jobs of each send.
    private(set) var finishedJobs: [String: Int] = [:]
    private var firstAcceptedAt = Int64.max
    private var lastWrittenAt = Int64.min
    /// For each send, when the gateway accepted it and when the receipt of its last answer was written, in
    /// milliseconds since 1970.
    private var lastAnswers: [String: (acceptedAt: Int64, lastWrittenAt: Int64)] = [:]

    init(from bed: TestBed) throws {
        let reader = JSONReader()
        try TopicContent.forEachRecord(of: .receipts, in: bed) { record in
            guard let bytes = [UInt8](copying: record.value) else { return }
            let receipt = try Receipt.decode(bytes, with: reader)
            guard receipt.event != .start else { return }
            for part in receipt.parts where part.outcome.isFinal {
                finishedJobs[receipt.send, default: 0] += part.lines.count
                firstAcceptedAt = min(firstAcceptedAt, receipt.acceptedAt)
                lastWrittenAt = max(lastWrittenAt, receipt.writtenAt)
                // Every other final outcome counts as replaced.
                guard part.outcome == .accepted else {
                    superseded += part.lines.count
                    continue
                }
                accepted += part.lines.count
                let newestKnown = lastAnswers[receipt.send]?.lastWrittenAt ?? 0
                lastAnswers[receipt.send] = (receipt.acceptedAt, max(newestKnown, receipt.writtenAt))
            }
        }
    }

    /// The number of sends that at least one phone got.
    var sendCount: Int { lastAnswers.count }

    var receiptsPerSecond: Double {
        Double(accepted + superseded) * 1000 / Double(max(1, lastWrittenAt - firstAcceptedAt))
    }

    /// Returns the 99th percentile of the time from a send's acceptance to its last answer, for these or for all
    /// sends.
    func percentile99Seconds(of sends: Set<String>? = nil) -> Double {
        let selected = lastAnswers.filter { sends?.contains($0.key) ?? true }
        let sorted = selected.values.map { Double($0.lastWrittenAt - $0.acceptedAt) / 1000 }.sorted()
        return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * 0.99))]
    }
}
