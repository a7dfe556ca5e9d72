internal import CLinux
internal import Foundation

/// The clock of one process, as `CWrongClock` shows it: it can be set while the process runs.
package final class SettableClock: Sendable {
    private let file: String
    private let library: String

    package init(file: String, library: String) throws {
        self.file = file
        self.library = library
        try set(aheadSeconds: 0)
    }

    /// What makes a process go by it.
    package var environment: [String: String] { ["LD_PRELOAD": library, "WRONG_CLOCK": file] }

    /// Below zero it is behind.
    package func set(aheadSeconds seconds: Int64) throws {
        let nanoseconds = seconds * 1_000_000_000
        let bytes = unsafe withUnsafeBytes(of: nanoseconds.littleEndian) { unsafe Data($0) }
        guard let handle = FileHandle(forWritingAtPath: file) else {
            return try bytes.write(to: URL(fileURLWithPath: file))
        }
        // In place: the process has this file mapped, and not whatever takes its name.
        try handle.write(contentsOf: bytes)
        try handle.close()
    }
}
