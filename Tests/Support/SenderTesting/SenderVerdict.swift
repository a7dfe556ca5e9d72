internal import APNsSimulator
internal import Cryptography
package import IngestTesting
internal import JSON
package import LiveActivity
internal import Topics

/// The outcome of every job, judged without knowledge of senders. It reads jobs and receipts in Kafka, and
/// the records that the simulated APNs wrote before it answered.
package struct SenderVerdict: Sendable {
    package private(set) var jobs = 0
    package private(set) var accepted = 0
    package private(set) var superseded = 0
    package private(set) var lost = 0
    /// Jobs with more than one final receipt: one of a zombie and one of its successor.
    package private(set) var receiptedTwice = 0
    package private(set) var pushedTwice = 0
    /// Duplicated pushes whose first answer came too late, so that the sender did not know the outcome.
    package private(set) var answeredLate = 0
    /// Deaths of senders, including freezes, and of APNs. Each may duplicate as many pushes as there are
    /// permits.
    package private(set) var deaths = 0
    package private(set) var startsPushedTwice = 0
    package private(set) var startsUnknown = 0
    /// Pushes that were older than an earlier push to the phone. The phone ignores them by their timestamp.
    package private(set) var pushedLate = 0
    package private(set) var phonesStarted = 0
    package private(set) var deadLetters = 0
    /// Descriptions of faults, up to a limit.
    package private(set) var faults: [String] = []

    /// A job. No other job has the same token hash, version and event.
    private struct Job: Hashable {
        let targetHigh: UInt64
        let targetLow: UInt64
        let version: Int64
        let event: PushEvent
    }

    private struct Fate {
        var finals: [(outcome: ReceiptOutcome, at: Int64)] = []
        var pushes: [Push] = []
        let isStrict: Bool
    }

    /// A push in the records of APNs.
    private struct Push {
        let receivedAt: Int64
        let endedAt: Int64
        let end: RequestRecord.RecordOutcome

        /// Whether its answer left after the sender had given up. Then the outcome was unknown, and the job
        /// is pushed again unless it is a start.
        var isAnsweredLate: Bool {
            endedAt - receivedAt >= Int64(SenderKills.answerMilliseconds - SenderKills.clockMilliseconds)
        }

        var text: String { "\(end) after \(endedAt - receivedAt) ms" }
    }

    private let happenings: [SenderKills.Happening]
    private let permits: Int
    private var fates: [Job: Fate] = [:]
    private var jobOfLine: [UInt64: Job] = [:]

    /// - Parameter sealingKeys: keys that seal the tokens of jobs.
    package init(
        _ bed: IngestBed, records: String, permits: Int, after happenings: [SenderKills.Happening],
        sealingKeys: SealingKeys? = nil
    ) throws {
        self.happenings = happenings
        self.permits = permits
        try readJobs(bed, TokenSeal(keys: sealingKeys))
        try readReceipts(bed)
        deadLetters = try TopicContent(.deadLetters, bed).records.count
        let newest = try readPushes(records)
        judgeJobs()
        judgeDoubles()
        judgePhones(newest)
    }

    package var summary: String {
        """
        \(jobs) jobs: \(accepted) accepted, \(superseded) superseded, \(startsUnknown) starts of unknown outcome, \
        \(deadLetters) dead letters, \(lost) lost; \(receiptedTwice) with a second receipt from a zombie; \
        \(pushedTwice) pushed twice, \(answeredLate) of them because the answer was late, in \(deaths) deaths, with \(permits) permits each; \(startsPushedTwice) \
        starts pushed twice; \(pushedLate) pushes of single recipients after a newer one, which their phones ignore; \
        \(phonesStarted) phones started
        """
    }

    private mutating func fault(_ words: String) {
        if faults.count < 20 { faults.append(words) }
    }

    // MARK: Reading

    private mutating func readJobs(_ bed: IngestBed, _ seal: TokenSeal) throws {
        for topic in [TopicName.jobs, .jobsUrgent] {
            for record in try TopicContent(topic, bed).records {
                let (apns, flotilla) = (
                    Array((record.headers["apns"] ?? "").utf8), Array((record.headers["flotilla"] ?? "").utf8)
                )
                let head = try SheetHead(apns: apns.span, flotilla: flotilla.span)
                let to = (record.headers["to"] ?? "").split(separator: "\n")
                let place = JobPosition(
                    topic: topic.rawValue, partition: record.partition, offset: record.offset)
                for (line, text) in to.enumerated() {
                    let parts = text.split(separator: "\t")
                    let token = try seal.open(parts[0], app: head.app, entry: String(parts[2]))
                    let (high, low) = Self.hash(token.bytes)
                    let job = Job(
                        targetHigh: high, targetLow: low, version: head.version, event: head.event)
                    fates[job] = Fate(isStrict: head.scope == .group && head.isConflatable)
                    jobOfLine[place.number(ofLine: line)] = job
                }
            }
        }
        jobs = fates.count
    }

    private static func hash(_ token: [UInt8]) -> (UInt64, UInt64) {
        unsafe SHA256.digest(of: token).withUnsafeBytes { hash in
            unsafe (
                UInt64(bigEndian: hash.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    private mutating func readReceipts(_ bed: IngestBed) throws {
        let reader = JSONReader()
        for record in try TopicContent(.receipts, bed).records {
            let receipt = try Receipt.decode(record.value ?? [], with: reader)
            for part in receipt.parts where part.outcome.isFinal {
                for line in part.lines.ranges.joined() {
                    guard let job = jobOfLine[receipt.position.number(ofLine: line)] else {
                        fault("a receipt names an unknown job: \(receipt.position), line \(line)")
                        continue
                    }
                    fates[job]?.finals.append((part.outcome, receipt.writtenAt))
                }
            }
        }
    }

    /// Reads the pushes of APNs. Returns the newest version that each token got.
    private mutating func readPushes(_ path: String) throws -> [Target: Int64] {
        var newest: [Target: Int64] = [:]
        var strays = 0
        var found: [(Job, Push)] = []
        try RequestRecordReader(path: path).forEachRecord { record in
            guard record.kind == .push, record.status == 200, let event = record.event else { return }
            let job = Job(
                targetHigh: record.targetHigh, targetLow: record.targetLow, version: record.timestamp,
                event: event)
            found.append(
                (job, Push(receivedAt: record.receivedAt, endedAt: record.endedAt, end: record.outcome)))
        }
        for (job, push) in found {
            guard let fate = fates[job] else {
                strays += 1
                continue
            }
            fates[job]?.pushes.append(push)
            let target = Target(high: job.targetHigh, low: job.targetLow)
            if let known = newest[target], known > job.version {
                if fate.isStrict {
                    fault("version \(job.version) was pushed to a phone that had \(known)")
                } else {
                    pushedLate += 1
                }
            }
            newest[target] = max(newest[target] ?? 0, job.version)
        }
        if strays > 0 { fault("\(strays) pushes belong to no job") }
        return newest
    }

    private struct Target: Hashable {
        let high: UInt64
        let low: UInt64
    }

    // MARK: Judging

    private mutating func judgeJobs() {
        var unpushed = 0
        var zombies = 0
        var permitted = 0
        for (_, fate) in fates {
            guard let outcome = fate.finals.first?.outcome else {
                lost += 1
                continue
            }
            if fate.finals.count > 1 {
                zombies += 1
                // A superseded job needs no permit: one check drops a whole sheet.
                if fate.finals.contains(where: { $0.outcome != .superseded }) { permitted += 1 }
                if !hasZombie(fate) {
                    fault("a job has two final receipts without a freeze: " + story(of: fate))
                }
            }
            switch outcome {
            case .accepted:
                accepted += 1
                if fate.pushes.isEmpty { unpushed += 1 }
            case .superseded: superseded += 1
            case .unknown: startsUnknown += 1
            case .rejected, .expired: fault("a job ended as \(outcome)")
            case .moved, .intent, .released: break
            }
        }
        receiptedTwice = zombies
        if lost > 0 { fault("\(lost) jobs have no final receipt") }
        if unpushed > 0 { fault("\(unpushed) jobs count as accepted but were not pushed") }
        deaths = happenings.count { $0.isDeath }
        if startsUnknown > deaths * permits { fault("too many starts are unknown") }
        let freezes = happenings.count { $0.kind == .freeze }
        if permitted > freezes * permits {
            fault("\(permitted) jobs that took a permit have two final receipts")
        }
    }

    /// Returns whether a freeze explains the second receipt. A zombie writes the records that it had on the
    /// way when it was frozen.
    private func hasZombie(_ fate: Fate) -> Bool {
        let times = fate.finals.map(\.at)
        guard let first = times.min(), let last = times.max() else { return false }
        return happenings.contains {
            $0.kind == .freeze && $0.from <= last && $0.until + Self.arrivalMilliseconds >= first
        }
    }

    /// Time within which requests that left before a death may arrive after it.
    private static let arrivalMilliseconds: Int64 = 2_000

    /// Checks the duplicated pushes. A death must lie between the two pushes of each pair, and no death may
    /// explain more pairs than there were permits. The process of a push is unknown, so the pairs are
    /// assigned as in a timetable: each death, in order, takes the pairs that end first.
    private mutating func judgeDoubles() {
        var doubles: [(first: Push, second: Push)] = []
        for (job, fate) in fates where fate.pushes.count > 1 {
            pushedTwice += fate.pushes.count - 1
            if job.event == .start { startsPushedTwice += fate.pushes.count - 1 }
            doubles += zip(fate.pushes, fate.pushes.dropFirst()).map { (first: $0, second: $1) }
        }
        if startsPushedTwice > 0 { fault("\(startsPushedTwice) starts were pushed twice") }
        answeredLate = doubles.count
        doubles.removeAll { first, _ in first.isAnsweredLate }
        answeredLate -= doubles.count
        doubles.sort { $0.second.receivedAt < $1.second.receivedAt }
        for death in happenings.filter(\.isDeath).sorted(by: { $0.from < $1.from }) {
            // If APNs dies, both senders do not know the outcomes of their pushes.
            var room = death.kind == .apnsKill ? 2 * permits : permits
            doubles.removeAll { first, second in
                guard room > 0, first.receivedAt - Self.arrivalMilliseconds <= death.from,
                    death.from <= second.receivedAt
                else { return false }
                room -= 1
                return true
            }
        }
        guard !doubles.isEmpty else { return }
        fault("\(doubles.count) pushes were made twice, and no death explains them")
        for double in doubles.prefix(5) { fault(story(of: double)) }
    }

    /// Describes both pushes and the events around them, for debugging.
    private func story(of double: (first: Push, second: Push)) -> String {
        let begun = double.first.receivedAt
        let later = double.second.receivedAt
        return "a push (\(double.first.text)) came again after \(later - begun) ms (\(double.second.text)); "
            + happenings(from: begun, until: later)
    }

    private func story(of fate: Fate) -> String {
        let finals = fate.finals.sorted { $0.at < $1.at }
        let begun = finals[0].at
        let words = finals.map { "\($0.outcome) at \($0.at - begun)" }
        let pushes = fate.pushes.map { "\($0.receivedAt - begun)" }
        return "\(words.joined(separator: ", ")), pushed at \(pushes.joined(separator: ", ")); "
            + happenings(from: begun, until: finals[finals.count - 1].at)
    }

    private func happenings(from begun: Int64, until end: Int64) -> String {
        let around = happenings.filter {
            $0.from <= end + Self.storyMilliseconds && $0.until >= begun - Self.storyMilliseconds
        }.map { "\($0.kind) from \($0.from - begun) to \($0.until - begun)" }
        return "around it, in milliseconds after it: "
            + (around.isEmpty ? "nothing" : around.joined(separator: ", "))
    }

    private static let storyMilliseconds: Int64 = 15_000

    private mutating func judgePhones(_ shown: [Target: Int64]) {
        var wanted: [Target: Int64] = [:]
        for job in fates.keys where job.event != .start {
            let target = Target(high: job.targetHigh, low: job.targetLow)
            wanted[target] = max(wanted[target] ?? 0, job.version)
        }
        let behind = wanted.count { target, version in shown[target] != version }
        if behind > 0 { fault("\(behind) of \(wanted.count) phones are not on their newest state") }
        phonesStarted = fates.count { $0.key.event == .start && !$0.value.pushes.isEmpty }
    }
}
