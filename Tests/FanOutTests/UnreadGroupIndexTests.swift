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

/// Compares the index of a group, which lies in the file and in memory, with a plain set.
struct UnreadGroupIndexTests {
    private let groups = ["match", "m", "match/2", "ö"].map { ScopeKey(app: "shop", group: $0) }
    private let names = (0..<40).map { "name-\($0)" } + ["a/b%", "ü", String(repeating: "n", count: 100)]

    /// Returns a scope that an index contains, and its key.
    private func scope(
        of kind: GroupIndex.Kind, _ name: String, in group: ScopeKey
    ) -> (key: ScopeKey, scope: LaneScope) {
        var scope = LaneScope()
        scope.writtenAt = 5
        switch kind {
        case .recipientRow: return (group.narrowed(to: .user(name)), scope)
        case .joinedActivity:
            scope.joinedGroup = group
            return (ScopeKey(app: "shop", activity: "\(name) in \(group.group ?? "")"), scope)
        }
    }

    @Test
    func `the index has each scope in the order of positions, whether the view has read it back or not`()
        throws
    {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        var definition = TopicViewDefinition(topic: "starts", table: "starts", schema: 1)
        definition.rowOrder = ScopesRowOrder.self
        let view = try TopicView(
            definition: definition, partition: 0, directory: directory.path, cluster: "here",
            deleteRetentionMilliseconds: .max, limits: EnvironmentLimits(), now: .now(), boot: BootID("boot"))
        // The topic is empty.
        view.advance(to: 0, now: .now())
        try view.writePendingRows { _ in }
        var index = UnreadGroupIndex()
        var unread: Set<HashedKey> = []
        var model: [GroupIndex.Kind: [ScopeKey: Set<[UInt8]>]] = [:]
        for step in 0..<trialCount(base: 1500) {
            let kind = GroupIndex.Kind.allCases[random.number(below: 2)]
            let group = groups[random.number(below: groups.count)]
            switch random.number(below: 3) {
            case 0:
                let (key, scope) = scope(of: kind, names[random.number(below: names.count)], in: group)
                let row = try #require(GroupIndex.Row(scope, under: key))
                let topicKey = HashedKey(key.bytes)
                unread.insert(topicKey)
                index.insert(row, of: topicKey) { unread.contains($0) }
                model[kind, default: [:]][group, default: []].insert(row.position)
                if random.number(below: 2) == 0 {
                    // The view reads the row back.
                    var derived = DerivedRow()
                    #expect(
                        ScopesDerivation.writeRow(
                            forKey: topicKey.bytes.span, value: scope.encoded().span, to: &derived))
                    view.put(key: derived.key.span, value: derived.value.span)
                    try view.writePendingRows { _ in }
                    unread.remove(topicKey)
                }
            default:
                let bounds = [random.bytes(count: 0...2), random.bytes(count: 2...2)].sorted {
                    $0.lexicographicallyPrecedes($1)
                }
                let range = KeyRange(from: bounds[0], upTo: random.number(below: 2) == 0 ? bounds[1] : nil)
                let countMax = 1 + random.number(below: 50)
                let expected = (model[kind]?[group] ?? []).filter { position in
                    !position.lexicographicallyPrecedes(range.lower)
                        && range.upper.map { position.lexicographicallyPrecedes($0) } ?? true
                }
                .sorted { $0.lexicographicallyPrecedes($1) }.prefix(countMax)
                let found = try index.entries(
                    of: kind, in: group, range: range, countMax: countMax, with: view)
                #expect(found.map(\.position) == Array(expected), "seed \(seed), step \(step)")
            }
        }
        try view.close()
    }

    @Test func `rows that the view has read back leave the memory`() throws {
        var index = UnreadGroupIndex()
        for number in 0..<20_000 {
            let (key, scope) = scope(of: .recipientRow, "user-\(number)", in: groups[0])
            let row = try #require(GroupIndex.Row(scope, under: key))
            // The view is always ten rows behind.
            let unread = Set((max(0, number - 10)...number).map { "u:user-\($0)" })
            index.insert(row, of: HashedKey(key.bytes)) { known in
                unread.contains { known.bytes.ends(with: Array("/\($0)".utf8)) }
            }
        }
        #expect(index.count < 10_000)
    }

    @Test func `a scope leaves the index when its row is too old`() {
        for kind in GroupIndex.Kind.allCases {
            let (key, scope) = scope(of: kind, "name", in: groups[2])
            var row = DerivedRow()
            #expect(ScopesDerivation.writeRow(forKey: key.bytes.span, value: scope.encoded().span, to: &row))
            let day: Int64 = 86_400_000
            let reader = JSONReader()
            #expect(
                ScopeScan.action(forKey: row.key.span, value: row.value.span, at: day, with: reader) == nil)
            #expect(
                ScopeScan.action(forKey: row.key.span, value: row.value.span, at: 3 * day, with: reader)
                    == .removeExpired)
        }
        var row = DerivedRow()
        let whole = LaneScope().encoded()
        #expect(!ScopesDerivation.writeRow(forKey: groups[0].bytes.span, value: whole.span, to: &row))
    }
}

extension [UInt8] {
    fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
}
