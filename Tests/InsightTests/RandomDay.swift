import Identifiers
import Insight
import JSON
import Jobs
import Payloads
import RecordFormat
import Sends
import Simulation
import Telemetry

/// Random receipts as senders write them: outcomes of a sheet in several records, jobs that wait and return, and
/// processes that did not know that another one had the sheet. `IndependentCount` counts them.
struct RandomDay {
    private static let hourMilliseconds: Int64 = 3_600_000

    private var random: SeededGenerator
    /// The beginning of an hour 26 hours ago, in milliseconds since 1970. The whole day is in the past, and young enough:
    /// data that is a week old is deleted.
    static let start = (WallTime.now().milliseconds / hourMilliseconds - 26) * hourMilliseconds
    /// The outcomes of jobs with their reasons. Frequent outcomes are listed several times.
    private static let outcomes: [(outcome: ReceiptOutcome, reason: String?)] = [
        (.accepted, nil), (.accepted, nil), (.accepted, nil), (.rejected, "BadDeviceToken"),
        (.rejected, "Unregistered"), (.superseded, nil), (.superseded, "cancelled"), (.expired, nil),
        (.unknown, "lost"), (.moved, "TooManyRequests"), (.intent, nil), (.released, nil),
    ]

    init(seed: Int) { random = SeededGenerator(seed: seed) }

    /// Returns true with the probability `share / total`.
    mutating func chance(_ share: Int, in total: Int) -> Bool { random.number(below: total) < share }

    /// A receipt without outcomes, the same one each time.
    var receipt: Receipt {
        var copy = self
        return copy.receipt(offset: 0, lines: LineSet(all: 1))
    }

    private mutating func receipt(offset: Int64, lines: LineSet) -> Receipt {
        let send = random.number(below: 12)
        let head = SheetHead(
            topic: "com.flash.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: send % 2 == 0 ? "flash" : "other",
            environment: random.number(below: 5) == 0 ? .sandbox : .production,
            send: "send-\(send)", group: send % 3 == 0 ? nil : "match-\(send % 4)", scope: .group,
            generation: 1, version: Int64(send), event: send % 4 == 0 ? .start : .update,
            deadline: 1_900_000_000, acceptedAt: Self.start + Int64(send) * 1000)
        let position = JobPosition(
            topic: random.number(below: 10) == 0 ? "jobs.urgent" : "jobs", partition: Int32(send % 5),
            offset: offset)
        return Receipt(
            head, at: position, attempt: 1, writtenAt: head.acceptedAt + Int64(random.number(below: 90_000)),
            parts: [])
    }

    /// Returns one to five receipts of each sheet, in random order.
    mutating func receipts(sheets: Int) -> [Receipt] {
        var receipts: [Receipt] = []
        for offset in 0..<sheets {
            // One sheet in five may be full, the others are small.
            let jobCount = 1 + random.number(below: random.number(below: 5) == 0 ? SheetHead.jobsMax : 70)
            let first = receipt(offset: Int64(offset), lines: LineSet(all: jobCount))
            for _ in 0..<1 + random.number(below: 5) {
                var next = first
                next.writtenAt = first.writtenAt + Int64(random.number(below: 60_000))
                next.attempt = 1 + random.number(below: 3)
                next.parts = parts(ofLines: jobCount)
                receipts.append(next)
            }
        }
        // Receipts of different lanes are in no order.
        return receipts.shuffled(using: &random)
    }

    /// Returns parts with some of the lines. Each line is in at most one part.
    private mutating func parts(ofLines lineCount: Int) -> [Receipt.Part] {
        var sets = Array(repeating: LineSet(), count: Self.outcomes.count)
        // Several lines in a row have the same outcome. An index beyond the outcomes is no outcome yet.
        let choicesWithoutOutcome = 3
        var outcomeIndex = random.number(below: Self.outcomes.count)
        for line in 0..<lineCount {
            if random.number(below: 4) == 0 {
                outcomeIndex = random.number(below: Self.outcomes.count + choicesWithoutOutcome)
            }
            if outcomeIndex < sets.count { sets[outcomeIndex].append(line) }
        }
        return zip(Self.outcomes, sets).compactMap { entry, lines in
            lines.isEmpty ? nil : Receipt.Part(entry.outcome, lines: lines, reason: entry.reason)
        }
    }
}

/// The counts that insight must have: of the first final outcome of each job. It notes every finished job in a set.
struct IndependentCount {
    private struct Job: Hashable {
        var sheet: JobPosition
        var line: Int
    }

    private(set) var outcomes: [SendTally.Key: [SendTally.JobOutcome: Int]] = [:]
    private(set) var latencies: [SendTally.Key: [Int64]] = [:]

    init(of receipts: [Receipt]) {
        var finishedJobs = Set<Job>()
        for receipt in receipts {
            let key = SendTally.Key(
                app: receipt.app, send: receipt.send, environment: receipt.environment)
            for part in receipt.parts where part.outcome.isFinal {
                // A receipt whose jobs already have a final outcome still makes its send known.
                if outcomes[key] == nil { outcomes[key] = [:] }
                part.lines.forEachLine { line in
                    guard finishedJobs.insert(Job(sheet: receipt.position, line: line)).inserted else {
                        return
                    }
                    outcomes[key, default: [:]][
                        SendTally.JobOutcome(outcome: part.outcome, reason: part.reason), default: 0] += 1
                    if part.outcome == .accepted {
                        latencies[key, default: []].append(receipt.writtenAt - receipt.acceptedAt)
                    }
                }
            }
        }
    }
}

/// The rows of a receipt file in memory, as bytes like on disk.
struct MemoryRows: StoredReceiptRows {
    private(set) var lines: [JobPosition: [UInt8]] = [:]
    private(set) var tallies: [SendTally.Key: [UInt8]] = [:]
    private(set) var periods: [SeriesSlot: [UInt8]] = [:]

    func finishedLines(of sheet: JobPosition) throws(RecordDecodingError) -> FinishedLines? {
        lines[sheet].flatMap { FinishedLines($0.span) }
    }

    func tally(for key: SendTally.Key) throws(RecordDecodingError) -> SendTally? {
        guard let bytes = tallies[key] else { return nil }
        return try SendTally.decode(bytes, with: JSONReader())
    }

    func period(in slot: SeriesSlot) throws(RecordDecodingError) -> PeriodTally? {
        guard let bytes = periods[slot] else { return nil }
        return try PeriodTally.decode(bytes, with: JSONReader())
    }

    mutating func enter(_ batch: ReceiptBatch) throws {
        for (sheet, finished) in batch.finishedLines {
            var bytes: [UInt8] = []
            finished.append(to: &bytes)
            lines[sheet] = bytes
        }
        for (key, tally) in batch.tallies { tallies[key] = tally.encoded() }
        for (slot, period) in batch.periods { periods[slot] = period.encoded() }
    }
}
