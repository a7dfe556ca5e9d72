/// Why the database did not do what it was asked. Each sentence names the thing and the remedy; the two
/// flags say which remedy a program has: to wait, or to throw the file away and build it again.
package enum SQLiteError: Error, Equatable {
    /// There is no space, or a quota or a file size limit is reached.
    case diskFull(path: String)
    /// Another connection held the file for longer than a call waits.
    case busy(path: String, milliseconds: Int)
    /// The bytes in the file are no database, or not the one that was written.
    case corrupt(path: String, what: String)
    /// The question took longer than it may.
    case interrupted(path: String)
    /// Anything else that SQLite says.
    case refused(path: String, reason: String)
}

extension SQLiteError {
    /// The same call can succeed later.
    package var passes: Bool {
        switch self {
        case .diskFull, .busy, .interrupted: true
        case .corrupt, .refused: false
        }
    }

    /// The file is worth nothing any more: remove it and build it again.
    package var isCorruption: Bool {
        if case .corrupt = self { true } else { false }
    }
}

extension SQLiteError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .diskFull(let path):
            "cannot write \(path): no space left, or a quota or file size limit is reached; make room, "
                + "it goes on by itself"
        case .busy(let path, let milliseconds):
            "cannot use \(path): another connection has held it for more than \(milliseconds) ms; try again"
        case .corrupt(let path, let what):
            "file \(path) is corrupt: \(what); it is a cache and is rebuilt when it is discarded"
        case .interrupted(let path):
            "the question to \(path) took longer than it may; ask for less at a time"
        case .refused(let path, let reason): "cannot use \(path): \(reason)"
        }
    }
}
