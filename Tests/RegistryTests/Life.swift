import Identifiers
import InstallationRecords
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// A lane's life as records of a topic, equal for equal seeds. The lane is restored from the first part and
/// takes the second part while it runs.
struct Life {
    let records: [(key: RegistryKey, row: TokenRow?)]
    let restored: Int
    private static let batch = 40

    init(seed: UInt64, records count: Int) {
        var maker = RowMaker(random: SeededGenerator(seed: seed))
        records = (0..<count).map { number in
            var key = maker.key()
            // There are enough recipients that tables have several pages.
            if number % 3 > 0 { key.recipient = .user("user-\(maker.random.number(below: count))") }
            return (key, maker.random.number(below: 5) == 0 ? nil : maker.row())
        }
        restored = count * 2 / 3
    }

    /// Continues from the lane's offset to the end. Runs are small, so that there are many.
    func run(
        _ lane: Lane, whenFull: @escaping (StoreError) throws(StoreError) -> Void = LaneRestore.giveUp
    ) throws {
        if lane.appliedOffset == nil {
            let restore = LaneRestore(lane: lane, runBytesMax: 20_000, whenFull: whenFull)
            for offset in 0..<restored {
                let (key, row) = records[offset]
                try Self.trying(whenFull) {
                    if let row {
                        try restore.add(
                            key: key.bytes.span, value: row.encoded().span, offset: Int64(offset))
                    } else {
                        try restore.add(key: key.bytes.span, value: nil, offset: Int64(offset))
                    }
                }
            }
            try restore.finish(AppliedProgress(offset: Int64(restored), completeUntil: .now()))
        }
        var next = Int(lane.resumeOffset ?? 0)
        while next < records.count {
            let end = min(records.count, next + Self.batch)
            for offset in next..<end {
                try Self.trying(whenFull) {
                    try lane.hear(records[offset].key, records[offset].row?.encoded(), offset: Int64(offset))
                }
            }
            try Self.trying(whenFull) { try lane.commit(Int64(end)) }
            next = end
        }
    }

    private static func trying(_ whenFull: (StoreError) throws(StoreError) -> Void, _ work: () throws -> Void)
        throws
    {
        while true {
            do { return try work() } catch let error as StoreError where error.isTransient {
                try whenFull(error)
            }
        }
    }

    /// Checks that the lane matches its offset: it is empty, or has exactly the records before it.
    func judge(_ lane: Lane, _ what: String) throws {
        guard let applied = lane.appliedOffset else {
            #expect(try lane.rowCounts() == LaneRowCounts(), "\(what): rows without an offset")
            return
        }
        var model = Model()
        for (key, row) in records[..<Int(applied)] { model.tokens[key] = row }
        let counts = try lane.rowCounts()
        #expect(counts.starts + counts.updates == model.tokens.count, "\(what)")
        for selection in Self.selections {
            let rows = model.answer(Question(selection)).rows
            #expect(try Set(lane.all(selection)) == rows, "\(what): \(selection)")
        }
    }

    /// Selections that cover every served row.
    static var selections: [TokenSelection] {
        RowMaker.apps.flatMap { app in
            let starts = ["Match", "Order", "\u{E9}"].map { TokenSelection.Tokens.starts(type: $0) }
            let updates = RowMaker.groups.map { TokenSelection.Tokens.updates(group: $0) }
            return (starts + updates).map {
                TokenSelection(app: app, tokens: $0, environments: [.production, .sandbox], now: start)
            }
        }
    }
}
