internal import Glibc
internal import Lifecycle

/// A failed file operation, with its path, its reason and its remedy.
package struct DiskError: Error, Equatable, CustomStringConvertible {
    package let operation: Disk.Operation
    package let path: String
    /// The system's `errno`.
    package let code: Int32

    package init(operation: Disk.Operation, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    package var description: String {
        "cannot \(verb) \(path): \(SystemError.text(for: code)); \(remedy)"
    }

    var isDiskFull: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether the process or the machine has too many open files.
    var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    private var verb: String {
        switch operation {
        case .makeDirectory: "make directory"
        case .syncDirectory: "sync directory"
        // The names of the other operations are verbs.
        default: operation.rawValue
        }
    }

    private var remedy: String {
        switch (code, operation) {
        case (ENOSPC, _), (EDQUOT, _): "free space on that disk, and writing goes on by itself"
        case (EACCES, _), (EPERM, _), (EROFS, _):
            "run as the user that owns it, on a disk mounted for writing"
        case (EMFILE, _), (ENFILE, _): "raise the limit of open files"
        case (ENOLCK, .lock), (ENOSYS, .lock), (EOPNOTSUPP, .lock):
            "this file system has no locks; choose a directory on a local disk"
        case (EIO, _): "check the disk's health in the kernel log"
        default: "check the disk and the directory"
        }
    }
}
