import Identifiers
import Insight
import JSON
import Jobs
import Payloads
import RecordFormat
import Sends
import Simulation
import Telemetry

/// Receipts as senders write them: outcomes of a sheet in several records, jobs that wait and return, and
/// processes that did not know that another one had the sheet.
struct RandomDay {
    private var numbers: SeededGenerator
    /// A day ago, because data that is a week old is forgotten.
    static let start = (WallTime.now().milliseconds / 3_600_000 - 26) * 3_600_000
    private static let outcomes: [(ReceiptOutcome, String?)] = [
        (.accepted, nil), (.accepted, nil), (.accepted, nil), (.rejected, "BadDeviceToken"),
        (.rejected, "Unregistered"), (.superseded, nil), (.superseded, "cancelled"), (.expired, nil),
        (.unknown, "lost"), (.moved, "TooManyRequests"), (.intent, nil), (.released, nil),
    ]

    init(seed: Int) { numbers = SeededGenerator(seed: seed) }

    mutating func chance(_ share: Int, in total: Int) -> Bool { numbers.number(below: total) < share }

    var receipt: Receipt {
        var copy = self
        return copy.receipt(offset: 0, lines: LineSet(all: 1))
    }

    private mutating func receipt(offset: Int64, lines: LineSet) -> Receipt {
        let send = numbers.number(below: 12)
        let head = SheetHead(
            topic: "com.flash.push-type.liveactivity", priority: .immediate, expiration: 0,
            app: send % 2 == 0 ? "flash" : "other",
            environment: numbers.number(below: 5) == 0 ? .sandbox : .production,
            send: "send-\(send)", group: send % 3 == 0 ? nil : "match-\(send % 4)", scope: .group,
            generation: 1, version: Int64(send), event: send % 4 == 0 ? .start : .update,
            deadline: 1_900_000_000, acceptedAt: Self.start + Int64(send) * 1000)
        let position = JobPosition(
            topic: numbers.number(below: 10) == 0 ? "jobs.urgent" : "jobs", partition: Int32(send % 5),
            offset: offset)
        return Receipt(
            head, at: position, attempt: 1, writtenAt: head.acceptedAt + Int64(numbers.number(below: 90_000)),
            parts: [])
    }

    mutating func receipts(sheets: Int) -> [Receipt] {
        var receipts: [Receipt] = []
        for offset in 0..<sheets {
            let jobs = 1 + numbers.number(below: numbers.number(below: 5) == 0 ? SheetHead.jobsMax : 70)
            let first = receipt(offset: Int64(offset), lines: LineSet(all: jobs))
            for _ in 0..<1 + numbers.number(below: 5) {
                var next = first
                next.writtenAt = first.writtenAt + Int64(numbers.number(below: 60_000))
                next.attempt = 1 + numbers.number(below: 3)
                next.parts = parts(ofLines: jobs)
                receipts.append(next)
            }
        }
        // Receipts of different lanes are in no order.
        return receipts.shuffled(using: &numbers)
    }

    /// Returns parts with some of the lines. Each line is in one part.
    private mutating func parts(ofLines lineCount: Int) -> [Receipt.Part] {
        var sets = Array(repeating: LineSet(), count: Self.outcomes.count)
        // Several lines in a row have the same outcome. An index beyond the outcomes is no outcome yet.
        var outcomeIndex = numbers.number(below: Self.outcomes.count)
        for line in 0..<lineCount {
            if numbers.number(below: 4) == 0 {
                outcomeIndex = numbers.number(below: Self.outcomes.count + 3)
            }
            if outcomeIndex < sets.count { sets[outcomeIndex].append(line) }
        }
        return zip(Self.outcomes, sets).compactMap { outcome, lines in
            lines.isEmpty ? nil : Receipt.Part(outcome.0, lines: lines, reason: outcome.1)
        }
    }
}

/// The counts of the first final outcome of each job, from a set of all jobs.
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

/// Rows in the form that they have on disk: bytes.
struct MemoryRows: StoredReceiptRows {
    private(set) var lines: [JobPosition: [UInt8]] = [:]
    private(set) var tallies: [SendTally.Key: [UInt8]] = [:]

    func finishedLines(of sheet: JobPosition) throws(RecordDecodingError) -> FinishedLines? {
        lines[sheet].flatMap { FinishedLines($0.span) }
    }

    func tally(for key: SendTally.Key) throws(RecordDecodingError) -> SendTally? {
        guard let bytes = tallies[key] else { return nil }
        return try SendTally.decode(bytes, with: JSONReader())
    }

    mutating func enter(_ batch: ReceiptBatch) throws {
        for (sheet, finished) in batch.finishedLines {
            var bytes: [UInt8] = []
            finished.append(to: &bytes)
            lines[sheet] = bytes
        }
        for (key, tally) in batch.tallies { tallies[key] = tally.encoded() }
    }
}
