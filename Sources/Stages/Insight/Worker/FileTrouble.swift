internal import SQLite
internal import Store

/// The consequence of an error in a lane's file.
struct FileTrouble {
    /// The topic whose file is damaged. Nil if waiting or reopening may help.
    let damaged: InsightTopic?
    let text: String

    /// - Parameter topic: The topic of the file.
    init(_ error: any Error, of topic: InsightTopic) {
        text = "\(error)"
        let isCorruption =
            switch error {
            case let error as StoreError: error.isCorruption
            case let error as SQLiteError: error.isCorruption
            default: false
            }
        damaged = isCorruption ? topic : nil
    }
}
