import Lifecycle
import Simulation
import StageSupport
import Testing

/// Tests of `Overlay`, the newest records of a stage until its view has read them from Kafka. Random steps change it
/// and a plain model: one table of committed records, and one of records that only repeat a value and are not written
/// yet.
@Suite struct OverlayTests {
    private struct Model {
        /// The records whose commits the view has not read, with the number of these commits.
        var committed: [String: (record: [UInt8], unreadCommits: Int, since: Instant)] = [:]
        /// The records that only repeat a value.
        var repeated: [String: [UInt8]] = [:]

        var byteCount: Int {
            Set(committed.keys).union(repeated.keys).reduce(0) { $0 + $1.utf8.count + (self[$1]?.count ?? 0) }
        }

        subscript(key: String) -> [UInt8]? { repeated[key] ?? committed[key]?.record }

        mutating func takeRepeatedRows() -> [String: [UInt8]] {
            let rows = repeated.filter { committed[$0.key] == nil }
            for key in rows.keys { repeated[key] = nil }
            return rows
        }

        mutating func markRead(_ key: String) {
            guard let row = committed[key] else {
                // A transaction whose outcome was unknown did commit. It is newer than the repeated record.
                repeated[key] = nil
                return
            }
            committed[key] = row.unreadCommits > 1 ? (row.record, row.unreadCommits - 1, row.since) : nil
        }
    }

    @Test func `after any sequence of steps the overlay equals two plain tables`() {
        var seeds = SystemRandomNumberGenerator()
        // It is shifted, so that the range cannot overflow.
        let firstSeed = seeds.next() >> 16
        for seed in firstSeed..<firstSeed + UInt64(trialCount(base: 200)) {
            var random = SeededGenerator(seed: seed)
            var (overlay, model) = (Overlay(), Model())
            let keyCount = random.number(below: 4) == 0 ? 100 : 6
            var now = Instant.now()
            for step in 0..<200 {
                let key = "k\(random.number(below: keyCount))"
                let hashedKey = HashedKey(Array(key.utf8))
                let record = random.bytes(count: 0...9)
                switch random.number(below: 9) {
                case 0...2:
                    overlay.recordCommit(of: hashedKey, as: record, at: now)
                    model.committed[key] = (record, (model.committed[key]?.unreadCommits ?? 0) + 1, now)
                    model.repeated[key] = nil
                case 3...4:
                    overlay.recordRepetition(of: hashedKey, as: record, at: now)
                    model.repeated[key] = record
                case 5...6:
                    overlay.markRead(Array(key.utf8).span)
                    model.markRead(key)
                case 7:
                    var rows: [String: [UInt8]] = [:]
                    for key in overlay.writableRepeatedKeys {
                        rows[String(decoding: key.bytes, as: UTF8.self)] = overlay.takeRepeatedRow(of: key)
                    }
                    #expect(rows == model.takeRepeatedRows(), "seed \(seed), step \(step)")
                default:
                    now = now.advanced(byMilliseconds: 1000 + random.number(below: 60_000))
                    overlay.forgetLostRows(at: now)
                    let ageMax = Overlay.unreadMillisecondsMax
                    model.committed = model.committed.filter {
                        now.milliseconds(since: $0.value.since) < ageMax
                    }
                }
                #expect(overlay.unreadCount == model.committed.count, "seed \(seed), step \(step)")
                #expect(overlay.repeatedCount == model.repeated.count, "seed \(seed), step \(step)")
                #expect(overlay.byteCount == model.byteCount, "seed \(seed), step \(step)")
                for number in 0..<keyCount {
                    let storedRecord = overlay[HashedKey(Array("k\(number)".utf8))]
                    #expect(storedRecord == model["k\(number)"], "seed \(seed), step \(step)")
                }
            }
            overlay.removeAll()
            #expect(overlay.unreadCount == 0 && overlay.repeatedCount == 0 && overlay.byteCount == 0)
        }
    }
}
