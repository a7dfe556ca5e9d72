internal import CLinux
internal import Foundation

/// The two descriptors of a pipe. No child inherits them; `SpawnParameters` duplicates those that it passes on.
struct PipeEnds {
    let readDescriptor: Int32
    let writeDescriptor: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe linux_pipe(&ends) == 0 else { throw SpawnError(action: "make a pipe", code: errno) }
        readDescriptor = ends[0]
        writeDescriptor = ends[1]
    }

    func closeReadEnd() { close(readDescriptor) }
    func closeWriteEnd() { close(writeDescriptor) }
}

/// A system call that failed while a child was started.
struct SpawnError: Error, CustomStringConvertible {
    let action: String
    /// The value of `errno`.
    let code: Int32
    var description: String { unsafe "cannot \(action): \(String(cString: strerror(code)))" }
}
