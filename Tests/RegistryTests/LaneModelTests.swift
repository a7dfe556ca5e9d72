import JSON
import LiveActivity
import ProcessTesting
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Random histories against a dictionary.
struct LaneModelTests {
    @Test func `whatever came in whatever order, the lane serves what a dictionary of rows says`() throws {
        for seed in 1...UInt64(trials(25)) {
            var maker = RowMaker(random: SeededGenerator(seed))
            let directory = try TemporaryDirectory()
            var lane = try openLane(directory.path)
            var model = Model()
            var history: [(RegistryKey, TokenRow?)] = []
            for _ in 0..<30 {
                for _ in 0..<maker.random.below(12) {
                    let key = maker.key()
                    let row: TokenRow? = maker.random.below(4) == 0 ? nil : maker.row()
                    history.append((key, row))
                    model.tokens[key] = row
                    try lane.take(key, row?.encoded(), offset: Int64(history.count))
                }
                // Everything of late once more, as after a restart.
                for (key, row) in history.suffix(maker.random.below(8)) {
                    try lane.take(key, row?.encoded(), offset: 0)
                }
                try lane.commit(Int64(history.count))
                if maker.random.below(10) == 0 {
                    try lane.close()
                    lane = try openLane(directory.path)
                    #expect(lane.beginning == .resumed)
                    #expect(lane.applied == Int64(history.count))
                    // By its last record the lane knows its topic again.
                    if let (key, row) = history.last {
                        try lane.take(key, row?.encoded(), offset: lane.start!)
                    }
                }
                try compare(lane, model, &maker, seed)
            }
            try lane.close()
        }
    }

    @Test func `a restore makes the lane that the same records made one by one`() throws {
        for seed in 1...UInt64(trials(25)) {
            var maker = RowMaker(random: SeededGenerator(seed &* 31))
            let directory = try TemporaryDirectory()
            let lane = try openLane(directory.path)
            // Runs of a few rows, so that many are merged.
            let restore = LaneRestore(lane, runBytesMax: 600 + maker.random.below(20_000))
            var model = Model()
            for offset in 0..<Int64(maker.random.below(400)) {
                let key = maker.key()
                let row: TokenRow? = maker.random.below(4) == 0 ? nil : maker.row()
                model.tokens[key] = row
                if let row {
                    try restore.take(key: key.bytes.span, value: row.encoded().span, offset: offset)
                } else {
                    try restore.take(key: key.bytes.span, value: nil, offset: offset)
                }
            }
            try restore.finish(Applied(offset: 400, asOf: .now()))
            #expect(lane.applied == 400)
            for _ in 0..<20 { try compare(lane, model, &maker, seed) }
            // And it goes on as any other.
            let key = maker.key()
            try lane.take(key, nil, offset: 400)
            try lane.commit(401)
            model.tokens[key] = nil
            for _ in 0..<5 { try compare(lane, model, &maker, seed) }
            try lane.close()
        }
    }

    private func compare(_ lane: Lane, _ model: Model, _ maker: inout RowMaker, _ seed: UInt64) throws {
        let selection = maker.selection()
        let cursor = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &maker.random))
        let found = try lane.all(selection, from: cursor, rowsMax: 1 + maker.random.below(5))
        #expect(Set(found).count == found.count, "seed \(seed): a row twice")
        #expect(Set(found) == model.rows(selection), "seed \(seed): \(selection)")
        let counts = try lane.counts()
        #expect(counts.starts + counts.updates == model.tokens.count, "seed \(seed)")
    }

    @Test func `of two rows with one token the newer is served, and the older when it goes`() throws {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path)
        let selection = Selection(
            app: "one", .updates(group: "g"), environments: [.production], now: start)
        let keys = ["a", "b"].map {
            RegistryKey(
                app: "one", recipient: .user($0), installation: "i-\($0)", entry: .update(activity: "x"))
        }
        func served() throws -> [String] { try lane.all(selection).map(\.recipient) }
        try lane.take(keys[0], token(7, group: "g", registeredAt: start + 5).encoded(), offset: 0)
        try lane.take(keys[1], token(7, group: "g", registeredAt: start).encoded(), offset: 1)
        try lane.commit(2)
        #expect(try served() == ["u:a"])
        try lane.take(keys[1], token(7, group: "g", registeredAt: start + 9).encoded(), offset: 2)
        try lane.commit(3)
        #expect(try served() == ["u:b"])
        try lane.take(keys[1], nil, offset: 3)
        try lane.commit(4)
        #expect(try served() == ["u:a"])
        try lane.close()
    }

    @Test func `a person's question finds every token of a recipient or an installation, and its standing`()
        throws
    {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path)
        var keys: [RegistryKey] = []
        for (user, installation) in [("ada", "i"), ("ada", "j"), ("bob", "i")] {
            for entry in [RegistryKey.Entry.start(type: "Match"), .update(activity: "x")] {
                keys.append(
                    RegistryKey(
                        app: "one", recipient: .user(user), installation: installation, entry: entry))
            }
        }
        for (number, key) in keys.enumerated() {
            // The last has the token of the first, and is older.
            var row = token(number == 5 ? 0 : number, group: "g", registeredAt: start - Int64(number))
            if number == 1 { row.expiresAt = start }
            try lane.take(key, row.encoded(), offset: Int64(number))
        }
        try lane.commit(6)
        let ada = try lane.known(.recipient(.user("ada")), app: "one", now: start)
        #expect(Set(ada.map(\.key)) == Set(keys[..<4]))
        #expect(ada.first { $0.key == keys[1] }?.standing == .expired)
        let i = try lane.known(.installation("i"), app: "one", now: start)
        #expect(Set(i.map(\.key)) == Set(keys[..<2] + keys[4...]))
        #expect(i.first { $0.key == keys[5] }?.standing == .shadowed)
        #expect(i.first { $0.key == keys[0] }?.standing == .served)
        #expect(i.first { $0.key == keys[5] }?.group == "g")
        #expect(try lane.known(.installation("i"), app: "two", now: start).isEmpty)
        try lane.close()
    }
}
