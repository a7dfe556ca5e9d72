internal import APNsSimulator
internal import Cryptography
internal import Identifiers
package import IngestTesting
internal import JSON
internal import Jobs
internal import Payloads
internal import RecordFormat
internal import Sends
package import TokenSealing
internal import Topics

/// The outcome of every job, judged without knowledge of senders. It reads jobs and receipts in Kafka, and
/// the records that the simulated APNs wrote before it answered.
package struct SenderCheck: Sendable {
    package private(set) var jobs = 0
    package private(set) var accepted = 0
    package private(set) var superseded = 0
    package private(set) var lost = 0
    /// Jobs with more than one final receipt: one of a zombie and one of its successor.
    package private(set) var jobsWithTwoReceipts = 0
    package private(set) var duplicatePushes = 0
    /// Duplicated pushes whose first answer came too late, so that the sender did not know the outcome.
    package private(set) var duplicatesAfterLateAnswer = 0
    /// Deaths of senders, including freezes, and of APNs. Each may duplicate as many pushes as there are
    /// permits.
    package private(set) var deaths = 0
    package private(set) var duplicateStarts = 0
    package private(set) var unknownStarts = 0
    /// Pushes that were older than an earlier push to the phone. The phone ignores them by their timestamp.
    package private(set) var outdatedPushes = 0
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

    private struct JobHistory {
        var finalReceipts: [(outcome: ReceiptOutcome, at: Int64)] = []
        var pushes: [Push] = []
        let forbidsOlderPushes: Bool
    }

    /// A push in the records of APNs.
    private struct Push {
        let receivedAt: Int64
        let endedAt: Int64
        let outcome: RequestRecord.RecordOutcome

        /// Whether its answer left after the sender had given up. Then the outcome was unknown, and the job
        /// is pushed again unless it is a start.
        var isAnsweredLate: Bool {
            endedAt - receivedAt
                >= Int64(SenderKillTest.answerMilliseconds - SenderKillTest.clockMilliseconds)
        }

        var text: String { "\(outcome) after \(endedAt - receivedAt) ms" }
    }

    private let processFaults: [SenderKillTest.ProcessFault]
    private let permits: Int
    private var histories: [Job: JobHistory] = [:]
    private var jobOfLine: [UInt64: Job] = [:]

    /// - Parameter sealingKeys: keys that seal the tokens of jobs.
    package init(
        on bed: TestBed, records: String, permits: Int, after happenings: [SenderKillTest.ProcessFault],
        sealingKeys: SealingKeys? = nil
    ) throws {
        self.processFaults = happenings
        self.permits = permits
        try readJobs(in: bed, seal: TokenSeal(keys: sealingKeys))
        try readReceipts(in: bed)
        deadLetters = try TopicContent(of: .deadLetters, in: bed).records.count
        let newest = try readPushes(at: records)
        checkJobs()
        checkDuplicates()
        checkPhones(shown: newest)
    }

    package var summary: String {
        """
        \(jobs) jobs: \(accepted) accepted, \(superseded) superseded, \(unknownStarts) starts of unknown outcome, \
        \(deadLetters) dead letters, \(lost) lost; \(jobsWithTwoReceipts) with a second receipt from a zombie; \
        \(duplicatePushes) pushed twice, \(duplicatesAfterLateAnswer) of them because the answer was late, in \(deaths) deaths, with \(permits) permits each; \(duplicateStarts) \
        starts pushed twice; \(outdatedPushes) pushes of single recipients after a newer one, which their phones ignore; \
        \(phonesStarted) phones started
        """
    }

    private mutating func recordFault(_ words: String) {
        if faults.count < 20 { faults.append(words) }
    }

    // MARK: Reading

    private mutating func readJobs(in bed: TestBed, seal: TokenSeal) throws {
        for topic in [TopicName.jobs, .jobsUrgent] {
            for record in try TopicContent(of: topic, in: bed).records {
                let (apns, flotilla) = (
                    Array((record.headers["apns"] ?? "").utf8), Array((record.headers["flotilla"] ?? "").utf8)
                )
                let head = try SheetHead(apns: apns.span, flotilla: flotilla.span)
                let to = (record.headers["to"] ?? "").split(separator: "\n")
                let position = JobPosition(
                    topic: topic.rawValue, partition: record.partition, offset: record.offset)
                for (line, text) in to.enumerated() {
                    let parts = text.split(separator: "\t")
                    let token = try seal.open(parts[0], app: head.app, entry: String(parts[2]))
                    let (high, low) = Self.hashHalves(of: token.bytes)
                    let job = Job(
                        targetHigh: high, targetLow: low, version: head.version, event: head.event)
                    histories[job] = JobHistory(
                        forbidsOlderPushes: head.scope == .group && head.isConflatable)
                    jobOfLine[position.number(ofLine: line)] = job
                }
            }
        }
        jobs = histories.count
    }

    private static func hashHalves(of token: [UInt8]) -> (UInt64, UInt64) {
        unsafe SHA256.digest(of: token).withUnsafeBytes { hash in
            unsafe (
                UInt64(bigEndian: hash.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    private mutating func readReceipts(in bed: TestBed) throws {
        let reader = JSONReader()
        for record in try TopicContent(of: .receipts, in: bed).records {
            let receipt = try Receipt.decode(record.value ?? [], with: reader)
            for part in receipt.parts where part.outcome.isFinal {
                for line in part.lines.ranges.joined() {
                    guard let job = jobOfLine[receipt.position.number(ofLine: line)] else {
                        recordFault("a receipt names an unknown job: \(receipt.position), line \(line)")
                        continue
                    }
                    histories[job]?.finalReceipts.append((part.outcome, receipt.writtenAt))
                }
            }
        }
    }

    /// Reads the pushes of APNs. Returns the newest version that each token got.
    private mutating func readPushes(at path: String) throws -> [Target: Int64] {
        var newest: [Target: Int64] = [:]
        var pushesWithoutJob = 0
        var found: [(Job, Push)] = []
        try RequestRecordReader(path: path).forEachRecord { record in
            guard record.kind == .push, record.status == 200, let event = record.event else { return }
            let job = Job(
                targetHigh: record.targetHigh, targetLow: record.targetLow, version: record.timestamp,
                event: event)
            found.append(
                (job, Push(receivedAt: record.receivedAt, endedAt: record.endedAt, outcome: record.outcome)))
        }
        for (job, push) in found {
            guard let history = histories[job] else {
                pushesWithoutJob += 1
                continue
            }
            histories[job]?.pushes.append(push)
            let target = Target(high: job.targetHigh, low: job.targetLow)
            if let known = newest[target], known > job.version {
                if history.forbidsOlderPushes {
                    recordFault("version \(job.version) was pushed to a phone that had \(known)")
                } else {
                    outdatedPushes += 1
                }
            }
            newest[target] = max(newest[target] ?? 0, job.version)
        }
        if pushesWithoutJob > 0 { recordFault("\(pushesWithoutJob) pushes belong to no job") }
        return newest
    }

    private struct Target: Hashable {
        let high: UInt64
        let low: UInt64
    }

    // MARK: Judging

    private mutating func checkJobs() {
        var unpushed = 0
        var doubleReceipts = 0
        var permitted = 0
        for (_, fate) in histories {
            guard let outcome = fate.finalReceipts.first?.outcome else {
                lost += 1
                continue
            }
            if fate.finalReceipts.count > 1 {
                doubleReceipts += 1
                // A superseded job needs no permit: one check drops a whole sheet.
                if fate.finalReceipts.contains(where: { $0.outcome != .superseded }) { permitted += 1 }
                if !isExplainedByFreeze(fate) {
                    recordFault("a job has two final receipts without a freeze: " + description(of: fate))
                }
            }
            switch outcome {
            case .accepted:
                accepted += 1
                if fate.pushes.isEmpty { unpushed += 1 }
            case .superseded: superseded += 1
            case .unknown: unknownStarts += 1
            case .rejected, .expired: recordFault("a job ended as \(outcome)")
            case .moved, .intent, .released: break
            }
        }
        jobsWithTwoReceipts = doubleReceipts
        if lost > 0 { recordFault("\(lost) jobs have no final receipt") }
        if unpushed > 0 { recordFault("\(unpushed) jobs count as accepted but were not pushed") }
        deaths = processFaults.count { $0.isDeath }
        if unknownStarts > deaths * permits { recordFault("too many starts are unknown") }
        let freezes = processFaults.count { $0.kind == .freeze }
        if permitted > freezes * permits {
            recordFault("\(permitted) jobs that took a permit have two final receipts")
        }
    }

    /// Returns whether a freeze explains the second receipt. A zombie writes the records that it had on the
    /// way when it was frozen.
    private func isExplainedByFreeze(_ history: JobHistory) -> Bool {
        let times = history.finalReceipts.map(\.at)
        guard let first = times.min(), let last = times.max() else { return false }
        return processFaults.contains {
            $0.kind == .freeze && $0.from <= last && $0.until + Self.arrivalMilliseconds >= first
        }
    }

    /// Time within which requests that left before a death may arrive after it.
    private static let arrivalMilliseconds: Int64 = 2_000

    /// Checks the duplicated pushes. A death must lie between the two pushes of each pair, and no death may
    /// explain more pairs than there were permits. The process of a push is unknown, so the pairs are
    /// assigned as in a timetable: each death, in order, takes the pairs that end first.
    private mutating func checkDuplicates() {
        var duplicates: [(first: Push, second: Push)] = []
        for (job, fate) in histories where fate.pushes.count > 1 {
            duplicatePushes += fate.pushes.count - 1
            if job.event == .start { duplicateStarts += fate.pushes.count - 1 }
            duplicates += zip(fate.pushes, fate.pushes.dropFirst()).map { (first: $0, second: $1) }
        }
        if duplicateStarts > 0 { recordFault("\(duplicateStarts) starts were pushed twice") }
        duplicatesAfterLateAnswer = duplicates.count
        duplicates.removeAll { first, _ in first.isAnsweredLate }
        duplicatesAfterLateAnswer -= duplicates.count
        duplicates.sort { $0.second.receivedAt < $1.second.receivedAt }
        for death in processFaults.filter(\.isDeath).sorted(by: { $0.from < $1.from }) {
            // If APNs dies, both senders do not know the outcomes of their pushes.
            var permitsLeft = death.kind == .apnsKill ? 2 * permits : permits
            duplicates.removeAll { first, second in
                guard permitsLeft > 0, first.receivedAt - Self.arrivalMilliseconds <= death.from,
                    death.from <= second.receivedAt
                else { return false }
                permitsLeft -= 1
                return true
            }
        }
        guard !duplicates.isEmpty else { return }
        recordFault("\(duplicates.count) pushes were made twice, and no death explains them")
        for double in duplicates.prefix(5) { recordFault(description(of: double)) }
    }

    /// Describes both pushes and the events around them, for debugging.
    private func description(of duplicate: (first: Push, second: Push)) -> String {
        let begun = duplicate.first.receivedAt
        let later = duplicate.second.receivedAt
        return
            "a push (\(duplicate.first.text)) came again after \(later - begun) ms (\(duplicate.second.text)); "
            + describeProcessFaults(from: begun, until: later)
    }

    private func description(of history: JobHistory) -> String {
        let finals = history.finalReceipts.sorted { $0.at < $1.at }
        let begun = finals[0].at
        let words = finals.map { "\($0.outcome) at \($0.at - begun)" }
        let pushes = history.pushes.map { "\($0.receivedAt - begun)" }
        return "\(words.joined(separator: ", ")), pushed at \(pushes.joined(separator: ", ")); "
            + describeProcessFaults(from: begun, until: finals[finals.count - 1].at)
    }

    private func describeProcessFaults(from begun: Int64, until end: Int64) -> String {
        let around = processFaults.filter {
            $0.from <= end + Self.describedMilliseconds && $0.until >= begun - Self.describedMilliseconds
        }.map { "\($0.kind) from \($0.from - begun) to \($0.until - begun)" }
        return "around it, in milliseconds after it: "
            + (around.isEmpty ? "nothing" : around.joined(separator: ", "))
    }

    private static let describedMilliseconds: Int64 = 15_000

    private mutating func checkPhones(shown: [Target: Int64]) {
        var expected: [Target: Int64] = [:]
        for job in histories.keys where job.event != .start {
            let target = Target(high: job.targetHigh, low: job.targetLow)
            expected[target] = max(expected[target] ?? 0, job.version)
        }
        let behind = expected.count { target, version in shown[target] != version }
        if behind > 0 { recordFault("\(behind) of \(expected.count) phones are not on their newest state") }
        phonesStarted = histories.count { $0.key.event == .start && !$0.value.pushes.isEmpty }
    }
}
