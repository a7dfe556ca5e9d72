import Identifiers
import InstallationRecords
import JSON
import ProcessTesting
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of a lane against a `RegistryModel`, a dictionary that gets the same random records. After any records the
/// lane must serve exactly the rows of the model, and count the excluded rows by the same reasons. The tests at the end
/// are about tokens that several rows share.
struct LaneModelTests {
    @Test func `after any records in any order the lane serves the rows of a dictionary`() throws {
        for seed in 1...UInt64(trialCount(base: 25)) {
            var maker = RowMaker(random: SeededGenerator(seed: seed))
            let directory = try TemporaryDirectory()
            var lane = try openLane(directory.path)
            var model = RegistryModel()
            var history: [(RegistryKey, TokenRow?)] = []
            for _ in 0..<30 {
                for _ in 0..<maker.random.number(below: 12) {
                    let key = maker.key()
                    let row: TokenRow? = maker.random.number(below: 4) == 0 ? nil : maker.row()
                    history.append((key, row))
                    model.tokens[key] = row
                    try lane.apply(row?.encoded(), to: key, offset: Int64(history.count))
                }
                // The recent records again, as after a restart.
                for (key, row) in history.suffix(maker.random.number(below: 8)) {
                    try lane.apply(row?.encoded(), to: key, offset: 0)
                }
                try lane.commit(Int64(history.count))
                if maker.random.number(below: 10) == 0 {
                    try lane.close()
                    lane = try openLane(directory.path)
                    #expect(lane.openingState == .resumed)
                    #expect(lane.appliedOffset == Int64(history.count))
                    // The lane identifies its topic by its last record.
                    if let (key, row) = history.last {
                        try lane.apply(row?.encoded(), to: key, offset: lane.resumeOffset!)
                    }
                }
                try compare(lane, with: model, using: &maker, seed: seed)
            }
            try lane.close()
        }
    }

    @Test func `a restore makes the same lane as the same records one by one`() throws {
        for seed in 1...UInt64(trialCount(base: 25)) {
            var maker = RowMaker(random: SeededGenerator(seed: seed &* 31))
            let directory = try TemporaryDirectory()
            let lane = try openLane(directory.path)
            // Runs of a few rows, so that many are merged.
            let restore = LaneRestore(lane: lane, runBytesMax: 600 + maker.random.number(below: 20_000))
            var model = RegistryModel()
            for offset in 0..<Int64(maker.random.number(below: 400)) {
                let key = maker.key()
                let row: TokenRow? = maker.random.number(below: 4) == 0 ? nil : maker.row()
                model.tokens[key] = row
                if let row {
                    try restore.add(key: key.bytes.span, value: row.encoded().span, offset: offset)
                } else {
                    try restore.add(key: key.bytes.span, value: nil, offset: offset)
                }
            }
            try restore.finish(AppliedProgress(offset: 400, completeUntil: .now()))
            #expect(lane.appliedOffset == 400)
            for _ in 0..<20 { try compare(lane, with: model, using: &maker, seed: seed) }
            // The lane then works like any other.
            let key = maker.key()
            try lane.apply(nil, to: key, offset: 400)
            try lane.commit(401)
            model.tokens[key] = nil
            for _ in 0..<5 { try compare(lane, with: model, using: &maker, seed: seed) }
            try lane.close()
        }
    }

