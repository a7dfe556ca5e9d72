internal import APNsSimulator
internal import Cryptography
package import IngestTesting
internal import JSON
package import LiveActivity
internal import Topics

/// What became of every job, by an account that knows nothing of senders: it reads jobs and receipts in Kafka, and
/// the records that the simulated APNs wrote before it answered.
package struct SenderVerdict: Sendable {
    package private(set) var jobs = 0
    package private(set) var accepted = 0
    package private(set) var superseded = 0
    package private(set) var lost = 0
    /// Jobs with more than one final receipt: a zombie's and its successor's.
    package private(set) var receiptedTwice = 0
    package private(set) var pushedTwice = 0
    /// Of these, those whose first answer came after its time: nobody knew what had become of them.
    package private(set) var answeredLate = 0
    /// Deaths of senders, freezes among them, and of APNs: each may double as many pushes as there are permits.
    package private(set) var deaths = 0
    package private(set) var startsPushedTwice = 0
    package private(set) var startsUnknown = 0
    /// Older than what the phone had been given before; it ignores them by their timestamp.
    package private(set) var pushedLate = 0
    package private(set) var phonesStarted = 0
    package private(set) var deadLetters = 0
    /// Each in words, the first of its kind.
    package private(set) var faults: [String] = []

    /// A job: its token's hash, version and event are its alone.
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

    /// As APNs wrote it down.
    private struct Push {
        let receivedAt: Int64
        let endedAt: Int64
        let end: RequestRecord.End

        /// Its answer left so late that the sender had given up: the outcome was unknown, and what is no start is
        /// pushed again.
        var isAnsweredLate: Bool {
            endedAt - receivedAt >= Int64(SenderKills.answerMilliseconds - SenderKills.clockMilliseconds)
        }

        var text: String { "\(end) after \(endedAt - receivedAt) ms" }
    }

    private let happenings: [SenderKills.Happening]
    private let permits: Int
    private var fates: [Job: Fate] = [:]
    private var jobOfLine: [UInt64: Job] = [:]

    /// - Parameter sealingKeys: with which the tokens of jobs are sealed.
    package init(
        _ bed: IngestBed, records: String, permits: Int, after happenings: [SenderKills.Happening],
        sealingKeys: SealingKeys? = nil
    ) throws {
        self.happenings = happenings
        self.permits = permits
        try readJobs(bed, TokenSeal(sealingKeys))
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
        \(deadLetters) dead letters, \(lost) lost; \(receiptedTwice) that a zombie receipted \
        too; \(pushedTwice) pushed twice, \(answeredLate) of them as the answer was late, in \(deaths) deaths, with \(permits) permits each; \(startsPushedTwice) \
        starts pushed twice; \(pushedLate) pushes of single persons behind a newer one, which their phones ignore; \
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
                let place = JobPlace(
                    topic: topic.rawValue, partition: record.partition, offset: record.offset)
                for (line, text) in to.enumerated() {
                    let parts = text.split(separator: "\t")
                    let token = try seal.open(parts[0], app: head.app, entry: String(parts[2]))
                    let (high, low) = Self.hash(token.bytes)
                    let job = Job(
                        targetHigh: high, targetLow: low, version: head.version, event: head.event)
                    fates[job] = Fate(isStrict: head.scope == .group && head.conflate)
                    jobOfLine[place.number(ofLine: line)] = job
                }
            }
        }
        jobs = fates.count
    }

    private static func hash(_ token: [UInt8]) -> (UInt64, UInt64) {
        unsafe SHA256.digest(token).withUnsafeBytes { hash in
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
                    guard let job = jobOfLine[receipt.place.number(ofLine: line)] else {
                        fault("a receipt is about no job: \(receipt.place), line \(line)")
                        continue
                    }
                    fates[job]?.finals.append((part.outcome, receipt.at))
                }
            }
        }
    }

    /// - Returns: the newest version that each token was given.
    private mutating func readPushes(_ path: String) throws -> [Target: Int64] {
        var newest: [Target: Int64] = [:]
        var strays = 0
        var found: [(Job, Push)] = []
        try RequestRecordReader(path).read { record in
            guard record.kind == .push, record.status == 200, let event = record.event else { return }
            let job = Job(
                targetHigh: record.targetHigh, targetLow: record.targetLow, version: record.timestamp,
                event: event)
            found.append(
                (job, Push(receivedAt: record.receivedAt, endedAt: record.endedAt, end: record.end)))
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
        if strays > 0 { fault("\(strays) pushes were of no job") }
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
                // What is superseded needs no permit: a whole sheet of it is dropped by one look.
                if fate.finals.contains(where: { $0.outcome != .superseded }) { permitted += 1 }
                if !hasZombie(fate) {
                    fault("a job has two final receipts, and nobody was frozen: " + story(of: fate))
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
        if unpushed > 0 { fault("\(unpushed) jobs count as accepted and were not pushed") }
        deaths = happenings.count { $0.isDeath }
        if startsUnknown > deaths * permits { fault("too many starts are unknown") }
        let freezes = happenings.count { $0.kind == .freeze }
        if permitted > freezes * permits {
            fault("\(permitted) jobs that took a permit have two final receipts")
        }
    }

    /// A zombie writes what it had on its way when it was frozen.
    private func hasZombie(_ fate: Fate) -> Bool {
        let times = fate.finals.map(\.at)
        guard let first = times.min(), let last = times.max() else { return false }
        return happenings.contains {
            $0.kind == .freeze && $0.from <= last && $0.until + Self.arrivalMilliseconds >= first
        }
    }

    /// What left before a death may arrive a moment after it.
    private static let arrivalMilliseconds: Int64 = 2_000

    /// Each push that was made twice has a death between the two; and they can be dealt out to the deaths so that none
    /// has more than there were permits. Which process made a push is not known, so that they are dealt out as a
    /// timetable is made: to each death in its order those that have the least time left.
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
            // What APNs does not answer is in doubt for both senders.
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
        fault("\(doubles.count) pushes were made twice beyond what deaths explain")
        for double in doubles.prefix(5) { fault(story(of: double)) }
    }

    /// For whoever looks for the cause: both pushes, and what happened around them.
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
