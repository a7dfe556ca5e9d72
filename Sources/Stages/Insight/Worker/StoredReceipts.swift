internal import Identifiers
internal import JSON
internal import Jobs
internal import RecordFormat
internal import Store

/// Reads the rows of a `ReceiptFile`: for `ReceiptBatch` on the loop's thread, and for queries on another one.
struct StoredReceipts: StoredReceiptRows {
    let file: Store.LMDBEnvironment
    let reader: JSONReader

    func finishedLines(of sheetPosition: JobPosition) throws(StoreError) -> FinishedLines? {
        try file.read { view throws(StoreError) in
            guard let value = try view.value(of: sheetPosition.key.span, in: table(.finished)) else {
                return nil
            }
            guard let lines = FinishedLines(value) else { throw unreadableRow }
            return lines
        }
    }

    func tally(for key: SendTally.Key) throws(StoreError) -> SendTally? {
        try record(at: key.bytes, in: .tallies)
    }

    func period(in slot: SeriesSlot) throws(StoreError) -> PeriodTally? {
        try record(at: slot.key, in: .series)
    }

    /// Returns the periods of an app's series in this lane, in any order.
    func periods(of app: String, resolution: SeriesResolution) throws(StoreError) -> [PeriodTally] {
        let range = KeyRange(prefix: SeriesSlot.prefix(app: app, resolution: resolution))
        var periods: [PeriodTally] = []
        for row in try firstRows(resolution.slotCount, of: .series, within: range) {
            periods.append(try decode(row.value))
        }
        return periods
    }

    /// Returns the report of this lane about a send.
    func report(of send: String, app: String) throws(StoreError) -> SendReport {
        var report = SendReport()
        for environment in Environment.allCases {
            let key = SendTally.Key(app: app, send: send, environment: environment)
            if let tally = try tally(for: key) { report.add(tally, of: environment) }
        }
        return report
    }

    /// Returns the tallies of the sends that were made from a send (`DerivedSendID`).
    func derivedSends(
        of send: String, app: String, max: Int
    ) throws(StoreError) -> [(key: SendTally.Key, tally: SendTally)] {
        let range = KeyRange(prefix: SendTally.Key.prefix(app: app, sendsFrom: "\(send)."))
        var found: [(key: SendTally.Key, tally: SendTally)] = []
        for row in try firstRows(max, of: .tallies, within: range) {
            guard let key = SendTally.Key(row.key.span) else { throw unreadableRow }
            found.append((key, try decode(row.value)))
        }
        return found
    }

    // MARK: Rows

    private func record<Record: JSONRecord>(
        at key: [UInt8], in table: ReceiptTable
    ) throws(StoreError) -> Record? {
        let json = try file.read { view throws(StoreError) -> [UInt8]? in
            guard let value = try view.value(of: key.span, in: self.table(table)) else { return nil }
            return RetentionSweep.valueWithoutTime(value)
        }
        guard let json else { return nil }
        return try decode(json)
    }

    /// Returns rows of a table, in the order of their keys. `RowPage` removes the times in front of their values.
    private func firstRows(
        _ countMax: Int, of table: ReceiptTable, within range: KeyRange
    ) throws(StoreError) -> [RowPage.Row] {
        try RowPage(of: table.rawValue, in: file, within: range, rowsMax: countMax).rows
    }

    private func decode<Record: JSONRecord>(_ json: [UInt8]) throws(StoreError) -> Record {
        guard let record = Record.decodeIfValid(json, with: reader) else { throw unreadableRow }
        return record
    }

    private func table(_ table: ReceiptTable) -> Table { file.table(named: table.rawValue) }

    private var unreadableRow: StoreError {
        .corrupt(path: file.path, damage: "a row has a form that this program does not write")
    }
}

extension StateFile {
    func table(_ table: ReceiptTable) -> Table { self.table(named: table.rawValue) }
}
