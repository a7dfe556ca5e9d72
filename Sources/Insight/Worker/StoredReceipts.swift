internal import JSON
internal import LiveActivity
internal import Store

/// The rows of a lane's file, as receipts find them.
struct StoredReceipts: ReceiptRows {
    let file: StateFile
    let reader: JSONReader

    func finished(_ place: JobPlace) throws(StoreError) -> FinishedLines? {
        try file.read { view throws(StoreError) in
            guard let value = try view.value(of: place.key.span, in: file.table(.finished)) else {
                return nil
            }
            guard let lines = FinishedLines(value) else { throw unreadable }
            return lines
        }
    }

    func tally(_ key: SendTally.Key) throws(StoreError) -> SendTally? {
        try file.read { view throws(StoreError) in
            guard let value = try view.value(of: key.bytes.span, in: file.table(.tallies)) else {
                return nil
            }
            return try tally(in: value)
        }
    }

    func tally(in value: Span<UInt8>) throws(StoreError) -> SendTally {
        let json = value.extracting(droppingFirst: min(ReceiptTable.timeBytes, value.count))
        do {
            return try unsafe json.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe SendTally.decode(bytes, with: reader)
            }
        } catch { throw unreadable }
    }

    private var unreadable: StoreError {
        .corrupt(path: file.environment.path, what: "a row is not what this program writes")
    }
}

extension StateFile {
    func table(_ table: ReceiptTable) -> Table { self.table(table.rawValue) }
}
