internal import SQLite
internal import Store

/// The consequence of an error in a lane's file.
struct LaneFileFailure {
    /// The topic whose file is damaged. Nil if waiting or reopening may help.
    let damagedTopic: InsightTopic?
    let message: String

    /// - Parameter topic: The topic of the file.
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
