import Identifiers
import InstallationRecords
import ProcessTesting
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// The news that a commit reports.
struct LaneChangesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private let key = RegistryKey(
        app: "one", recipient: .user("ada"), installation: "i", entry: .update(activity: "x"))

    private func told(_ lane: Lane, _ offset: Int64) throws -> [String] {
        var news = LaneChanges()
        try lane.commit(AppliedProgress(offset: offset, completeUntil: .now()), reportingChangesInto: &news)
        return (0..<news.count).map { index in
            func words(_ row: Found) -> String {
                "\(row.hash.drop { $0 == "0" }.prefix(1)) \(row.group ?? "-")"
            }
            let row = Found(news.row(at: index))
            return "\(news.app(at: index)) \(row.recipient) \(news.kinds(at: index).words): \(words(row))"
        }.sorted()
    }

    private func hashed(_ digit: Int, group: String?, registeredAt: Int64 = start) -> TokenRow {
        var row = token(digit, group: group, registeredAt: registeredAt)
        row.tokenHash = String(digit) + String(repeating: "0", count: 31)
        return row
    }

    @Test func `a token, a group and a dismissal are news, a repetition is not`() throws {
        let lane = try openLane(directory.path)
        lane.changesReportedFrom = 0
        var row = hashed(1, group: nil)
        func next(_ offset: Int64) throws -> [String] {
            try lane.hear(key, row.encoded(), offset: offset)
            return try told(lane, offset + 1)
        }
        #expect(try next(0) == ["one u:ada token: 1 -"])
        row.registeredAt += 1000
        #expect(try next(1) == [])
        row.isUnproven = true
        #expect(try next(2) == [])
        row.isUnproven = false
        #expect(try next(3) == [], "a proof is no new token")
        row.group = "g"
        #expect(try next(4) == ["one u:ada group: 1 g"])
        row = hashed(2, group: "h", registeredAt: start + 2000)
        #expect(try next(5) == ["one u:ada token group: 2 h"])
        row.activitiesEnabled = false
        #expect(try next(6) == [])
        row.activitiesEnabled = true
        #expect(try next(7) == ["one u:ada token: 2 h"])
        row.expiresAt = start + 3000
        #expect(try next(8) == [])
        row.registeredAt = start + 3000
        row.expiresAt = start + 9000
        #expect(try next(9) == ["one u:ada token: 2 h"], "it had expired")
        (row.token, row.tokenHash, row.dismissedAt) = ("", "", start + 4000)
        #expect(try next(10) == ["one u:ada dismissal:  h"])
        #expect(try next(11) == [])
        try lane.hear(key, nil, offset: 12)
        #expect(try told(lane, 13) == [])
        try lane.close()
    }

    @Test func `a row that is served again is news, and a row that loses its token is not`() throws {
        let lane = try openLane(directory.path)
        lane.changesReportedFrom = 0
        var other = key
        (other.recipient, other.installation) = (.user("bob"), "j")
        try lane.hear(key, hashed(1, group: "g").encoded(), offset: 0)
        try lane.hear(other, hashed(1, group: "g", registeredAt: start + 1).encoded(), offset: 1)
        #expect(
            try told(lane, 2) == ["one u:ada group: 1 g", "one u:bob token group: 1 g"])
        try lane.hear(other, nil, offset: 2)
        #expect(try told(lane, 3) == ["one u:ada token: 1 g"])
        try lane.close()
    }

    @Test
    func `records above the committed offset are news even if the table has them, and lower ones are not`()
        throws
    {
        var lane = try openLane(directory.path)
        lane.changesReportedFrom = 2
        func hear(_ number: Int) throws {
            var own = key
            own.recipient = .user("user-\(number)")
            try lane.hear(own, hashed(number + 1, group: "g").encoded(), offset: Int64(number))
        }
        // The table is behind the committed offset.
        for number in 0..<4 { try hear(number) }
        let first = try told(lane, 4)
        #expect(first.map { $0.prefix(12) } == ["one u:user-2", "one u:user-3"])
        // The process dies before it commits them, and another process continues.
        try lane.close()
        lane = try openLane(directory.path)
        lane.changesReportedFrom = 2
        #expect(lane.resumeOffset == 2)
        for number in 2..<5 { try hear(number) }
        #expect(
            try told(lane, 5) == (2..<5).map { "one u:user-\($0) token group: \($0 + 1) g" })
        #expect(try told(lane, 5) == [], "the news come once")
        // Records that were read again are not written again.
        #expect(lane.appliedOffset == 5)
        try lane.close()
    }

    /// Random records, commits, deaths and offsets to resume from.
    @Test func `exactly the rows that are new since the committed offset are reported`() throws {
        for seed in 1...UInt64(trialCount(base: 25)) {
            var maker = RowMaker(random: SeededGenerator(seed: seed &* 77))
            let directory = try TemporaryDirectory()
            var lane = try openLane(directory.path)
            var records: [(key: RegistryKey, row: TokenRow?)] = []
            /// The tables, and the number of records that they contain.
            var model = Model()
            var (held, committed) = (0, 0)
            lane.changesReportedFrom = 0
            for _ in 0..<40 {
                for _ in 0..<maker.random.number(below: 8) {
                    records.append((maker.key(), maker.random.number(below: 4) == 0 ? nil : maker.row()))
                }
                // Sometimes another process continues. It starts at the last committed offset.
                var next = held
                if maker.random.number(below: 4) == 0 {
                    try lane.close()
                    lane = try openLane(directory.path)
                    committed += maker.random.number(below: held - committed + 1)
                    lane.changesReportedFrom = Int64(committed)
                    next = Int(lane.resumeOffset ?? 0)
                }
                let old = model
                var (repeated, fresh) = (Set<RegistryKey>(), Set<RegistryKey>())
                for offset in next..<records.count {
                    let (key, row) = records[offset]
                    try lane.hear(key, row?.encoded(), offset: Int64(offset))
                    if offset >= held {
                        model.tokens[key] = row
                        fresh.insert(key)
                    } else if offset >= committed {
                        repeated.insert(key)
                    }
                }
                held = records.count
                var news = LaneChanges()
                try lane.commit(
                    AppliedProgress(offset: Int64(held), completeUntil: .now()), reportingChangesInto: &news)
                var told: [String: Set<String>] = [:]
                for index in 0..<news.count {
                    let row = Found(news.row(at: index))
                    told[name(news.app(at: index), row), default: []].insert(news.kinds(at: index).words)
                }
                var wanted: [String: Set<String>] = [:]
                for (key, row) in model.tokens {
                    func want(_ old: (Model, TokenRow)?) {
                        let words = kinds(key, row, in: model, old).words
                        if !words.isEmpty {
                            wanted[name(key.app, Found(key, row)), default: []].insert(words)
                        }
                    }
                    if repeated.contains(key) { want(nil) }
                    let hasRisen = old.isShadowed(key) && !model.isShadowed(key)
                    guard fresh.contains(key) || hasRisen else { continue }
                    want(old.tokens[key].map { (old, $0) })
                }
                #expect(told == wanted, "seed \(seed)")
            }
            try lane.close()
        }
    }

    private func name(_ app: String, _ row: Found) -> String {
        "\(app)/\(row.recipient)/\(row.installation)/\(row.entry)"
    }

    private func kinds(
        _ key: RegistryKey, _ row: TokenRow, in model: Model, _ old: (model: Model, row: TokenRow)?
    ) -> LaneChanges.ChangeKinds {
        func isServed(_ row: TokenRow, _ model: Model) -> Bool {
            row.dismissedAt == nil && row.activitiesEnabled != false && row.movedTo == nil
                && !model.isShadowed(key)
        }
        var kinds: LaneChanges.ChangeKinds = []
        let hadToken =
            old.map {
                isServed($0.row, $0.model) && $0.row.tokenHash == row.tokenHash
                    && $0.row.expiresAt ?? .max > row.registeredAt
            } ?? false
        if isServed(row, model), !hadToken { kinds.insert(.token) }
        if key.isUpdate, row.group != nil, !row.group.isExactlyEqual(to: old?.row.group) {
            kinds.insert(.group)
        }
        if row.dismissedAt != nil, old?.row.dismissedAt == nil { kinds.insert(.dismissal) }
        return kinds
    }
}

extension LaneChanges.ChangeKinds {
    fileprivate var words: String {
        [(LaneChanges.ChangeKinds.token, "token"), (.group, "group"), (.dismissal, "dismissal")]
            .filter { contains($0.0) }.map(\.1).joined(separator: " ")
    }
}
