internal import Identifiers
internal import IngestTesting
internal import Jobs
internal import Payloads
internal import TokenSealing
internal import Topics

/// The tokens of all jobs, and the number of jobs that were written more than once.
struct JobSecrets {
    private struct Job: Hashable {
        let token: [UInt8]
        let version: Int64
        let event: PushEvent
    }

    private(set) var jobCount = 0
    /// The number of jobs that are stored more than once.
    private(set) var duplicateCount = 0
    /// The first hexadecimal digits of each token.
    private(set) var tokens: Set<[UInt8]> = []
    private static let digitCount = 32

    init(on bed: TestBed, keys: SealingKeys?) throws {
        let seal = TokenSeal(keys: keys)
        var jobs: Set<Job> = []
        for topic in [TopicName.jobs, .jobsUrgent] {
            try TopicContent.forEachRecord(of: topic, in: bed) { record in
                let record = ReadRecord(record)
                let (apns, flotilla) = (
                    Array((record.headers["apns"] ?? "").utf8), Array((record.headers["flotilla"] ?? "").utf8)
                )
                let head = try SheetHead(apns: apns.span, flotilla: flotilla.span)
                for line in (record.headers["to"] ?? "").split(separator: "\n") {
                    let parts = line.split(separator: "\t")
                    let token = try seal.open(parts[0], app: head.app, entry: String(parts[2])).hex
                    let short = Array(token.prefix(Self.digitCount))
                    jobCount += 1
                    tokens.insert(short)
                    if !jobs.insert(Job(token: short, version: head.version, event: head.event)).inserted {
                        duplicateCount += 1
                    }
                }
            }
        }
    }

    /// Whether the bytes contain a token in the clear.
    func hasToken(in bytes: [UInt8]) -> Bool {
        var run = 0
        for index in bytes.indices {
            run = Hex.value(of: bytes[index]) == nil ? 0 : run + 1
            guard run >= Self.digitCount else { continue }
            let digits = bytes[index + 1 - Self.digitCount...index].map { $0 | 0x20 }
            if tokens.contains(digits) { return true }
        }
        return false
    }
}
