internal import SQLite
internal import Store

/// An error of one of a lane's files. A lane has one file for each topic.
struct LaneFileFailure {
    /// The topic whose file is damaged and must be rebuilt. Nil if reopening the file can help.
    let damagedTopic: InsightTopic?
    let message: String

    /// - Parameter topic: the topic whose file the error is about.
    init(error: any Error, of topic: InsightTopic) {
        message = "\(error)"
        let isCorruption =
            switch error {
            case let error as StoreError: error.isCorruption
            case let error as SQLiteError: error.isCorruption
            default: false
            }
        damagedTopic = isCorruption ? topic : nil
    }
}
