internal import SQLite
internal import Store

/// What an error of a lane's file asks for.
struct FileTrouble {
    /// Which file is worth nothing; nil when waiting, or opening it again, may help.
    enum Damaged {
        case receipts
        case events
    }

    let damaged: Damaged?
    let text: String

    /// - Parameter file: of which the error is, where the error does not say.
    init(_ error: any Error, of file: Damaged) {
        text = "\(error)"
        switch error {
        case let error as StoreError: damaged = error.isCorruption ? file : nil
        case let error as SQLiteError: damaged = error.isCorruption ? .events : nil
        default: damaged = nil
        }
    }
}
