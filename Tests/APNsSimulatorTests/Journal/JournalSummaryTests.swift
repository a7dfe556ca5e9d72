import APNs
import HTTP2
import JSON
import Simulation
import Testing

@testable import APNsSimulator

/// The counts of the journal, compared with a plain count, and the tables that hold them.
struct JournalSummaryTests {
    @Test func `the summary matches a plain count of the entries`() {
        for seed in 0..<trialCount(base: 30) {
            var random = SeededGenerator(seed: seed)
            var totals = JournalTotals(limits: JournalLimits())
            var acceptedByID: [PushID: Int] = [:]
            var acceptedByToken: [Int: Int] = [:]
            var answered: [JournalSummary.AnswerKind: Int] = [:]
            var resets = 0
            for number in 1...2_000 {
                let token = random.number(below: 20)
                let id = PushID(high: 0, low: UInt64(random.number(below: 1_500)))
                let end: JournalEntry.Outcome =
                    switch random.number(below: 4) {
                    case 0: .reset(.refusedStream)
                    case 1:
                        .answered(
                            status: 429, reason: "TooManyRequests", isSent: random.number(below: 2) == 0)
                    default: .answered(status: 200, reason: nil, isSent: true)
                    }
                totals.add(journalEntry(number, token: token, id: id, end: end))
                switch end {
                case .reset: resets += 1
                case .answered(let status, let reason, _):
                    answered[JournalSummary.AnswerKind(status: status, reason: reason), default: 0] += 1
                    guard status == 200 else { continue }
                    acceptedByID[id, default: 0] += 1
                    acceptedByToken[token, default: 0] += 1
                case .silence, .notProcessed: break
                }
            }
            let summary = totals.summary
            #expect(summary.requests == 2_000 && summary.delivered == 2_000)
            #expect(summary.answered == answered && summary.resets == [.refusedStream: resets])
            let duplicated = acceptedByID.filter { $0.value > 1 }
            #expect(summary.duplicateIDs == duplicated.count, "seed \(seed)")
            #expect(summary.duplicatePushes == duplicated.reduce(0) { $0 + $1.value - 1 })
            #expect(summary.duplicatesListed.allSatisfy { duplicated[$0.id] == $0.times })
            #expect(summary.pushesPerTargetMax == acceptedByToken.values.max())
            #expect(summary.targetsSeen == acceptedByToken.count)
        }
    }

    @Test func `above its limits the summary reports that it is not exact`() {
        var limits = JournalLimits()
        limits.trackedIDsMax = 10
        limits.trackedTargetsMax = 2
        var totals = JournalTotals(limits: limits)
        for number in 1...20 { totals.add(journalEntry(number, token: number % 4)) }
        for number in 1...20 { totals.add(journalEntry(number, token: number % 4)) }
        var summary = totals.summary
        // Ten of the 20 ids and two of the four targets are not tracked. They have 20 pushes each.
        #expect(summary.duplicateIDs == 10 && summary.idsNotTracked == 20)
        #expect(summary.targetsSeen == 2 && summary.targetsNotTracked == 20)
        for status in 0..<700 {
            totals.add(
                journalEntry(1, end: .answered(status: 400, reason: "made up \(status)", isSent: true)))
        }
        summary = totals.summary
        // With the 200 of the first entries there are 701 kinds of answers. 201 of them exceed the limit.
        #expect(summary.answered.count == JournalSummary.kindsMax && summary.otherOutcomes == 201)
    }

    @Test func `a table counts each of many keys`() {
        var table = CountTable(keysMax: 100_000)
        for round in 1...3 {
            for key in 0..<30_000 {
                let count = table.increment(Key128("key \(key)"))
                if count != round {
                    Issue.record("key \(key) was counted \(count ?? -1) times in round \(round)")
                }
            }
        }
        #expect(table.count == 30_000)
        #expect(table.count(of: Key128("key 7")) == 3 && table.count(of: Key128("no such key")) == 0)
    }

    @Test func `keys of similar ids and texts are spread out`() {
        let ids = (0..<10_000).map { Key128(PushID(high: 0, low: UInt64($0))) }
        let texts = (0..<10_000).map {
            Key128([UInt8](repeating: 0, count: 30) + [UInt8($0 >> 8), UInt8($0 & 255)])
        }
        for keys in [ids, texts] {
            #expect(Set(keys).count == 10_000)
            #expect(Set(keys.map { $0.high >> 56 }).count == 256)
            #expect(Set(keys.map { $0.low & 0xFFFF }).count > 9_000)
        }
        #expect(Key128([]) != Key128([0]) && Key128([0]) != Key128([0, 0]))
    }
}
