internal import SQLite
internal import Store

/// An error of one of a lane's files. A lane has one file for each topic.
struct LaneFileFailure: Sendable {
    /// The topic whose file is damaged and must be rebuilt. Nil if reopening the file can help.
    let damagedTopic: InsightTopic?
    /// Whether the file has reached the limit of its size. Only the deletion of old rows makes room.
    let isFileFull: Bool
    let message: String

    /// - Parameter topic: The topic whose file the error is about.
    init(error: any Error, of topic: InsightTopic) {
        message = "\(error)"
        let isCorruption =
            switch error {
            case let error as StoreError: error.isCorruption
            case let error as SQLiteError: error.isCorruption
            default: false
            }
        damagedTopic = isCorruption ? topic : nil
        isFileFull = if case StoreError.mapFull = error { true } else { false }
    }
}
