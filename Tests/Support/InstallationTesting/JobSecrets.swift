internal import Identifiers
internal import IngestTesting
internal import Jobs
internal import Kafka
internal import Payloads
internal import TokenSealing
internal import Topics

/// The push tokens of all jobs in the clear, for a search in topics and logs. It also counts the jobs that were written
/// more than once.
struct JobSecrets {
    private struct Job: Hashable {
        let token: [UInt8]
        let version: Int64
        let event: PushEvent
    }

    /// The number of digits of a token that are compared. No other hexadecimal text has the same digits by chance.
    private static let digitCount = 32

    private(set) var jobCount = 0
    /// The jobs that repeat the token, version and event of another job, with the places of both.
    private(set) var duplicates: [String] = []
    /// The first hexadecimal digits of each token.
    private(set) var tokens: Set<[UInt8]> = []

    init(on bed: TestBed, keys: SealingKeys?) throws {
        let seal = TokenSeal(keys: keys)
        var places: [Job: String] = [:]
        for topic in [TopicName.jobs, .jobsUrgent] {
            try TopicContent.forEachRecord(of: topic, in: bed) { record in
                let place =
                    "\(topic.rawValue)/\(record.partition) at \(record.offset), written at \(record.timestamp ?? 0)"
                let record = ReadRecord(record)
                let apnsFields = Array((record.headers["apns"] ?? "").utf8)
                let flotillaFields = Array((record.headers["flotilla"] ?? "").utf8)
                let head = try SheetHead(apns: apnsFields.span, flotilla: flotillaFields.span)
                for line in (record.headers["to"] ?? "").split(separator: "\n") {
                    // Token, installation, entry and recipient.
                    let fields = line.split(separator: "\t")
                    let (sealedToken, entry) = (fields[0], fields[2])
                    let token = try seal.open(sealedToken, app: head.app, entry: String(entry)).hex
                    let firstDigits = Array(token.prefix(Self.digitCount))
                    jobCount += 1
                    tokens.insert(firstDigits)
                    let job = Job(token: firstDigits, version: head.version, event: head.event)
                    if let other = places.updateValue(place, forKey: job) {
                        duplicates.append("\(job.event) \(job.version): \(other), and \(place)")
                    }
                }
            }
        }
    }

    /// Whether the bytes contain a token in the clear.
    func hasToken(in bytes: [UInt8]) -> Bool {
        var digitsInARow = 0
        for index in bytes.indices {
            digitsInARow = Hex.value(of: bytes[index]) == nil ? 0 : digitsInARow + 1
            guard digitsInARow >= Self.digitCount else { continue }
            // 0x20 makes letters lowercase, and does not change digits.
            let lastDigits = bytes[index + 1 - Self.digitCount...index].map { $0 | 0x20 }
            if tokens.contains(lastDigits) { return true }
        }
        return false
    }
}
