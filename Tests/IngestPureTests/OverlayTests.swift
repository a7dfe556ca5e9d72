import Lifecycle
import Simulation
import StageSupport
import Testing

/// The overlay against a plain model: one table of committed records and one of repeated ones.
@Suite struct OverlayTests {
    private struct Model {
        var committed: [String: (record: [UInt8], outstanding: Int, since: Instant)] = [:]
        var repeated: [String: [UInt8]] = [:]

        var bytes: Int {
            Set(committed.keys).union(repeated.keys).reduce(0) { $0 + $1.utf8.count + (self[$1]?.count ?? 0) }
        }

        subscript(key: String) -> [UInt8]? { repeated[key] ?? committed[key]?.record }

        mutating func take() -> [String: [UInt8]] {
            let taken = repeated.filter { committed[$0.key] == nil }
            for key in taken.keys { repeated[key] = nil }
            return taken
        }

        mutating func apply(_ key: String) {
            guard let row = committed[key] else {
                // A transaction whose outcome was unknown did commit. It is newer than the repeated record.
                repeated[key] = nil
                return
            }
            committed[key] = row.outstanding > 1 ? (row.record, row.outstanding - 1, row.since) : nil
        }
    }

    @Test func `after any sequence of steps the overlay equals two plain tables`() {
        var seeds = SystemRandomNumberGenerator()
        let base = seeds.next() >> 16
        for seed in base..<base + UInt64(trialCount(base: 200)) {
            var random = SeededGenerator(seed: seed)
            var (overlay, model) = (Overlay(), Model())
            let keys = random.number(below: 4) == 0 ? 100 : 6
            var now = Instant.now()
            for step in 0..<200 {
                let key = "k\(random.number(below: keys))"
                let bytes = HashedKey(Array(key.utf8))
                let record = random.bytes(count: 0...9)
                switch random.number(below: 9) {
                case 0...2:
                    overlay.recordCommit(of: bytes, as: record, at: now)
                    model.committed[key] = (record, (model.committed[key]?.outstanding ?? 0) + 1, now)
                    model.repeated[key] = nil
                case 3...4:
                    overlay.recordRepetition(of: bytes, as: record, at: now)
                    model.repeated[key] = record
                case 5...6:
                    overlay.markRead(Array(key.utf8).span)
                    model.apply(key)
                case 7:
                    var taken: [String: [UInt8]] = [:]
                    for key in overlay.writableRepeatedKeys {
                        taken[String(decoding: key.bytes, as: UTF8.self)] = overlay.takeRepeatedRow(of: key)
                    }
                    #expect(taken == model.take(), "seed \(seed), step \(step)")
                default:
                    now = now.advanced(byMilliseconds: 1000 + random.number(below: 60_000))
                    overlay.forgetLostRows(at: now)
                    let oldest = Overlay.outstandingMillisecondsMax
                    model.committed = model.committed.filter {
                        now.milliseconds(since: $0.value.since) < oldest
                    }
                }
                #expect(overlay.unreadCount == model.committed.count, "seed \(seed), step \(step)")
                #expect(overlay.repeatedCount == model.repeated.count, "seed \(seed), step \(step)")
                #expect(overlay.byteCount == model.bytes, "seed \(seed), step \(step)")
                for number in 0..<keys {
                    let found = overlay[HashedKey(Array("k\(number)".utf8))]
                    #expect(found == model["k\(number)"], "seed \(seed), step \(step)")
                }
            }
            overlay.removeAll()
            #expect(overlay.unreadCount == 0 && overlay.repeatedCount == 0 && overlay.byteCount == 0)
        }
    }
}
