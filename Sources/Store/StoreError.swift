/// Why the store did not do what it was asked. Each sentence names the thing and the remedy; the two
/// flags say which remedy a program has: to wait, or to throw the file away and build it again.
package enum StoreError: Error, Equatable {
    /// Another process holds the directory.
    case inUse(path: String, by: String)
    /// A system call on the file failed.
    case system(action: String, path: String, reason: String)
    /// There is no space, or a quota or a file size limit is reached.
    case diskFull(path: String)
    /// The file has reached the size that its limits allow.
    case mapFull(path: String, limit: Int)
    /// Reads did not end within the wait, so the map could not be moved.
    case readersBusy(path: String, milliseconds: Int)
    /// The bytes in the file are not a table.
    case corrupt(path: String, what: String)
    /// A key that no table can hold.
    case keySize(bytes: Int)
    /// Anything else that LMDB says.
    case refused(path: String, reason: String)
}

extension StoreError {
    /// The same call can succeed later, when somebody made room or readers are done.
    package var passes: Bool {
        switch self {
        case .diskFull, .readersBusy: true
        default: false
        }
    }

    /// A row's sum is another one than its bytes have.
    package static func changedRow(_ path: String) -> StoreError {
        .corrupt(path: path, what: "a row is not what was written")
    }

    /// The file is worth nothing any more: condemn it and rebuild.
    package var isCorruption: Bool {
        if case .corrupt = self { true } else { false }
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path, let process):
            "directory \(path) is used by \(process); stop it, or give this process another directory"
        case .system(let action, let path, let reason):
            "cannot \(action) \(path): \(reason)"
        case .diskFull(let path):
            "cannot write \(path): no space left, or a quota or file size limit is reached; make room, "
                + "it goes on by itself"
        case .mapFull(let path, let limit):
            "cannot grow \(path) beyond its limit of \(limit) bytes; raise the limit and restart"
        case .readersBusy(let path, let milliseconds):
            "cannot enlarge \(path): a read has been open for more than \(milliseconds) ms; try again"
        case .corrupt(let path, let what):
            "file \(path) is corrupt: \(what); it is a cache and is rebuilt when it is discarded"
        case .keySize(let bytes):
            "key of \(bytes) bytes cannot be stored: keys have 1 to \(Limits.keyBytesMax) bytes"
        case .refused(let path, let reason):
            "cannot use \(path): \(reason)"
        }
    }
}
