import Identifiers
import InstallationRecords
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// The records of a topic for a lane, equal for equal seeds. The lane is restored from the first part, and applies the
/// second part while it runs.
struct LaneHistory {
    let records: [(key: RegistryKey, row: TokenRow?)]
    /// The number of records in the first part.
    let restoredCount: Int
    private static let recordsPerCommit = 40

    init(seed: UInt64, records count: Int) {
        var maker = RowMaker(random: SeededGenerator(seed: seed))
        records = (0..<count).map { number in
            var key = maker.key()
            // There are enough recipients that tables have several pages.
            if number % 3 > 0 { key.recipient = .user("user-\(maker.random.number(below: count))") }
            return (key, maker.random.number(below: 5) == 0 ? nil : maker.row())
        }
        restoredCount = count * 2 / 3
    }

    /// Applies the records from the lane's offset to the end. The runs of a restore are small, so that there are many.
    func applyRemaining(
        to lane: Lane,
        whenFull: @escaping (StoreError) throws(StoreError) -> Void = DiskFullRetryPolicy.giveUp
    ) throws {
        if lane.appliedOffset == nil {
            let restore = LaneRestore(lane: lane, runBytesMax: 20_000, whenFull: whenFull)
            for offset in 0..<restoredCount {
                let (key, row) = records[offset]
                try Self.retry(whenFull: whenFull) {
                    if let row {
                        try restore.add(
                            key: key.bytes.span, value: row.encoded().span, offset: Int64(offset))
                    } else {
                        try restore.add(key: key.bytes.span, value: nil, offset: Int64(offset))
                    }
                }
            }
            try restore.finish(AppliedProgress(offset: Int64(restoredCount), completeUntil: .now()))
        }
        var next = Int(lane.resumeOffset ?? 0)
        while next < records.count {
            let end = min(records.count, next + Self.recordsPerCommit)
            for offset in next..<end {
                try Self.retry(whenFull: whenFull) {
                    try lane.apply(
                        records[offset].row?.encoded(), to: records[offset].key, offset: Int64(offset))
                }
            }
            try Self.retry(whenFull: whenFull) { try lane.commit(Int64(end)) }
            next = end
        }
    }

    /// Repeats the work while the disk is full.
    private static func retry(
        whenFull: (StoreError) throws(StoreError) -> Void, _ work: () throws -> Void
    ) throws {
        while true {
            do { return try work() } catch let error as StoreError where error.isTransient {
                try whenFull(error)
            }
        }
    }

    /// Expects that the lane matches its offset: it is empty, or has exactly the rows of the records before the offset.
    func expectExactRows(in lane: Lane, _ comment: String) throws {
        guard let applied = lane.appliedOffset else {
            #expect(try lane.rowCounts() == LaneRowCounts(), "\(comment): rows without an offset")
            return
        }
        var model = RegistryModel()
        for (key, row) in records[..<Int(applied)] { model.tokens[key] = row }
        let counts = try lane.rowCounts()
        #expect(counts.starts + counts.updates == model.tokens.count, "\(comment)")
        try lane.expectMemberCounts(of: model.tokens, comment)
        for selection in Self.selections {
            let rows = model.answer(to: Question(selection)).rows
            #expect(try Set(lane.all(selection)) == rows, "\(comment): \(selection)")
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
