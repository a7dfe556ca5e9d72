import Identifiers
import JSON
import Lifecycle
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import StageSupport
import Store
import Telemetry
import Testing

@testable import FanOut

/// Compares the index of joined activities, which lies in the file and in memory, with a plain set.
struct JoinedActivityTests {
    private let groups = ["match", "m", "match/2", "ö"].map { ScopeKey(app: "shop", group: $0) }
    private let names = (0..<40).map { "name-\($0)" } + ["a/b%", "ü", String(repeating: "n", count: 100)]

    /// Returns the row of an activity that has joined a group.
    private func row(of name: String, in group: ScopeKey) -> (id: String, key: ScopeKey, record: [UInt8]) {
        var scope = LaneScope()
        scope.writtenAt = 5
        scope.joinedGroup = group
        let id = "\(name) in \(group.group ?? "")"
        return (id, ScopeKey(app: "shop", activity: id), scope.encoded())
    }

    @Test
    func `the index has each activity in the order of positions, whether the view has read it back or not`()
        throws
    {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        var definition = TopicViewDefinition(topic: "starts", table: "starts", schema: 1)
        definition.rowOrder = ScopesRowOrder.self
        definition.derive = ScopesDerivation.writeRow
        let view = try TopicView(
            definition: definition, partition: 0, directory: directory.path, cluster: "here",
            deleteRetentionMilliseconds: .max, limits: EnvironmentLimits(), now: .now(), boot: BootID("boot"))
        // The topic is empty.
        view.advance(to: 0, now: .now())
        try view.writePendingRows { _ in }
        var unread: [HashedKey: [UInt8]] = [:]
        var model: [ScopeKey: Set<[UInt8]>] = [:]
        var offset: Int64 = 0
        for step in 0..<trialCount(base: 1500) {
            let group = groups[random.number(below: groups.count)]
            switch random.number(below: 3) {
            case 0:
                let (id, key, record) = row(of: names[random.number(below: names.count)], in: group)
                let topicKey = HashedKey(key.bytes)
                unread[topicKey] = record
                model[group, default: []].insert(JoinedActivity(id: id).position)
                guard random.number(below: 2) == 0 else { continue }
                // The view reads the row back.
                try view.buffer(
                    key: topicKey.bytes.span, value: record.span, offset: offset, timestamp: nil)
                offset += 1
                try view.writePendingRows { _ in }
                if random.number(below: 2) == 0 { unread[topicKey] = nil }
            default:
                let bounds = [random.bytes(count: 0...2), random.bytes(count: 2...2)].sorted {
                    $0.lexicographicallyPrecedes($1)
                }
                let range = KeyRange(from: bounds[0], upTo: random.number(below: 2) == 0 ? bounds[1] : nil)
                let countMax = 1 + random.number(below: 50)
                let expected = (model[group] ?? []).filter { position in
                    !position.lexicographicallyPrecedes(range.lower)
                        && range.upper.map { position.lexicographicallyPrecedes($0) } ?? true
                }
                .sorted { $0.lexicographicallyPrecedes($1) }.prefix(countMax)
                var index = UnreadJoinedActivities()
                for (key, record) in unread { index.insert(record, under: key) }
                let found = try index.activities(of: group, in: range, countMax: countMax, with: view)
                #expect(found.map(\.position) == Array(expected), "seed \(seed), step \(step)")
            }
        }
        try view.close()
    }

    @Test func `an activity leaves the index when its row is too old`() {
        let (_, key, record) = row(of: "name", in: groups[2])
        var row = DerivedRow()
        #expect(ScopesDerivation.writeRow(forKey: key.bytes.span, value: record.span, to: &row))
        let day: Int64 = 86_400_000
        let reader = JSONReader()
        #expect(ScopeScan.action(forKey: row.key.span, value: row.value.span, at: day, with: reader) == nil)
        #expect(
            ScopeScan.action(forKey: row.key.span, value: row.value.span, at: 3 * day, with: reader)
                == .removeExpired)
        let whole = LaneScope().encoded()
        #expect(!ScopesDerivation.writeRow(forKey: groups[0].bytes.span, value: whole.span, to: &row))
    }

    @Test func `a filter lacks no name, and finds few others until it is full`() throws {
        var scope = LaneScope()
        func mayContain(_ name: String) -> Bool { scope.namesWithRows.mayContain(Array(name.utf8).span) }
        func others() -> Int { (0..<1000).count { mayContain("other-\($0)") } }
        for number in 0..<2000 {
            scope.namesWithRows.insert("u:user-\(number)")
            if number % 100 == 0 || number > 1000 {
                scope = try LaneScope.decode(scope.encoded(), with: JSONReader())
            }
            #expect(mayContain("u:user-\(number)") && mayContain("u:user-\(number / 2)"))
            if number == 500 { #expect(others() < 50) }
        }
        #expect(others() == 1000)
        #expect(scope.encoded().count < 1000, "a full filter has no hashes")
        scope = LaneScope()
        #expect(scope.namesWithRows.isEmpty && others() == 0)
    }
}
