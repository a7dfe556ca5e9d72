internal import SQLite
internal import Store

/// What an error of a lane's file asks for.
struct FileTrouble {
    /// Whose file is worth nothing; nil when waiting, or opening it again, may help.
    let damaged: InsightTopic?
    let text: String

    /// - Parameter topic: of whose file the error is.
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
