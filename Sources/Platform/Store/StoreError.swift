/// A failed call of the store. The description names the file and the remedy. Two flags tell a program
/// whether to wait, or to discard and rebuild the file.
package enum StoreError: Error, Equatable {
    /// Another process holds the directory.
    case inUse(path: String, by: String)
    /// A system call on the file failed.
    case system(action: String, path: String, reason: String)
    /// The disk, a quota or the file size limit is exhausted.
    case diskFull(path: String)
    /// The file reached the limit of its map (`EnvironmentLimits.mapBytesMax`).
    case mapFull(path: String, limit: Int)
    /// Reads did not end in time, so the map could not move.
    case readersBusy(path: String, milliseconds: Int)
    /// The bytes in the file are not a valid table.
    case corrupt(path: String, damage: String)
    /// The length of the key is not allowed.
    case invalidKeySize(bytes: Int)
    /// Any other error of LMDB.
    case refused(path: String, reason: String)
}

extension StoreError {
    /// Whether the same call can succeed later, when the disk has space or the readers are done.
    package var isTransient: Bool {
        switch self {
        case .diskFull, .readersBusy: true
        default: false
        }
    }

    /// Returns the error of a row whose checksum does not match its bytes.
    package static func changedRow(path: String) -> StoreError {
        .corrupt(path: path, damage: "a row fails its checksum")
    }

    /// The file or directory of the failed call. Nil if the error is not about a file.
    package var path: String? {
        switch self {
        case .inUse(let path, _), .system(_, let path, _), .diskFull(let path), .mapFull(let path, _),
            .readersBusy(let path, _), .corrupt(let path, _), .refused(let path, _):
            path
        case .invalidKeySize: nil
        }
    }

    /// Whether the error is about this directory or a file in it.
    package func isAbout(directory: String) -> Bool {
        path.map { $0 == directory || $0.hasPrefix("\(directory)/") } ?? false
    }

    /// Whether the file is worthless and must be discarded and rebuilt.
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
                + "writing then continues by itself"
        case .mapFull(let path, let limit):
            "cannot grow \(path) beyond its limit of \(limit) bytes; raise the limit and restart"
        case .readersBusy(let path, let milliseconds):
            "cannot enlarge \(path): a read has been open for more than \(milliseconds) ms; try again"
        case .corrupt(let path, let damage):
            "file \(path) is corrupt: \(damage); it is a cache that is discarded and rebuilt"
        case .invalidKeySize(let bytes):
            "key of \(bytes) bytes cannot be stored: keys have 1 to \(EnvironmentLimits.keyBytesMax) bytes"
        case .refused(let path, let reason):
            "cannot use \(path): \(reason)"
        }
    }
}
