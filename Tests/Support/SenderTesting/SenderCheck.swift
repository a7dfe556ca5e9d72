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

/// A check of the outcome of every job, made without knowledge of senders. It reads the jobs and receipts in Kafka, and
/// the records that the simulated APNs wrote before it answered.
///
/// Each job must have a final receipt, and each phone must have its newest state. A push may come twice only if its
/// answer was late, or if a process died between the two pushes.
package struct SenderCheck: Sendable {
    private static let faultsMax = 20
    /// The time within which requests that left before a death may arrive after it.
    private static let arrivalMilliseconds: Int64 = 2_000
    /// A description lists the faults of processes within this time.
    private static let describedMilliseconds: Int64 = 15_000

    // The numbers of jobs, by their outcome.
    package private(set) var jobs = 0
    package private(set) var accepted = 0
    package private(set) var superseded = 0
    /// The jobs without a final receipt.
    package private(set) var lost = 0
    /// The starts whose outcome is unknown.
    package private(set) var unknownStarts = 0
    /// The jobs with more than one final receipt: one of a zombie and one of its successor.
    package private(set) var jobsWithTwoReceipts = 0
    package private(set) var deadLetters = 0

    // The numbers of pushes that were not the first of their job.
    package private(set) var duplicatePushes = 0
    /// The duplicated pushes whose first answer came too late, so that the sender did not know the outcome.
    package private(set) var duplicatesAfterLateAnswer = 0
    package private(set) var duplicateStarts = 0
    /// The deaths of senders, including freezes, and of APNs. Each may duplicate as many pushes as there are
    /// permits.
    package private(set) var deaths = 0

    /// The pushes that were older than an earlier push to the phone. The phone ignores them by their timestamp.
    package private(set) var outdatedPushes = 0
    package private(set) var phonesStarted = 0
    /// Descriptions of faults, up to a limit.
    package private(set) var faults: [String] = []

    /// The identity of a job: no two jobs have the same token, timestamp and event. The body contains the timestamp, in
    /// seconds since 1970, because APNs and phones do not know versions.
    private struct Job: Hashable {
        let target: Target
        let timestamp: Int64
        let event: PushEvent
    }

    /// The first 16 bytes of the SHA-256 of a token.
    private struct Target: Hashable {
        let high: UInt64
        let low: UInt64
    }

    /// The content of a receipt about a job that goes on.
    private struct JobProgress: Hashable {
        let outcome: ReceiptOutcome
        let reason: String?

        var text: String { "\(outcome)" + (reason.map { " because of \($0)" } ?? "") }
    }

    /// Everything that the receipts and APNs tell about a job.
    private struct JobHistory {
        var finalReceipts: [(outcome: ReceiptOutcome, at: Int64)] = []
        /// The newest receipt that is not final.
        var progress: JobProgress?
        var pushes: [Push] = []
        /// Whether a sender must drop the job if it knows a newer one.
        let forbidsOlderPushes: Bool
    }

    /// A push in the records of APNs.
    private struct Push {
        /// The times of its arrival and of its answer, in milliseconds since 1970.
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
    /// The jobs by `JobPosition.number(ofLine:)`.
    private var jobOfLine: [UInt64: Job] = [:]

    /// - Parameters:
    ///   - records: The path of the simulated APNs' records.
    ///   - permits: The permits of each sender.
    ///   - processFaults: The faults of processes during the test.
    ///   - sealingKeys: The keys that seal the tokens of jobs.
    package init(
        on bed: TestBed, records: String, permits: Int, after processFaults: [SenderKillTest.ProcessFault],
        sealingKeys: SealingKeys? = nil
    ) throws {
        self.processFaults = processFaults
        self.permits = permits
        try readJobs(in: bed, seal: TokenSeal(keys: sealingKeys))
        try readReceipts(in: bed)
        deadLetters = try TopicContent(of: .deadLetters, in: bed).records.count
        let newestTimestamps = try readPushes(at: records)
        checkJobs()
        checkDuplicates()
        checkPhones(shown: newestTimestamps)
    }

    package var summary: String {
        """
        \(jobs) jobs: \(accepted) accepted, \(superseded) superseded, \(unknownStarts) starts of unknown outcome, \
        \(deadLetters) dead letters, \(lost) lost; \(jobsWithTwoReceipts) with a second receipt from a zombie; \
        \(duplicatePushes) pushed twice, \(duplicatesAfterLateAnswer) of them because the answer was late, \
        in \(deaths) deaths, with \(permits) permits each; \(duplicateStarts) starts pushed twice; \
        \(outdatedPushes) pushes of single recipients after a newer one, which their phones ignore; \
        \(phonesStarted) phones started
        """
    }

    private mutating func recordFault(_ text: String) {
        if faults.count < Self.faultsMax { faults.append(text) }
    }

    // MARK: Reading

    private mutating func readJobs(in bed: TestBed, seal: TokenSeal) throws {
        for topic in [TopicName.jobs, .jobsUrgent] {
            for record in try TopicContent(of: topic, in: bed).records {
                let apnsFields = Array((record.headers["apns"] ?? "").utf8)
                let flotillaFields = Array((record.headers["flotilla"] ?? "").utf8)
                let head = try SheetHead(apns: apnsFields.span, flotilla: flotillaFields.span)
                let timestamp = try Self.timestamp(ofBody: record.value ?? [])
                let jobLines = (record.headers["to"] ?? "").split(separator: "\n")
                let position = JobPosition(
                    topic: topic.rawValue, partition: record.partition, offset: record.offset)
                for (line, text) in jobLines.enumerated() {
                    let fields = text.split(separator: "\t")
                    let (sealedToken, entry) = (fields[0], fields[2])
                    let token = try seal.open(sealedToken, app: head.app, entry: String(entry))
                    let job = Job(
                        target: Self.target(ofToken: token.bytes), timestamp: timestamp, event: head.event)
                    histories[job] = JobHistory(
                        forbidsOlderPushes: head.scope == .group && head.isConflatable)
                    jobOfLine[position.number(ofLine: line)] = job
                }
            }
        }
        jobs = histories.count
    }

    /// Returns `aps.timestamp` of a push's body.
    private static func timestamp(ofBody body: [UInt8]) throws -> Int64 {
        let timestamp = try JSONReader().read(body) { root in
            root.object()["aps"].object()["timestamp"].int(in: 0...Int(Int32.max))
        }
        return Int64(timestamp)
    }

    private static func target(ofToken token: [UInt8]) -> Target {
        unsafe SHA256.digest(of: token).withUnsafeBytes { hash in
            unsafe Target(
                high: UInt64(bigEndian: hash.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: hash.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    private mutating func readReceipts(in bed: TestBed) throws {
        let reader = JSONReader()
        for record in try TopicContent(of: .receipts, in: bed).records {
            // A record without a value is the marker of a takeover.
            guard let value = record.value else { continue }
            let receipt = try Receipt.decode(value, with: reader)
            for part in receipt.parts {
                for line in part.lines.ranges.joined() {
                    guard let job = jobOfLine[receipt.position.number(ofLine: line)] else {
                        recordFault("a receipt names an unknown job: \(receipt.position), line \(line)")
                        continue
                    }
                    if part.outcome.isFinal {
                        histories[job]?.finalReceipts.append((part.outcome, receipt.writtenAt))
                    } else {
                        histories[job]?.progress = JobProgress(outcome: part.outcome, reason: part.reason)
                    }
                }
            }
        }
    }

    /// Reads the accepted pushes of APNs. Returns the newest timestamp that each token got.
    private mutating func readPushes(at path: String) throws -> [Target: Int64] {
        var newestTimestamps: [Target: Int64] = [:]
        var pushesWithoutJob = 0
        var pushes: [(Job, Push)] = []
        try RequestRecordReader(path: path).forEachRecord { record in
            guard record.kind == .push, record.status == 200, let event = record.event else { return }
            let job = Job(
                target: Target(high: record.targetHigh, low: record.targetLow), timestamp: record.timestamp,
                event: event)
            pushes.append(
                (job, Push(receivedAt: record.receivedAt, endedAt: record.endedAt, outcome: record.outcome)))
        }
        for (job, push) in pushes {
            guard let history = histories[job] else {
                pushesWithoutJob += 1
                continue
            }
            histories[job]?.pushes.append(push)
            let newestTimestamp = newestTimestamps[job.target] ?? 0
            if newestTimestamp > job.timestamp {
                if history.forbidsOlderPushes {
                    recordFault(
                        "timestamp \(job.timestamp) was pushed to a phone that had \(newestTimestamp)")
                } else {
                    outdatedPushes += 1
                }
            }
            newestTimestamps[job.target] = max(newestTimestamp, job.timestamp)
        }
        if pushesWithoutJob > 0 { recordFault("\(pushesWithoutJob) pushes belong to no job") }
        return newestTimestamps
    }

    // MARK: Checking

    /// Counts the outcomes, and checks that each job has one final receipt.
    private mutating func checkJobs() {
        var jobsWithoutPush = 0
        var permittedJobsWithTwoReceipts = 0
        var lostJobsByProgress: [JobProgress?: Int] = [:]
        for history in histories.values {
            guard let outcome = history.finalReceipts.first?.outcome else {
                lost += 1
                lostJobsByProgress[history.progress, default: 0] += 1
                continue
            }
            if history.finalReceipts.count > 1 {
                jobsWithTwoReceipts += 1
                if mayHavePermitOfZombie(history) { permittedJobsWithTwoReceipts += 1 }
                if !isExplainedByFreeze(history) {
                    recordFault("a job has two final receipts without a freeze: " + description(of: history))
                }
            }
            switch outcome {
            case .accepted:
                accepted += 1
                if history.pushes.isEmpty { jobsWithoutPush += 1 }
            case .superseded: superseded += 1
            case .unknown: unknownStarts += 1
            case .rejected, .expired: recordFault("a job ended as \(outcome)")
            case .moved, .intent, .released: break
            }
        }
        if lost > 0 {
            let groups = lostJobsByProgress.map { progress, count in
                "\(count) " + (progress.map { "whose last receipt says \($0.text)" } ?? "without any receipt")
            }
            recordFault("\(lost) jobs have no final receipt: \(groups.sorted().joined(separator: ", "))")
        }
        if jobsWithoutPush > 0 {
            recordFault("\(jobsWithoutPush) jobs count as accepted but were not pushed")
        }
        deaths = processFaults.count { $0.isDeath }
        if unknownStarts > deaths * permits {
            recordFault("\(unknownStarts) starts are unknown, \(deaths * permits) at most are allowed")
        }
        let freezes = processFaults.count { $0.kind == .freeze }
        if permittedJobsWithTwoReceipts > freezes * permits {
            recordFault("\(permittedJobsWithTwoReceipts) jobs that took a permit have two final receipts")
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

    /// Returns whether a job with two final receipts may have had a permit of the frozen process. A superseded job
    /// needs none, because one check drops a whole sheet. If the process dropped it just before the freeze, the receipt
    /// may be stored after it, and the next owner may have pushed the job.
    private func mayHavePermitOfZombie(_ history: JobHistory) -> Bool {
        guard let first = history.finalReceipts.min(by: { $0.at < $1.at }),
            history.finalReceipts.contains(where: { $0.outcome != .superseded })
        else { return false }
        let wasDroppedBeforeFreeze =
            first.outcome == .superseded
            && processFaults.contains {
                $0.kind == .freeze && first.at <= $0.from + Int64(SenderKillTest.clockMilliseconds)
            }
        return !wasDroppedBeforeFreeze
    }

    /// Checks the duplicated pushes. A death must lie between the two pushes of each pair, and no death may
    /// explain more pairs than there were permits. The process of a push is unknown, so the pairs are
    /// assigned as in a timetable: each death, in order, takes the pairs that end first.
    private mutating func checkDuplicates() {
        var duplicates: [(first: Push, second: Push)] = []
        for (job, history) in histories where history.pushes.count > 1 {
            duplicatePushes += history.pushes.count - 1
            if job.event == .start { duplicateStarts += history.pushes.count - 1 }
            duplicates += zip(history.pushes, history.pushes.dropFirst()).map { (first: $0, second: $1) }
        }
        if duplicateStarts > 0 { recordFault("\(duplicateStarts) starts were pushed twice") }
        duplicatesAfterLateAnswer = duplicates.count { first, _ in first.isAnsweredLate }
        duplicates.removeAll { first, _ in first.isAnsweredLate }
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
        for duplicate in duplicates.prefix(5) { recordFault(description(of: duplicate)) }
    }

    /// Checks that each phone got its newest state.
    private mutating func checkPhones(shown: [Target: Int64]) {
        var expectedTimestamps: [Target: Int64] = [:]
        for job in histories.keys where job.event != .start {
            expectedTimestamps[job.target] = max(expectedTimestamps[job.target] ?? 0, job.timestamp)
        }
        let outdatedPhones = expectedTimestamps.count { target, timestamp in shown[target] != timestamp }
        if outdatedPhones > 0 {
            recordFault(
                "\(outdatedPhones) of \(expectedTimestamps.count) phones are not on their newest state")
        }
        phonesStarted = histories.count { $0.key.event == .start && !$0.value.pushes.isEmpty }
    }

    // MARK: Descriptions for debugging

    /// Describes both pushes, and the faults of processes around them.
    private func description(of duplicate: (first: Push, second: Push)) -> String {
        let start = duplicate.first.receivedAt
        let end = duplicate.second.receivedAt
        return
            "a push (\(duplicate.first.text)) came again after \(end - start) ms (\(duplicate.second.text)); "
            + describeProcessFaults(from: start, until: end)
    }

    /// Describes the receipts and pushes of a job, with times after the first receipt.
    private func description(of history: JobHistory) -> String {
        let receipts = history.finalReceipts.sorted { $0.at < $1.at }
        let start = receipts[0].at
        let receiptTexts = receipts.map { "\($0.outcome) at \($0.at - start)" }
        let pushTimes = history.pushes.map { "\($0.receivedAt - start)" }
        return "\(receiptTexts.joined(separator: ", ")), pushed at \(pushTimes.joined(separator: ", ")); "
            + describeProcessFaults(from: start, until: receipts[receipts.count - 1].at)
    }

    private func describeProcessFaults(from start: Int64, until end: Int64) -> String {
        let texts = processFaults.filter {
            $0.from <= end + Self.describedMilliseconds && $0.until >= start - Self.describedMilliseconds
        }.map { "\($0.kind) from \($0.from - start) to \($0.until - start)" }
        return "around it, in milliseconds after it: "
            + (texts.isEmpty ? "nothing" : texts.joined(separator: ", "))
    }
}
