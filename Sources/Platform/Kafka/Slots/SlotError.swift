internal import Glibc

/// The reason why a process gets no slot. Without a slot it has no identity and no directory for its state.
package enum SlotError: Error, Equatable, CustomStringConvertible {
    /// A system call on the path failed with an error number. The verb names it: "cannot open …".
    case systemCallFailed(verb: String, path: String, code: Int32)
    /// Running processes hold all slots that a directory can have.
    case allSlotsHeld(directory: String, count: Int)

    package var description: String {
        switch self {
        case .systemCallFailed(let verb, let path, let code):
            "cannot \(verb) \(path): \(unsafe String(cString: strerror(code))); \(Self.remedy(for: code))"
        case .allSlotsHeld(let directory, let count):
            "all \(count) slots under \(directory) are held by running processes; give this process another "
                + "data directory"
        }
    }

    private static func remedy(for code: Int32) -> String {
        switch code {
        case EACCES, EPERM: "run as the user that owns it"
        case ENOSPC, EDQUOT: "make room on the disk"
        case EROFS: "choose a data directory that can be written"
        case ENOENT: "make the directory above it, or correct the path"
        case ENOTDIR: "move the file that has this name"
        default: "check the disk and the path"
        }
    }
}
