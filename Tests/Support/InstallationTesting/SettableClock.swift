internal import CLinux
internal import Foundation

/// The wall clock of one process. A test can set it while the process runs: the library `CWrongClock` in the process
/// adds the difference in a file to each wall-clock time that the process reads.
package final class SettableClock: Sendable {
    private let file: String
    private let library: String

    /// - Parameters:
    ///   - file: The path of the file with the difference to the true time.
    ///   - library: The path of `libWrongClock.so`.
    package init(file: String, library: String) throws {
        self.file = file
        self.library = library
        try set(aheadSeconds: 0)
    }

    /// The environment that makes a process use this clock.
    package var environment: [String: String] { ["LD_PRELOAD": library, "WRONG_CLOCK": file] }

    /// Sets the clock ahead of the real time, or behind it if negative.
    package func set(aheadSeconds seconds: Int64) throws {
        let nanoseconds = seconds * 1_000_000_000
        let bytes = unsafe withUnsafeBytes(of: nanoseconds.littleEndian) { unsafe Data($0) }
        guard let handle = FileHandle(forWritingAtPath: file) else {
            return try bytes.write(to: URL(fileURLWithPath: file))
        }
        // The file is written in place, because the process has mapped it and would not see a new file of this name.
        try handle.write(contentsOf: bytes)
        try handle.close()
    }
}
