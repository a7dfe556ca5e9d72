internal import Identifiers
internal import JSON
internal import Jobs
internal import RecordFormat
internal import Store

/// Reads the rows of a `ReceiptFile`: for `ReceiptBatch` on the loop's thread, and for queries on another one.
struct StoredReceipts: StoredReceiptRows {
    let environment: Store.LMDBEnvironment
    let reader: JSONReader

    func finishedLines(of sheetPosition: JobPosition) throws(StoreError) -> FinishedLines? {
        try environment.read { view throws(StoreError) in
            guard let value = try view.value(of: sheetPosition.key.span, in: table(.finished)) else {
                return nil
            }
            guard let lines = FinishedLines(value) else { throw unreadableRow }
            return lines
        }
    }

    func tally(for key: SendTally.Key) throws(StoreError) -> SendTally? {
        try environment.read { view throws(StoreError) in
            guard let value = try view.value(of: key.bytes.span, in: table(.tallies)) else {
                return nil
            }
            return try tally(in: value)
        }
    }

    func period(in slot: SeriesSlot) throws(StoreError) -> PeriodTally? {
        try environment.read { view throws(StoreError) in
            guard let value = try view.value(of: slot.key.span, in: table(.series)) else { return nil }
            return try period(in: value)
        }
    }

    /// Returns the periods of an app's series in this lane, in any order.
    func periods(of app: String, resolution: SeriesResolution) throws(StoreError) -> [PeriodTally] {
        var range = KeyRange(prefix: SeriesSlot.prefix(app: app, resolution: resolution))
        var periods: [PeriodTally] = []
        _ = try environment.read { view throws(StoreError) in
            try view.readPage(of: table(.series), range: &range, rowsMax: resolution.slotCount) {
                key, stored in
                guard RowChecksum.isValid(key: key, stored: stored),
                    let period = try? self.period(
                        in: stored.extracting(droppingFirst: min(RowChecksum.byteCount, stored.count)))
                else { return }
                periods.append(period)
            }
        }
        return periods
    }

    private func period(in value: Span<UInt8>) throws(StoreError) -> PeriodTally {
        let json = value.extracting(droppingFirst: min(RetentionSweep.timeByteCount, value.count))
        do {
            return try unsafe json.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe PeriodTally.decode(bytes, with: reader)
            }
        } catch { throw unreadableRow }
    }

    /// Returns the tally in a row's value.
    func tally(in value: Span<UInt8>) throws(StoreError) -> SendTally {
        let json = value.extracting(droppingFirst: min(RetentionSweep.timeByteCount, value.count))
        do {
            return try unsafe json.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe SendTally.decode(bytes, with: reader)
            }
        } catch { throw unreadableRow }
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

    /// Returns the tallies of the sends that `flotilla replay resend` has made of a send's failed jobs. Their ids are
    /// the send's id, a dot, and the name of the call.
    func repetitions(
        of send: String, app: String, max: Int
    ) throws(StoreError) -> [(key: SendTally.Key, tally: SendTally)] {
        var range = KeyRange(prefix: Array(app.utf8) + [0] + Array(send.utf8) + [UInt8(ascii: ".")])
        var found: [(key: SendTally.Key, tally: SendTally)] = []
        _ = try environment.read { view throws(StoreError) in
            try view.readPage(of: table(.tallies), range: &range, rowsMax: max) { key, stored in
                guard RowChecksum.isValid(key: key, stored: stored), let tallyKey = SendTally.Key(key),
                    let tally = try? self.tally(
                        in: stored.extracting(droppingFirst: min(RowChecksum.byteCount, stored.count)))
                else { return }
                found.append((tallyKey, tally))
            }
        }
        return found
    }

    private func table(_ table: ReceiptTable) -> Table { environment.table(named: table.rawValue) }

    private var unreadableRow: StoreError {
        .corrupt(path: environment.path, damage: "this program did not write a row in this form")
    }
}

extension StateFile {
    func table(_ table: ReceiptTable) -> Table { self.table(named: table.rawValue) }
}
