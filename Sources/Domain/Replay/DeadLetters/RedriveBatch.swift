internal import Jobs
internal import RecordFormat

/// The dead letters of one partition that are sent together, between two marks.
struct RedriveBatch {
    let partition: Int32
    private(set) var items: [Redrive.Item] = []
    private var byteCount = 0

    init(partition: Int32) { self.partition = partition }

    var isFull: Bool { items.count >= Redrive.batchLettersMax || byteCount >= Redrive.batchBytesMax }

    mutating func add(_ item: Redrive.Item) {
        items.append(item)
        byteCount += item.byteCount
    }

    mutating func removeAll() {
        items.removeAll()
        byteCount = 0
    }
}

extension Redrive {
    /// A dead letter that may be sent.
    struct Item {
        let id: DeadLetterID
        let record: OutgoingRecord
        /// The kind of writers of the record's topic.
        let writers: RedrivenRecord.Writers
        /// The number of jobs. A record that is not a sheet counts as one.
        let jobs: Int
        let byteCount: Int
        /// The jobs by their first sheet, for the mark. Empty if the record is not a sheet.
        let sheetLines: [DeadLetterMark.SheetLines]
        let app: String?
        /// The run of a call that began with this dead letter and was killed before it sent it.
        let abandonedRun: String?
    }
}
