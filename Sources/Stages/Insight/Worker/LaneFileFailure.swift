internal import SQLite
internal import Store

/// An error of a lane's file, and whether the file must be rebuilt.
struct LaneFileFailure {
    /// The topic whose file is damaged and must be rebuilt. Nil if waiting or reopening may help.
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
