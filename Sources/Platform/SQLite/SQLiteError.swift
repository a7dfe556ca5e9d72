/// A failed database call. The description names the file and the remedy. The two flags tell a program
/// whether to wait or to delete and rebuild the file.
package enum SQLiteError: Error, Equatable {
    /// There is no space, or a quota or a file size limit is reached.
    case diskFull(path: String)
    /// Another connection held the file for longer than a call waits.
    case busy(path: String, milliseconds: Int)
    /// The file is not a database, or its content is damaged.
    case corrupt(path: String, damage: String)
    /// The query took longer than allowed.
    case interrupted(path: String)
    /// Any other error of SQLite.
    case refused(path: String, reason: String)
}

extension SQLiteError {
    /// Whether the same call can succeed later.
    package var isTransient: Bool {
        switch self {
        case .diskFull, .busy, .interrupted: true
        case .corrupt, .refused: false
        }
    }

    /// Whether the file is useless and must be deleted and rebuilt.
    package var isCorruption: Bool {
        if case .corrupt = self { true } else { false }
    }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .diskFull(let path):
            "cannot write \(path): no space left, or a quota or file size limit is reached; free some "
                + "space, and writes continue"
        case .busy(let path, let milliseconds):
            "cannot use \(path): another connection has held it for more than \(milliseconds) ms; try again"
        case .corrupt(let path, let damage):
            "file \(path) is corrupt: \(damage); it is a cache and is rebuilt when it is discarded"
        case .interrupted(let path):
            "the query of \(path) took longer than allowed; request less data"
        case .refused(let path, let reason): "cannot use \(path): \(reason)"
        }
    }
}