    private func compare(
        _ lane: Lane, with model: RegistryModel, using maker: inout RowMaker, seed: UInt64
    ) throws {
        let question = maker.question()
        let cursor = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &maker.random))
        var exclusions = ExclusionCounts()
        let rows = try lane.all(
            question.selection, from: cursor, rowsMax: 1 + maker.random.number(below: 5),
            leavingOut: &exclusions)
        #expect(Set(rows).count == rows.count, "seed \(seed): a row twice")
        let answer = model.answer(to: question)
        #expect(Set(rows) == answer.rows, "seed \(seed): \(question)")
        for reason in ExclusionReason.allCases {
            #expect(
                exclusions[reason] == answer.exclusions[reason] ?? 0, "seed \(seed): \(reason), \(question)")
        }
        let counts = try lane.rowCounts()
        #expect(counts.starts + counts.updates == model.tokens.count, "seed \(seed)")
        try lane.expectMemberCounts(of: model.tokens, "seed \(seed)")
    }

    @Test func `of two rows with one token the newer is served, and the older one after its removal`() throws
    {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path)
        let selection = TokenSelection(
            app: "one", tokens: .updates(group: "g"), environments: [.production], now: start)
        let keys = ["a", "b"].map {
            RegistryKey(
                app: "one", recipient: .user($0), installation: "i-\($0)", entry: .update(activity: "x"))
        }
        func served() throws -> [String] { try lane.all(selection).map(\.recipient) }
        try lane.apply(token(7, group: "g", registeredAt: start + 5).encoded(), to: keys[0], offset: 0)
        try lane.apply(token(7, group: "g", registeredAt: start).encoded(), to: keys[1], offset: 1)
        try lane.commit(2)
        #expect(try served() == ["u:a"])
        try lane.apply(token(7, group: "g", registeredAt: start + 9).encoded(), to: keys[1], offset: 2)
        try lane.commit(3)
        #expect(try served() == ["u:b"])
        try lane.apply(nil, to: keys[1], offset: 3)
        try lane.commit(4)
        #expect(try served() == ["u:a"])
        try lane.close()
    }

    @Test
    func `one token under two types starts each type, and the general token stays visible`()
        throws
    {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path)
        func key(_ user: String, _ type: String?) -> RegistryKey {
            RegistryKey(
                app: "one", recipient: .user(user), installation: "i-\(user)", entry: .start(type: type))
        }
        func served(_ type: String) throws -> [String] {
            try lane.all(
                TokenSelection(
                    app: "one", tokens: .starts(type: type), environments: [.production], now: start)
            ).map { "\($0.recipient) \($0.entry)" }.sorted()
        }
        // The typed row is the newest. Another installation had the token in between.
        let rows: [(RegistryKey, Int64)] = [
            (key("ada", nil), 1), (key("ada", "Match"), 9), (key("ada", "Order"), 3),
            (key("bob", "Order"), 5),
        ]
        for (number, row) in rows.enumerated() {
            let value = token(7, type: nil, registeredAt: start + row.1).encoded()
            try lane.apply(value, to: row.0, offset: Int64(number))
        }
        try lane.commit(4)
        #expect(try served("Match") == ["u:ada start:Match"])
        #expect(try served("Order") == ["u:ada start:Order"])
        #expect(try served("Parcel") == ["u:ada start:"])
        // Another phone has the token now. Only that phone is reached.
        let newest = token(7, type: nil, registeredAt: start + 10).encoded()
        try lane.apply(newest, to: key("bob", "Order"), offset: 4)
        try lane.commit(5)
        #expect(try served("Order") == ["u:bob start:Order"])
        #expect(try served("Match") == [] && served("Parcel") == [])
        try lane.apply(nil, to: key("bob", "Order"), offset: 5)
        try lane.commit(6)
        #expect(try served("Order") == ["u:ada start:Order"])
        #expect(try served("Parcel") == ["u:ada start:"])
        try lane.close()
    }

    /// A walk over all rows for each row would take minutes.
    @Test(.timeLimit(.minutes(3)))
    func `a token of many installations is settled in one pass`() throws {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
        let count = 30_000
        func key(_ number: Int) -> RegistryKey {
            RegistryKey(
                app: "one", recipient: .user("user-\(number)"), installation: "i",
                entry: .update(activity: "x"))
        }
        // All rows but one have the same time. Ties must not cost more.
        for number in 0..<count {
            let time = start + (number == 777 ? 1 : 0)
            try lane.apply(
                token(7, group: "g", registeredAt: time).encoded(),
                to: key(number), offset: Int64(number))
        }
        try lane.commit(Int64(count))
        let selection = TokenSelection(
            app: "one", tokens: .updates(group: "g"), environments: [.production], now: start)
        var exclusions = ExclusionCounts()
        let found = try lane.all(selection, leavingOut: &exclusions).map(\.recipient)
        #expect(found == ["u:user-777"])
        #expect(exclusions[.shadowed] == count - 1)
        try lane.apply(nil, to: key(777), offset: Int64(count))
        try lane.commit(Int64(count + 1))
        #expect(try lane.all(selection).count == 1)
        try lane.close()
    }
}
